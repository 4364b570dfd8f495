import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { createServer } from '../../platform/http/listener.ts';
import { listenErrorOf } from '../../platform/start-error.ts';
import { type OperatorAnswer, type OperatorSignIn, operatorSignIn } from './operator-sign-in.ts';

/** The example provider of a development gateway: an OAuth 2.1 authorization server and an API, without sign-in. */
export const example = { name: 'example', displayName: 'Example Notes', clientId: 'postern', scope: 'notes' } as const;

const notes = ['Water the plants', 'Return the library book', 'Call Ada about the engine'];

const CODE_SECONDS = 60;
const ACCESS_TOKEN_SECONDS = 600;
const REFRESH_TOKEN_SECONDS = 90 * 24 * 3_600;
const LARGEST_BODY_BYTES = 16_384;

const requestSchema = z.object({
  response_type: z.literal('code'),
  client_id: z.literal(example.clientId),
  redirect_uri: z.string(),
  state: z.string(),
  scope: z.literal(example.scope),
  code_challenge: z.string().length(43),
  code_challenge_method: z.literal('S256'),
});
const tokenRequestSchema = z.discriminatedUnion('grant_type', [
  z.object({
    grant_type: z.literal('authorization_code'),
    client_id: z.literal(example.clientId),
    code: z.string(),
    redirect_uri: z.string(),
    code_verifier: z.string(),
  }),
  z.object({
    grant_type: z.literal('refresh_token'),
    client_id: z.literal(example.clientId),
    refresh_token: z.string(),
  }),
]);

type Use = 'request' | 'code' | 'access' | 'refresh';

export interface ExampleProvider extends AsyncDisposable {
  /** Origin of the provider and its API. */
  readonly url: string;
}

/**
 * Starts the example provider on loopback. Its codes and tokens are signed and stored nowhere, so
 * connections survive a restart.
 * @throws StartError if the port is in use
 */
