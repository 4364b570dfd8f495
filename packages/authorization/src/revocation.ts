import * as client from 'openid-client';
import { AuthorizationError, errorFromProvider, fromLibraryError } from './authorization-error.ts';
import { clientSecretBasic, createClientAuthentication } from './client-authentication.ts';
import type { ResolvedClient } from './client-registration.ts';
import { type DpopKey, dpopProof } from './dpop.ts';
import { jsonMembers, memberAt } from './foreign-document.ts';
import type { OauthClient } from './oauth-client.ts';
import { clientIdPlaceholder, type RevocationConfig, revocationConfigSchema } from './provider-config.ts';

interface TokensToRevoke {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly dpopKey?: DpopKey | undefined;
}

export interface RevocationRequest extends TokensToRevoke {
  readonly config: RevocationConfig | undefined;
}

/**
 * The revocation that the provider confirmed.
 *
 * - `revoked`: all tokens of the grant are revoked.
 * - `refresh_token_revoked`: the access token can no longer be refreshed. It may stay usable until it expires.
 * - `access_token_revoked`: the refresh token may still be valid.
 * - `unsupported`: no token. There is no endpoint, or it does not support these tokens.
 */
export type RevocationResult = 'revoked' | 'refresh_token_revoked' | 'access_token_revoked' | 'unsupported';

/** Revocation by RFC 7009. */
const standard = revocationConfigSchema.parse({});

/**
 * Revokes a grant at the provider: the refresh token, then the access token, because revoking one need not revoke the other
 * (RFC 7009 section 2.1: SHOULD, MAY). A token that the provider does not know counts as revoked (section 2.2). The call is
 * idempotent, and the caller retries it after every error.
 *
 * @throws {AuthorizationError} `confirmed` names a token that the provider revoked despite the error.
 */
export async function revokeTokens(
  oauthClient: OauthClient,
  at: ResolvedClient,
  { config = standard, ...tokens }: RevocationRequest,
): Promise<RevocationResult> {
  const url = config.endpoint ? ofClient(config.endpoint, at) : at.metadata.revocation_endpoint;
  if (url === undefined) return 'unsupported';

  const revoked = new Set<TokenKind>();
  let failure: AuthorizationError | undefined;
  for (const kind of kindsToSend(config, tokens)) {
    try {
      if ((await revokeOne(oauthClient, at, { config, url, kind, ...tokens })) === 'revoked') revoked.add(kind);
    } catch (error) {
      const revocationError = fromLibraryError(error, 'invalid_revocation_response');
      // The provider has just accepted this client, so it refuses the access token itself, and would refuse a retry too.
      if (revoked.has('refresh_token') && revocationError.code === 'provider_error') continue;
      failure ??= revocationError;
      // Skip the other token only if the provider is down, because each request waits for its timeout.
      if (revocationError.code === 'provider_unavailable') break;
    }
  }
  const [confirmed] = revoked;
  if (failure !== undefined) {
    throw confirmed === undefined ? failure : new AuthorizationError(failure.code, { ...failure, confirmed });
  }
  if (confirmed === undefined) return 'unsupported';
  const endsAll = config.reach !== 'token' || tokens.refreshToken === undefined || revoked.size === 2;
  return endsAll ? 'revoked' : `${confirmed}_revoked`;
}

function kindsToSend({ style, body, token, reach }: RevocationConfig, { refreshToken }: TokensToRevoke): TokenKind[] {
  // A request without a body sends only the access token, as its authorization.
  if (refreshToken === undefined || style === 'bearer' || body === 'none') return ['access_token'];
  if (token !== undefined) return [token];
  return style === 'rfc7009' && reach === 'token' ? ['refresh_token', 'access_token'] : ['refresh_token'];
}

