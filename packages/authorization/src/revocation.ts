import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import { clientSecretBasic, createClientAuthentication } from './client-authentication.ts';
import type { ResolvedClient } from './client-registration.ts';
import { type DpopKey, dpopProof } from './dpop.ts';
import { fromLibraryError } from './library-error.ts';
import { errorFromProvider } from './provider-error.ts';
import { clientIdPlaceholder, type RevocationConfig, revocationConfigSchema } from './revocation-config.ts';
import { jsonMembers, memberAt } from './token-answer.ts';
import { unreadable } from './token-endpoint.ts';
import type { OauthTools } from './token-request.ts';

export interface RevocationRequest {
  readonly config: RevocationConfig | undefined;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly dpopKey?: DpopKey | undefined;
}

/** `unsupported`: the provider offers no way; its tokens live as long as they live. */
export type RevocationResult = 'revoked' | 'unsupported';

/** How RFC 7009 has it. */
const standard = revocationConfigSchema.parse({});

/**
 * Ends a grant at the provider. A token that the provider does not know is as good as revoked (RFC 7009 section 2.2).
 * Repeating it is harmless; it is the caller who does.
 *
 * @throws {AuthorizationError}
 */
export async function revokeToken(
  tools: OauthTools,
  at: ResolvedClient,
  { config = standard, accessToken, refreshToken, dpopKey }: RevocationRequest,
): Promise<RevocationResult> {
  const url = config.endpoint ? ofClient(config.endpoint, at) : at.metadata.revocation_endpoint;
  if (url === undefined) return 'unsupported';

  const isRefreshToken = config.token === 'refresh_token' && refreshToken !== undefined;
  const order = orderOf(config, isRefreshToken ? 'refresh_token' : 'access_token');
  const parameters = {
    ...(order.body !== 'none' && { [order.parameter]: isRefreshToken ? refreshToken : accessToken }),
    ...(order.hint !== undefined && { token_type_hint: order.hint }),
  };
  const boundTo = order.authentication === 'bearer' ? dpopKey : undefined;
  const send = async (nonce?: string): Promise<Response> => {
    const form = new URLSearchParams(parameters);
    const headers = new Headers({ accept: 'application/json' });
    if (order.authentication === 'client') {
      await authenticate(createClientAuthentication(at.registration), tools, at, form, headers);
    }
    if (order.authentication === 'basic')
      await authenticate(clientSecretBasic(at.registration), tools, at, form, headers);
    if (order.authentication === 'bearer') {
      headers.set('authorization', `${boundTo === undefined ? 'Bearer' : 'DPoP'} ${accessToken}`);
    }
    if (boundTo !== undefined) {
      const proof = { dpopKey: boundTo, accessToken, method: order.method, url, nonce };
      headers.set('dpop', await dpopProof(proof, tools.now()));
    }
    const body = bodyOf(order.body, form, headers);
    return tools.configurations.fetch(url, { method: order.method, headers: plain(headers), body, redirect: 'manual' });
  };

  try {
    const first = await send();
    // RFC 9449 section 9: the resource server may ask for a nonce of its own.
    const nonce = boundTo !== undefined && first.status === 401 ? first.headers.get('dpop-nonce') : null;
    return await outcomeOf(nonce === null ? first : await send(nonce), config, order);
  } catch (error) {
    throw fromLibraryError(error, 'invalid_revocation_response');
  }
}

function ofClient(endpoint: string, { registration: { clientId } }: ResolvedClient): string {
  // Encoded or not, a URL parser takes these for steps through the path, and then it is another endpoint.
  const isStep = clientId === '.' || clientId === '..';
  if (isStep && endpoint.includes(clientIdPlaceholder)) throw new AuthorizationError('invalid_registration');
  return endpoint.replaceAll(clientIdPlaceholder, encodeURIComponent(clientId));
}

/** RFC 7009 section 2.1. */
type TokenHint = 'access_token' | 'refresh_token';

/** What is sent, with nothing left open. */
interface Order {
  readonly method: 'POST' | 'DELETE' | 'GET';
  readonly body: 'form' | 'json' | 'none';
  readonly parameter: string;
  readonly authentication: NonNullable<RevocationConfig['authentication']>;
  readonly hint?: TokenHint;
}

function orderOf(config: RevocationConfig, hint: TokenHint): Order {
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
  { configurations }: OauthTools,
  at: ResolvedClient,
  parameters: URLSearchParams,
  headers: Headers,
): Promise<void> {
  const registered = { client_id: at.registration.clientId, [client.clockSkew]: configurations.clockLead() };
  // Asynchronous where something is signed, whatever its type says.
  await Promise.resolve(
    authentication(configurations.plain(at).serverMetadata(), registered, parameters, headers) as unknown,
  );
}

function bodyOf(format: Order['body'], parameters: URLSearchParams, headers: Headers): string | null {
  if (format === 'none') return null;
  headers.set('content-type', format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded');
  return format === 'json' ? JSON.stringify(Object.fromEntries(parameters)) : parameters.toString();
}

const plain = (headers: Headers): Record<string, string> => Object.fromEntries(headers);

async function outcomeOf(answer: Response, config: RevocationConfig, order: Order): Promise<RevocationResult> {
  if (config.unknownTokenStatuses.includes(answer.status)) return 'revoked';
  const members = jsonMembers(await answer.text());
  const isDone = answer.status >= 200 && answer.status < 300;
  const { success } = config;
  const isMeant =
    success === undefined || (members !== undefined && memberAt(members, success.member) === success.equals);
  if (isDone && isMeant) return 'revoked';

  const code = members?.['error'];
  if (typeof code !== 'string') {
    const isAboutClient = order.authentication === 'client' || order.authentication === 'basic';
    if (isAboutClient) throw unreadable(answer, 'invalid_revocation_response');
    throw new AuthorizationError('invalid_revocation_response');
  }
  // Of a bearer it says only that its access token has ended; a refresh token may live on.
  if (config.style === 'rfc7009' && code === 'invalid_token') return 'revoked';
  if (config.unknownTokenErrors.includes(code)) return 'revoked';
  // RFC 7009 section 2.2.1: tokens of this kind cannot be revoked.
  if (code === 'unsupported_token_type') return 'unsupported';
  throw errorFromProvider(code);
}