export async function startExampleProvider(p: {
  readonly port: number;
  /** Of the gateway; it derives the key that signs tokens. */
  readonly vaultKey: string;
  readonly redirectUri: string;
  /** Where the console lets its operators sign in. */
  readonly operators: OperatorSignIn;
}): Promise<ExampleProvider> {
  const url = `http://127.0.0.1:${p.port}`;
  const key = new Uint8Array(hkdfSync('sha256', p.vaultKey, '', 'postern example provider', 32));
  const usedCodes = new Set<string>();

  const sign = (use: Use, seconds: number, claims: JWTPayload = {}): Promise<string> =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: use })
      .setJti(randomBytes(16).toString('base64url'))
      .setExpirationTime(`${seconds}s`)
      .sign(key);
  const verified = async (use: Use, token: string): Promise<JWTPayload | undefined> =>
    (await jwtVerify(token, key, { typ: use, algorithms: ['HS256'] }).catch(() => undefined))?.payload;

  async function showConsent(query: unknown, response: ServerResponse): Promise<void> {
    const { data } = requestSchema.safeParse(query);
    if (data?.redirect_uri !== p.redirectUri) return end(response, 400, 'This is not a request of your gateway.');
    const request = await sign('request', 600, { state: data.state, challenge: data.code_challenge });
    endPage(response, consentPage(request), p.redirectUri);
  }

  function sendOperator(response: ServerResponse, answer: OperatorAnswer | undefined): void {
    if (answer === undefined) end(response, 404, 'Not found.');
    else if ('page' in answer) endPage(response, answer.page, p.operators.redirectUri);
    else if ('json' in answer) json(response, answer.status, answer.json);
    else response.writeHead(303, { location: answer.location, 'cache-control': 'no-store' }).end();
  }

  async function decide(body: unknown, response: ServerResponse): Promise<void> {
    const { data } = z.object({ request: z.string(), decision: z.enum(['allow', 'refuse']) }).safeParse(body);
    const request = data && (await verified('request', data.request));
    if (request === undefined) return end(response, 400, 'This page is too old. Start again from your tool.');
    const location = new URL(p.redirectUri);
    location.searchParams.set('state', String(request['state']));
    if (data?.decision === 'allow')
      location.searchParams.set('code', await sign('code', CODE_SECONDS, { challenge: request['challenge'] }));
    else location.searchParams.set('error', 'access_denied');
    response.writeHead(303, { location: location.href, 'cache-control': 'no-store' }).end();
  }

  async function issueTokens(body: unknown, response: ServerResponse): Promise<void> {
    const { data } = tokenRequestSchema.safeParse(body);
    if (data === undefined) return json(response, 400, { error: 'invalid_request' });
    const isGranted =
      data.grant_type === 'refresh_token'
        ? (await verified('refresh', data.refresh_token)) !== undefined
        : data.redirect_uri === p.redirectUri && (await redeemed(data.code, data.code_verifier));
    if (!isGranted) return json(response, 400, { error: 'invalid_grant' });
    json(response, 200, {
      access_token: await sign('access', ACCESS_TOKEN_SECONDS),
      token_type: 'Bearer',
      expires_in: ACCESS_TOKEN_SECONDS,
      refresh_token: await sign('refresh', REFRESH_TOKEN_SECONDS),
      scope: example.scope,
    });
  }

  /** Whether a code is valid and unused, and fits its verifier (RFC 7636 section 4.6). */
  async function redeemed(code: string, verifier: string): Promise<boolean> {
    const claims = await verified('code', code);
    const { jti } = claims ?? {};
    if (jti === undefined || usedCodes.has(jti)) return false;
    usedCodes.add(jti);
    return claims?.['challenge'] === createHash('sha256').update(verifier).digest('base64url');
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A page of another host name that resolves to this machine must not reach it (DNS rebinding).
    if (request.headers.host !== new URL(url).host) return end(response, 421, 'Unknown host.');
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    if (pathname.startsWith(`${operatorSignIn.path}/`)) {
      const values = request.method === 'POST' ? await formOf(request) : Object.fromEntries(searchParams);
      const path = pathname.slice(operatorSignIn.path.length);
      return sendOperator(response, await p.operators.answer(request.method ?? '', path, values));
    }
    switch (`${request.method} ${pathname}`) {
      case 'GET /authorize':
        return showConsent(Object.fromEntries(searchParams), response);
      case 'POST /authorize':
        return decide(await formOf(request), response);
      case 'POST /token':
        return issueTokens(await formOf(request), response);
      case 'GET /notes': {
        const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
        if ((await verified('access', token)) !== undefined) return json(response, 200, notes);
        response.setHeader('www-authenticate', 'Bearer error="invalid_token"');
        return json(response, 401, { error: 'invalid_token' });
      }
      default:
        return end(response, 404, 'Not found.');
    }
  }

  const listener = createServer((request, response) => {
    handle(request, response).catch(() => (response.headersSent ? response.destroy() : end(response, 400, 'Failed.')));
  });
  try {
    await once(listener.listen(p.port, '127.0.0.1'), 'listening');
  } catch (error) {
    throw listenErrorOf(error, 'example provider', { host: '127.0.0.1', port: p.port });
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      listener.closeAllConnections();
      await closed;
    },
  };
}

async function formOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > LARGEST_BODY_BYTES) throw new Error('the body is too large');
  }
  return Object.fromEntries(new URLSearchParams(text));
}

function end(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  const headers = { 'content-type': type, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  response.writeHead(status, { ...headers, 'x-content-type-options': 'nosniff' }).end(text);
}

/** A page with one form, whose answer redirects to the gateway. */
function endPage(response: ServerResponse, page: string, redirectUri: string): void {
  response.setHeader(
    'content-security-policy',
    `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${new URL(redirectUri).origin}; frame-ancestors 'none'`,
  );
  end(response, 200, page, 'text/html; charset=utf-8');
}

const json = (response: ServerResponse, status: number, body: unknown): void =>
  end(response, status, JSON.stringify(body), 'application/json');

/** @param request base64url and dots, so it needs no escaping */
const consentPage = (request: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Allow access – ${example.displayName}</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
  body { max-width: 26rem; margin: 10vh auto; padding: 0 1rem }
  button { font: inherit; padding: .5rem 1.25rem; margin-right: .5rem }
</style></head>
<body><p>${example.displayName}</p>
<h1>Allow Postern to read your notes?</h1>
<p>This page stands in for a service such as GitHub or Google. It runs on your machine, and its notes are made up.</p>
<form method="post"><input type="hidden" name="request" value="${request}">
<button name="decision" value="allow">Allow</button><button name="decision" value="refuse">Refuse</button></form>
</body></html>`;