async function revokeOne(
  oauthClient: OauthClient,
  at: ResolvedClient,
  p: TokensToRevoke & { readonly config: RevocationConfig; readonly url: string; readonly kind: TokenKind },
): Promise<'revoked' | 'unsupported'> {
  const { config, url, kind, accessToken, refreshToken, dpopKey } = p;
  const order = orderOf(config, kind);
  const parameters = {
    ...(order.body !== 'none' && { [order.parameter]: (kind === 'refresh_token' && refreshToken) || accessToken }),
    ...(order.hint !== undefined && { token_type_hint: order.hint }),
  };
  const boundTo = order.authentication === 'bearer' ? dpopKey : undefined;
  const send = async (nonce?: string): Promise<Response> => {
    const form = new URLSearchParams(parameters);
    const headers = new Headers({ accept: 'application/json' });
    if (order.authentication === 'client') {
      await authenticate(createClientAuthentication(at.registration), oauthClient, at, form, headers);
    }
    if (order.authentication === 'basic')
      await authenticate(clientSecretBasic(at.registration), oauthClient, at, form, headers);
    if (order.authentication === 'bearer') {
      headers.set('authorization', `${boundTo === undefined ? 'Bearer' : 'DPoP'} ${accessToken}`);
    }
    if (boundTo !== undefined) {
      const proof = { dpopKey: boundTo, accessToken, method: order.method, url, nonce };
      headers.set('dpop', await dpopProof(proof, oauthClient.now()));
    }
    const body = bodyOf(order.body, form, headers);
    return oauthClient.fetch(url, { method: order.method, headers: plain(headers), body, redirect: 'manual' });
  };

  const first = await send();
  // RFC 9449 section 9: the resource server may require its own nonce.
  const nonce = boundTo !== undefined && first.status === 401 ? first.headers.get('dpop-nonce') : null;
  return outcomeOf(nonce === null ? first : await send(nonce), config);
}

function ofClient(endpoint: string, { registration: { clientId } }: ResolvedClient): string {
  // A URL parser resolves dot segments, encoded or not, which would lead to another endpoint.
  const isStep = clientId === '.' || clientId === '..';
  if (isStep && endpoint.includes(clientIdPlaceholder)) throw new AuthorizationError('invalid_registration');
  return endpoint.replaceAll(clientIdPlaceholder, encodeURIComponent(clientId));
}

/** RFC 7009 section 2.1. */
export type TokenKind = 'access_token' | 'refresh_token';

/** A fully resolved revocation request. */
interface Order {
  readonly method: 'POST' | 'DELETE' | 'GET';
  readonly body: 'form' | 'json' | 'none';
  readonly parameter: string;
  readonly authentication: NonNullable<RevocationConfig['authentication']>;
  readonly hint?: TokenKind;
}

function orderOf(config: RevocationConfig, hint: TokenKind): Order {
  switch (config.style) {
    case 'rfc7009':
      return { method: 'POST', body: 'form', parameter: 'token', authentication: 'client', hint };
    case 'bearer':
      return { method: 'POST', body: 'none', parameter: 'token', authentication: 'bearer' };
    case 'custom': {
      const { method = 'POST', body = 'form', parameter = 'token', authentication = 'client' } = config;
      return { method, body, parameter, authentication };
    }
  }
}

async function authenticate(
  authentication: client.ClientAuth,
  oauthClient: OauthClient,
  at: ResolvedClient,
  parameters: URLSearchParams,
  headers: Headers,
): Promise<void> {
  const registered = { client_id: at.registration.clientId, [client.clockSkew]: oauthClient.clockLead() };
  // May be asynchronous despite its type, if it signs an assertion.
  await Promise.resolve(
    authentication(oauthClient.configuration(at).serverMetadata(), registered, parameters, headers) as unknown,
  );
}

function bodyOf(format: Order['body'], parameters: URLSearchParams, headers: Headers): string | null {
  if (format === 'none') return null;
  headers.set('content-type', format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded');
  return format === 'json' ? JSON.stringify(Object.fromEntries(parameters)) : parameters.toString();
}

const plain = (headers: Headers): Record<string, string> => Object.fromEntries(headers);

async function outcomeOf(answer: Response, config: RevocationConfig): Promise<'revoked' | 'unsupported'> {
  if (config.unknownTokenStatuses.includes(answer.status)) return 'revoked';
  const members = jsonMembers(await answer.text());
  const isDone = answer.status >= 200 && answer.status < 300;
  const { success } = config;
  const isMeant =
    success === undefined || (members !== undefined && memberAt(members, success.member) === success.equals);
  if (isDone && isMeant) return 'revoked';

  const code = members?.['error'];
  if (typeof code !== 'string') throw new AuthorizationError('invalid_revocation_response');
  // As bearer, a 401 only shows that the access token is invalid. A refresh token may still be valid.
  if (config.style === 'rfc7009' && code === 'invalid_token') return 'revoked';
  if (config.unknownTokenErrors.includes(code)) return 'revoked';
  // RFC 7009 section 2.2.1: tokens of this kind cannot be revoked.
  if (code === 'unsupported_token_type') return 'unsupported';
  throw errorFromProvider(code);
}
