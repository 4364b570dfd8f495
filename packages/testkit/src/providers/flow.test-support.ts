import { createHash, randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, SignJWT } from 'jose';
import { type DriveOptions, driveAuthorization } from './drive-authorization.ts';
import { startOpenIdProvider, type TestProvider } from './open-id-provider.ts';
import type { OpenIdProviderOptions } from './open-id-provider-options.ts';

// A handwritten client, because the tests of the provider check the wire format.

export const redirectUri = 'http://127.0.0.1:3/callback';
export const resource = 'https://mcp.example/issues';
// RFC 7636 appendix B.
export const codeVerifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const codeChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

export function startProvider(options: Partial<OpenIdProviderOptions> = {}): Promise<TestProvider> {
  return startOpenIdProvider({
    clients: [{ clientId: 'mcp-client', redirectUris: [redirectUri] }],
    scopes: ['issues', 'issues.write'],
    ...options,
  });
}

export function authorizeUrl(op: { issuer: string }, parameters: Record<string, string> = {}): URL {
  const url = new URL('/auth', op.issuer);
  url.search = new URLSearchParams({ ...authorizationParameters, ...parameters }).toString();
  return url;
}

export const authorizationParameters = {
  client_id: 'mcp-client',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid issues',
  state: 'state',
  code_challenge: codeChallenge,
  code_challenge_method: 'S256',
};

export async function post(
  url: string | URL,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form), headers });
  const text = await response.text();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: response.status, headers: response.headers, body };
}

export function token(
  op: TestProvider,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  return post(new URL('/token', op.issuer), { client_id: 'mcp-client', ...form }, headers);
}

export function exchange(op: TestProvider, callback: URL, form = {}, headers = {}): Promise<WireAnswer> {
  const code = callback.searchParams.get('code') ?? '';
  const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier };
  return token(op, { ...grant, ...form }, headers);
}

export function refresh(op: TestProvider, refreshToken: unknown, form = {}, headers = {}): Promise<WireAnswer> {
  return token(op, { grant_type: 'refresh_token', refresh_token: String(refreshToken), ...form }, headers);
}

export interface Connected {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function connect(op: TestProvider, parameters = {}, options: DriveOptions = {}): Promise<Connected> {
  const { body } = await exchange(op, await driveAuthorization(authorizeUrl(op, parameters), 'alice', options));
  return { accessToken: String(body['access_token']), refreshToken: String(body['refresh_token']), body };
}

export async function askApi(op: { issuer: string }, accessToken: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(new URL('/api/me', op.issuer), {
    headers: { authorization: `Bearer ${accessToken}`, ...headers },
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as unknown };
}

export async function dpopProof(
  keys: { privateKey: CryptoKey; publicKey: CryptoKey },
  p: { method: string; url: string; nonce?: string | null; accessToken?: string },
): Promise<string> {
  const { method: htm, url: htu, nonce, accessToken } = p;
  return new SignJWT({
    htm,
    htu,
    jti: randomUUID(),
    ...(typeof nonce === 'string' && { nonce }),
    ...(accessToken !== undefined && { ath: createHash('sha256').update(accessToken).digest('base64url') }),
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(keys.publicKey) })
    .setIssuedAt()
    .sign(keys.privateKey);
}
