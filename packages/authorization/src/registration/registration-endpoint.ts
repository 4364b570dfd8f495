import * as z from 'zod';
import { AuthorizationError, fromLibraryError } from '../authorization-error.ts';
import { isEndpointUrl } from '../config-values.ts';
import { foreignDocument, jsonMembers } from '../foreign-document.ts';
import { isPassing, type OutboundFetch } from '../outbound/outbound-fetch.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { type ClientDescription, clientMetadata } from './client-metadata.ts';

const registrationMethods = ['private_key_jwt', 'client_secret_basic', 'client_secret_post', 'none'] as const;
export type RegistrationMethod = (typeof registrationMethods)[number];

/** A client registered at run time. Secret as a whole. */
export interface DynamicRegistration {
  readonly clientId: string;
  readonly method: RegistrationMethod;
  /** Present unless the method is `none` or `private_key_jwt`. */
  readonly clientSecret?: string;
  /** Milliseconds since the epoch. Absent: never. */
  readonly secretExpiresAt?: number;
  /** URL and access token to delete the client (RFC 7592). */
  readonly management?: { readonly url: string; readonly accessToken: string };
}

const visibleAscii = z
  .string()
  .max(4096)
  .regex(/^[\x20-\x7e]+$/);

/** RFC 7591 section 3.2.1, RFC 7592 section 3. Irrelevant members are dropped. */
const answerSchema = foreignDocument({
  client_id: visibleAscii,
  client_secret: visibleAscii.optional(),
  // Servers that omit it issue secrets that last.
  client_secret_expires_at: z.int().min(0).max(100_000_000_000).default(0),
  token_endpoint_auth_method: z.string().optional(),
  redirect_uris: z.array(z.string()).max(100),
  registration_client_uri: z.string().max(2000).optional(),
  registration_access_token: visibleAscii.optional(),
});

/**
 * Registers a client for one redirect URI (RFC 7591). Sends one request and never retries: after a lost response the server
 * may hold an unused client, and a retry would add another.
 *
 * @throws {AuthorizationError} `registration_unavailable` if there is no endpoint or no authentication method that both
 *   sides support, `registration_refused` (with the registered error code), `invalid_registration`, `provider_unavailable`,
 *   `outbound_…`.
 */
export async function registerClient(p: {
  metadata: ServerMetadata;
  description: ClientDescription;
  redirectUri: URL;
  fetch: OutboundFetch;
  now: () => number;
}): Promise<DynamicRegistration> {
  const endpoint = p.metadata.registration_endpoint;
  const method = requestedMethod(p.metadata, p.description);
  if (endpoint === undefined || method === undefined) throw new AuthorizationError('registration_unavailable');
  const response = await post(endpoint, requestBody(p, method), p.fetch);
  const body = jsonMembers(await response.text());

  if (response.status >= 400) throw refused(body?.['error']);
  if (!response.ok) throw new AuthorizationError('invalid_registration');
  return parseAnswer(body, { ...p, method });
}

/**
 * Deletes an unused client (RFC 7592 section 2.3).
 *
 * @returns false if the authorization server did not delete it
 * @throws {AuthorizationError} `provider_unavailable`, `outbound_…`.
 */
export async function deleteClient(
  { url, accessToken }: NonNullable<DynamicRegistration['management']>,
  fetch: OutboundFetch,
): Promise<boolean> {
  try {
    const response = await fetch(url, { method: 'DELETE', headers: { authorization: `Bearer ${accessToken}` } });
    return response.ok;
  } catch (error) {
    throw fromLibraryError(error, 'provider_unavailable');
  }
}

/** Chooses the method to request. RFC 8414 section 2: the default of the metadata is HTTP Basic. */
function requestedMethod(
  { token_endpoint_auth_methods_supported: supported = ['client_secret_basic'] }: ServerMetadata,
  { jwksUri }: ClientDescription,
): RegistrationMethod | undefined {
  return registrationMethods.find(
    method => supported.includes(method) && (method !== 'private_key_jwt' || jwksUri !== undefined),
  );
}

function requestBody(
  {
    metadata,
    description,
    redirectUri,
  }: { metadata: ServerMetadata; description: ClientDescription; redirectUri: URL },
  method: RegistrationMethod,
): string {
  const { jwks_uri, grant_types, ...members } = clientMetadata(description, redirectUri);
  const supported = metadata.grant_types_supported;
  return JSON.stringify({
    ...members,
    grant_types: grant_types.filter(type => supported?.includes(type) ?? true),
    token_endpoint_auth_method: method,
    ...(method === 'private_key_jwt' && { jwks_uri }),
  });
}

async function post(endpoint: string, body: string, fetch: OutboundFetch): Promise<Response> {
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body,
    });
    if (isPassing(response.status)) throw new AuthorizationError('provider_unavailable');
    return response;
  } catch (error) {
    throw fromLibraryError(error, 'invalid_registration');
  }
}

/** Error codes of RFC 7591 section 3.2.2, and of protected endpoints (RFC 6750 section 3.1). */
const registrationErrors = new Set([
  'invalid_client_metadata',
  'invalid_redirect_uri',
  'invalid_request',
  'invalid_software_statement',
  'invalid_token',
  'unapproved_software_statement',
]);

function refused(error: unknown): AuthorizationError {
  const known = typeof error === 'string' && registrationErrors.has(error);
  return new AuthorizationError('registration_refused', { providerError: known ? error : 'unregistered' });
}

function parseAnswer(
  body: Readonly<Record<string, unknown>> | undefined,
  p: { metadata: ServerMetadata; redirectUri: URL; method: RegistrationMethod; now: () => number },
): DynamicRegistration {
  const answer = answerSchema.safeParse(body);
  if (!answer.success) throw new AuthorizationError('invalid_registration');
  const { client_id: clientId, client_secret, client_secret_expires_at: expiry, redirect_uris } = answer.data;

  // Section 3.2.1: the response states what was registered, which may differ from the request.
  if (!redirect_uris.includes(p.redirectUri.href)) throw new AuthorizationError('invalid_registration');
  const method = acceptedMethod(answer.data.token_endpoint_auth_method ?? p.method, p.method);
  const management = managementOf(answer.data, p.metadata.registration_endpoint);
  if (method === 'none' || method === 'private_key_jwt') return { clientId, method, ...management };

  if (client_secret === undefined) throw new AuthorizationError('invalid_registration');
  if (expiry === 0) return { clientId, method, clientSecret: client_secret, ...management };
  const secretExpiresAt = expiry * 1000;
  if (secretExpiresAt <= p.now()) throw new AuthorizationError('invalid_registration');
  return { clientId, method, clientSecret: client_secret, secretExpiresAt, ...management };
}

/** Accepts every supported method, but `private_key_jwt` only if we sent our keys. */
function acceptedMethod(answered: string, requested: RegistrationMethod): RegistrationMethod {
  const method = registrationMethods.find(known => known === answered);
  if (method === undefined || (method === 'private_key_jwt' && requested !== method)) {
    throw new AuthorizationError('invalid_registration');
  }
  return method;
}

/** Returns URL and token only together, and only if the URL has the origin that issued the token. */
function managementOf(
  { registration_client_uri: url, registration_access_token: accessToken }: z.infer<typeof answerSchema>,
  endpoint: string | undefined,
): Pick<DynamicRegistration, 'management'> {
  if (url === undefined || accessToken === undefined || endpoint === undefined || !isEndpointUrl(url)) return {};
  if (new URL(url).origin !== new URL(endpoint).origin) return {};
  return { management: { url, accessToken } };
}
