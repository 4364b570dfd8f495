import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { consentPage, loginPage } from './provider-pages.ts';
import type { TestUser } from './test-user.ts';

interface MissingByPrompt {
  readonly missingOIDCScope?: string[];
  readonly missingOIDCClaims?: string[];
  readonly missingResourceScopes?: Record<string, string[]>;
}

/** Sign-in and consent of a test provider, for requests under `/interaction/`. */
export function createInteractions(p: { provider: Provider; name: string; users: readonly TestUser[] }) {
  const { provider, users } = p;

  async function show(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const interaction = await provider.interactionDetails(request, response);
    const action = `/interaction/${interaction.uid}`;
    if (interaction.prompt.name === 'login') {
      sendHtml(response, loginPage({ action, providerName: p.name, users }));
      return;
    }
    const oauthClient = await provider.Client.find(String(interaction.params['client_id']));
    sendHtml(
      response,
      consentPage({
        action,
        providerName: p.name,
        clientName: oauthClient?.clientName ?? String(interaction.params['client_id']),
        userName: interaction.session?.accountId ?? '',
        scopes: missingScopes(interaction.prompt.details),
      }),
    );
  }

  async function submit(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const interaction = await provider.interactionDetails(request, response);
    const form = await readForm(request);
    const finish = (result: Parameters<Provider['interactionFinished']>[2]) =>
      provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });

    if (form.get('decision') === 'deny') {
      await finish({ error: 'access_denied', error_description: 'End-User aborted interaction' });
      return;
    }
    if (interaction.prompt.name === 'login') {
      const accountId = form.get('user') ?? form.get('username') ?? '';
      if (users.some(({ sub }) => sub === accountId)) {
        await finish({ login: { accountId } });
      } else {
        const action = `/interaction/${interaction.uid}`;
        sendHtml(response, loginPage({ action, providerName: p.name, users, fault: 'There is no such user' }));
      }
      return;
    }

    const {
      missingOIDCScope = [],
      missingOIDCClaims = [],
      missingResourceScopes = {},
    }: MissingByPrompt = interaction.prompt.details;
    const grant =
      (interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId)) ??
      new provider.Grant({
        accountId: interaction.session?.accountId,
        clientId: String(interaction.params['client_id']),
      });
    const ticked = new Set(form.getAll('scope'));
    const isTicked = (scope: string) => ticked.has(scope);
    const isNotTicked = (scope: string) => !ticked.has(scope);
    grant.addOIDCScope(missingOIDCScope.filter(isTicked));
    grant.rejectOIDCScope(missingOIDCScope.filter(isNotTicked));
    grant.addOIDCClaims(missingOIDCClaims);
    for (const [resource, scopes] of Object.entries(missingResourceScopes)) {
      grant.addResourceScope(resource, scopes.filter(isTicked));
      grant.rejectResourceScope(resource, scopes.filter(isNotTicked));
    }
    await finish({ consent: { grantId: await grant.save() } });
  }

  return { show, submit };
}

function missingScopes({ missingOIDCScope = [], missingResourceScopes = {} }: MissingByPrompt): string[] {
  return [...new Set([...missingOIDCScope, ...Object.values(missingResourceScopes).flat()])];
}

function sendHtml(response: ServerResponse, html: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  return new URLSearchParams(body);
}
