import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type Provider } from 'oidc-provider';
import type { Person } from './person.ts';
import { consentPage, faultPage, loginPage, type ProviderBrand, pageHeaders } from './provider-pages.ts';

/** What oidc-provider says is still missing from the grant. */
interface MissingConsent {
  readonly missingOIDCScope?: string[];
  readonly missingOIDCClaims?: string[];
  readonly missingResourceScopes?: Record<string, string[]>;
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

const MAX_FORM_BYTES = 4096;

/** Sign-in and consent, at `/interaction/{uid}`. */
export function createInteractions(p: { provider: Provider; brand: ProviderBrand; people: readonly Person[] }) {
  const { provider, brand, people } = p;
  const send = (response: ServerResponse, status: number, page: string) =>
    response.writeHead(status, pageHeaders(brand)).end(page);

  async function show(interaction: Interaction, response: ServerResponse): Promise<void> {
    const oauthClient = await provider.Client.find(String(interaction.params['client_id']));
    const action = `/interaction/${interaction.uid}`;
    const oauthClientName = oauthClient?.clientName ?? String(interaction.params['client_id']);
    if (interaction.prompt.name === 'login') {
      send(response, 200, loginPage(brand, { action, oauthClientName, people }));
      return;
    }
    const person = people.find(({ id }) => id === interaction.session?.accountId);
    send(
      response,
      200,
      consentPage(brand, {
        action,
        oauthClientName,
        redirectHost: URL.parse(String(interaction.params['redirect_uri']))?.host ?? '',
        personName: person?.name ?? '',
        // All of them, also where they were allowed before: native applications are asked about every time (RFC 8252
        // section 8.6), because anybody can claim to be one.
        scopes: String(interaction.params['scope'] ?? '').split(' '),
      }),
    );
  }

  async function submit(interaction: Interaction, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readForm(request);
    const finish = (result: Parameters<Provider['interactionFinished']>[2]) =>
      provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });

    if (form.get('decision') === 'deny') {
      await finish({ error: 'access_denied', error_description: 'the person declined' });
    } else if (interaction.prompt.name === 'login') {
      const person = people.find(({ id }) => id === form.get('person'));
      if (person === undefined) await show(interaction, response);
      else await finish({ login: { accountId: person.id } });
    } else {
      await finish({ consent: { grantId: await grantWhatIsMissing(interaction) } });
    }
  }

  async function grantWhatIsMissing({ grantId, params, prompt, session }: Interaction): Promise<string> {
    const { missingOIDCScope, missingOIDCClaims, missingResourceScopes }: MissingConsent = prompt.details;
    const grant =
      (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
      new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) });
    if (missingOIDCScope !== undefined) grant.addOIDCScope(missingOIDCScope);
    if (missingOIDCClaims !== undefined) grant.addOIDCClaims(missingOIDCClaims);
    for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {}))
      grant.addResourceScope(resource, scopes);
    return await grant.save();
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const interaction = await provider.interactionDetails(request, response);
      if (request.method === 'POST') await submit(interaction, request, response);
      else await show(interaction, response);
    } catch (error) {
      // A tab that was left open too long, or a second click on a button.
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      send(response, 400, faultPage(brand, error.message));
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
