import type { IncomingMessage } from 'node:http';
import { errors, type InteractionResults, type Provider } from 'oidc-provider';
import type { OpenIdUser } from './openid-user.ts';
import { type Brand, consentPage, errorPage, loginPage, pageHeaders } from './pages.ts';

export type Middleware = Parameters<Provider['use']>[0];

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** What the grant lacks, by the prompt of oidc-provider. */
interface MissingConsent {
  readonly missingOIDCScope?: string[];
  readonly missingOIDCClaims?: string[];
  readonly missingResourceScopes?: Record<string, string[]>;
}

const MAX_FORM_BYTES = 4096;

/** Sign-in and consent, at `/interaction/{uid}`. */
export function interactions(p: { provider: Provider; brand: Brand; users: readonly OpenIdUser[] }): Middleware {
  const { provider, brand, users } = p;

  async function pageOf({ uid, params, prompt, session }: Interaction): Promise<string> {
    const clientId = String(params['client_id']);
    const clientName = (await provider.Client.find(clientId))?.clientName ?? clientId;
    const action = `/interaction/${uid}`;
    if (prompt.name === 'login') return loginPage(brand, { action, clientName, users });

    const { missingOIDCScope = [], missingResourceScopes = {} }: MissingConsent = prompt.details;
    const missing = new Set([...missingOIDCScope, ...Object.values(missingResourceScopes).flat()]);
    const requested = String(params['scope'] ?? '').match(/\S+/g) ?? [];
    return consentPage(brand, {
      action,
      clientName,
      redirectHost: URL.parse(String(params['redirect_uri']))?.host,
      userName: users.find(({ sub }) => sub === session?.accountId)?.name ?? '',
      // Includes the scopes granted before: native applications need consent every time (RFC 8252 section 8.6).
      scopes: requested.map(scope => ({ scope, isGranted: !missing.has(scope) })),
    });
  }

  /** Returns undefined for a user that does not exist. */
  async function resultOf(interaction: Interaction, form: URLSearchParams): Promise<InteractionResults | undefined> {
    if (form.get('decision') === 'deny') return { error: 'access_denied', error_description: 'the user declined' };
    if (interaction.prompt.name !== 'login') {
      return { consent: { grantId: await grantTicked(interaction, new Set(form.getAll('scope'))) } };
    }
    const user = users.find(({ sub }) => sub === form.get('user'));
    return user && { login: { accountId: user.sub } };
  }

  async function grantTicked(
    { grantId, params, prompt, session }: Interaction,
    ticked: ReadonlySet<string>,
  ): Promise<string> {
    const {
      missingOIDCScope = [],
      missingOIDCClaims = [],
      missingResourceScopes = {},
    }: MissingConsent = prompt.details;
    const grant =
      (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
      new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) });
    const isTicked = (scope: string) => ticked.has(scope);
    const isNotTicked = (scope: string) => !ticked.has(scope);
    grant.addOIDCScope(missingOIDCScope.filter(isTicked));
    grant.rejectOIDCScope(missingOIDCScope.filter(isNotTicked));
    grant.addOIDCClaims(missingOIDCClaims);
    for (const [resource, scopes] of Object.entries(missingResourceScopes)) {
      grant.addResourceScope(resource, scopes.filter(isTicked));
      grant.rejectResourceScope(resource, scopes.filter(isNotTicked));
    }
    return await grant.save();
  }

  return async (context, next) => {
    if (!context.path.startsWith('/interaction/')) return next();
    const { req, res } = context;
    context.set(pageHeaders(brand));
    try {
      const interaction = await provider.interactionDetails(req, res);
      const result = context.method === 'POST' ? await resultOf(interaction, await readForm(req)) : undefined;
      if (result === undefined) {
        context.body = await pageOf(interaction);
      } else {
        context.status = 303;
        context.redirect(await provider.interactionResult(req, res, result));
      }
    } catch (error) {
      // The interaction has expired, or the user has submitted the form twice.
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      context.status = 400;
      context.body = errorPage(brand, error.message);
    }
  };
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > MAX_FORM_BYTES) throw new errors.InvalidRequest('the form is too long');
  }
  return new URLSearchParams(body);
}
