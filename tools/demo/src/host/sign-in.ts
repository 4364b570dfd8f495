import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider, OAuthDiscoveryState, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { listenHttp } from '../listen-http.ts';
import { HOST_CLIENT_ID, HOST_REDIRECT_PATH } from './registration.ts';

/** Signs the user in to an MCP server: authorization code with PKCE and a loopback redirect (RFC 8252). */
export interface SignIn extends AsyncDisposable {
  /** For the transport of the SDK. Keeps tokens in memory only. */
  readonly provider: OAuthClientProvider;
  /** Resolves with the parameters of the redirect. */
  readonly answer: Promise<URLSearchParams>;
}

const donePage = '<!doctype html><meta charset="utf-8"><title>Signed in</title><p>Signed in. You can close this tab.';

/** @param openUrl asks the user and opens the sign-in page; throws if the user refuses */
export async function startSignIn(openUrl: (url: URL) => Promise<void>): Promise<SignIn> {
  const expectedState = randomBytes(32).toString('base64url');
  const { promise: answer, resolve } = Promise.withResolvers<URLSearchParams>();

  const listener = await listenHttp(0, (request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (
      request.method !== 'GET' ||
      url.pathname !== HOST_REDIRECT_PATH ||
      url.searchParams.get('state') !== expectedState
    ) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(donePage);
    resolve(url.searchParams);
  });

  const redirectUrl = `http://127.0.0.1:${listener.port}${HOST_REDIRECT_PATH}`;
  let storedTokens: StoredOAuthTokens | undefined;
  let storedVerifier: string | undefined;
  let discovery: OAuthDiscoveryState | undefined;
  return {
    answer,
    provider: {
      redirectUrl,
      clientMetadata: { client_name: 'Terminal Host', redirect_uris: [redirectUrl] },
      state: () => expectedState,
      clientInformation: () => ({ client_id: HOST_CLIENT_ID }),
      tokens: () => storedTokens,
      saveTokens(tokens) {
        storedTokens = tokens;
      },
      redirectToAuthorization: openUrl,
      saveCodeVerifier(codeVerifier) {
        storedVerifier = codeVerifier;
      },
      codeVerifier() {
        if (storedVerifier === undefined) throw new TypeError('no authorization has been started');
        return storedVerifier;
      },
      saveDiscoveryState(found) {
        discovery = found;
      },
      discoveryState: () => discovery,
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}
