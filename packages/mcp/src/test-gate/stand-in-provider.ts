import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request that is consented to, by its code. */
interface Consent {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scope: string;
}

/**
 * Stands in for the authorization servers of all providers (RFC 6749, with PKCE) on loopback. It consents to every request without
 * asking: the person has already decided on the gateway's page.
 */
export async function startStandInProvider() {
  const consents = new Map<string, Consent>();
  /** Scopes by refresh token. */
  const grants = new Map<string, string>();

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirect = URL.parse(query.get('redirect_uri') ?? '');
    if (redirect === null) {
      json(response, 400, { error: 'invalid_request' });
      return;
    }
    const code = randomUUID();
    consents.set(code, {
      redirectUri: query.get('redirect_uri') ?? '',
      challenge: query.get('code_challenge') ?? '',
      scope: query.get('scope') ?? '',
    });
    redirect.searchParams.set('code', code);
    redirect.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: redirect.href }).end();
  }

  function issueTokens(provider: string, form: URLSearchParams, response: ServerResponse): void {
    const scope =
      form.get('grant_type') === 'refresh_token' ? grants.get(form.get('refresh_token') ?? '') : redeem(form);
    if (scope === undefined) {
      json(response, 400, { error: 'invalid_grant' });
      return;
    }
    const refreshToken = randomUUID();
    grants.set(refreshToken, scope);
    json(response, 200, {
      access_token: `${provider}-${randomUUID()}`,
      token_type: 'Bearer',
      expires_in: 3_600,
      refresh_token: refreshToken,
      scope,
    });
  }

  /** The scope of a code that fits redirect URI and verifier (RFC 7636 section 4.6). Once. */
  function redeem(form: URLSearchParams): string | undefined {
    const code = form.get('code') ?? '';
    const consent = consents.get(code);
    consents.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const fits = consent?.redirectUri === form.get('redirect_uri') && consent?.challenge === challenge;
    return fits ? consent?.scope : undefined;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stand-in');
    const [, provider = '', endpoint] = pathname.split('/');
    if (endpoint === 'authorize') authorize(searchParams, response);
    else if (endpoint === 'token') issueTokens(provider, new URLSearchParams(await text(request)), response);
    else json(response, 404, {});
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
