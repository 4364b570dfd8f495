import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import * as z from 'zod';
import { AuthorizationError, errorFromProvider, fromLibraryError, type Refused } from './authorization-error.ts';
import type { ResolvedClient } from './client-registration.ts';
import { scopeTokenSchema } from './config-values.ts';
import { type DpopKey, dpopKeyPair, isNonceChallenge } from './dpop.ts';
import {
  emptyCounts,
  foreignDocument,
  type JsonMembers,
  jsonDocument,
  memberAt,
  membersIn,
} from './foreign-document.ts';
import { isSignedFor, issuersOf } from './issuer.ts';
import type { OauthClient, OauthOperation } from './oauth-client.ts';
import { maxLifetimeSeconds, type TokenResponseConfig, tokenResponseConfigSchema } from './provider-config.ts';
import type { EndpointMetadata } from './server-metadata.ts';

export interface TokenGrant extends IssuedTokens {
  /** Claims of the ID token, signature verified. Undefined without an ID token. */
  readonly claims: client.IDToken | undefined;
}

/** Options of every token request. */
export interface TokenRequestOptions {
  /** Binds the tokens to this key. Without it, they are bearer tokens. */
  readonly dpopKey?: DpopKey | undefined;
  /** How the response differs from RFC 6749. */
  readonly tokenResponse?: TokenResponseConfig | undefined;
  /** Additional parameters. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

export interface GrantRequest extends TokenRequestOptions {
  readonly grantType: 'refresh_token' | 'urn:ietf:params:oauth:grant-type:device_code';
}

/**
 * Requests tokens with a refresh token or a device code. Sends one request, and a second one only for a DPoP nonce.
 *
 * Ignores the ID token of a refresh. Nothing depends on it, and an error while verifying it would lose the new refresh token,
 * and with it the grant.
 *
 * @throws {AuthorizationError} `grant_refused` if the provider no longer accepts the refresh token.
 */
export function requestTokens(
  oauthClient: OauthClient,
  at: ResolvedClient,
  request: GrantRequest,
): Promise<TokenGrant> {
  const isRefresh = request.grantType === 'refresh_token';
  return guardedGrant(
    oauthClient,
    at,
    { ...request, keepsIdToken: !isRefresh && canVerifyIdTokens(at.metadata), isRefresh },
    ({ configuration, dpop }) =>
      client.genericGrantRequest(configuration, request.grantType, { ...request.parameters }, dpop),
  );
}

/** Whether issuer and keys are known, without which an ID token proves nothing. */
export function canVerifyIdTokens(metadata: EndpointMetadata): boolean {
  return issuersOf(metadata).length > 0 && metadata.jwks_uri !== undefined;
}

/** Sends a token request and validates the response. Every token request goes through here. */
async function guardedGrant(
  oauthClient: OauthClient,
  at: ResolvedClient,
  p: TokenRequestOptions & Pick<TokenEndpointRules, 'keepsIdToken' | 'isRefresh'>,
  grant: (operation: OauthOperation) => Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers>,
): Promise<TokenGrant> {
  const keyPair = p.dpopKey && (await dpopKeyPair(p.dpopKey));
  let issued: () => IssuedTokens | undefined = () => undefined;
  const wrap = (fetch: client.CustomFetch): client.CustomFetch => {
    const guarded = guardTokenEndpoint(
      {
        endpoint: at.metadata.token_endpoint,
        tokenType: keyPair === undefined ? 'bearer' : 'dpop',
        tokenResponse: p.tokenResponse,
        keepsIdToken: p.keepsIdToken,
        isRefresh: p.isRefresh,
      },
      fetch,
    );
    issued = guarded.issued;
    return guarded.fetch;
  };
  try {
    return await oauthClient.run(at, { keyPair, wrap }, async operation => {
      if (p.keepsIdToken) client.enableNonRepudiationChecks(operation.configuration);
      const claims = (await grant(operation)).claims();
      const tokens = issued();
      if (tokens === undefined) throw new AuthorizationError('invalid_token_response');
      if (claims !== undefined) {
        assertRecent(claims, oauthClient.now());
        const { kid } = decodeProtectedHeader(tokens.response.id_token ?? '');
        const keys = client.getJwksCache(operation.configuration)?.jwks.keys ?? [];
        // For a template, the library accepts the issuer of any tenant.
        const isAllowed = issuersOf(at.metadata).includes(claims.iss);
        if (!isAllowed || !isSignedFor(claims.iss, { kid, keys, tenants: at.metadata.tenants }))
          throw new AuthorizationError('invalid_id_token', { claim: 'iss' });
      }
      return { ...tokens, claims };
    });
  } catch (error) {
    // After guardTokenEndpoint has accepted the response, the library can only reject the ID token.
    throw fromLibraryError(error, issued() === undefined ? 'invalid_token_response' : 'invalid_id_token');
  }
}

export interface CodeGrantRequest extends TokenRequestOptions {
  readonly code: string;
  readonly redirectUri: URL;
  /** Absent only if the provider does not support PKCE. */
  readonly codeVerifier?: string | undefined;
  /** If set, the response must contain an ID token with this nonce. */
  readonly nonce?: string | undefined;
  /** Maximum age of the authentication, in seconds. */
  readonly maxAge?: number | undefined;
}

/**
 * Exchanges an authorization code (RFC 6749 section 4.1.3). Sends one request, and a second one only for a DPoP nonce: a code can
 * be used once, and a request whose response was lost may have succeeded.
 *
 * @throws {AuthorizationError}
 */
export function exchangeCode(
  oauthClient: OauthClient,
  at: ResolvedClient,
  request: CodeGrantRequest,
): Promise<TokenGrant> {
  const { code, redirectUri, codeVerifier, nonce, maxAge, parameters } = request;
  const callback = new URL(redirectUri);
  callback.searchParams.set('code', code);
  return guardedGrant(
    oauthClient,
    at,
    // An ID token without a nonce could come from any other authorization.
    { ...request, keepsIdToken: nonce !== undefined && canVerifyIdTokens(at.metadata), isRefresh: false },
    ({ configuration, dpop }) =>
      client.authorizationCodeGrant(
        configuration,
        callback,
        {
          ...(codeVerifier !== undefined && { pkceCodeVerifier: codeVerifier }),
          ...(nonce !== undefined && { expectedNonce: nonce, idTokenExpected: true }),
          ...(maxAge !== undefined && { maxAge }),
        },
        { ...parameters },
        dpop,
      ),
  );
}

/** The answers of a provider that follows RFC 6749. */
const standardAnswers = tokenResponseConfigSchema.parse({});

interface TokenEndpointRules {
  readonly endpoint: string;
  readonly tokenType: TokenType;
  readonly tokenResponse: TokenResponseConfig | undefined;
  /** Whether to return the ID token: only if it can be verified and is needed. */
  readonly keepsIdToken: boolean;
  /** For a refresh, a refused refresh token is `grant_refused`. */
  readonly isRefresh: boolean;
}

interface IssuedTokens {
  readonly response: TokenResponse;
  /** The whole response, not validated. */
  readonly members: JsonMembers;
}

/**
 * Wraps the `fetch` of openid-client to check token responses. The library receives only valid responses of RFC 6749, and DPoP
 * nonce challenges, which it handles itself. Any other response is thrown as `AuthorizationError`.
 */
function guardTokenEndpoint(rules: TokenEndpointRules, fetch: client.CustomFetch) {
  const endpoint = new URL(rules.endpoint).href;
  let issued: IssuedTokens | undefined;

  const guarded: client.CustomFetch = async (url, options) => {
    const received = await fetch(url, options);
    if (url !== endpoint) return received;
    const { status, headers } = received;
    const body = await received.text();
    if (!received.ok && status < 400) throw new AuthorizationError('invalid_token_response');

    const isShort = body.length <= maxErrorLength;
    const document = received.ok || isShort ? jsonDocument(body) : undefined;
    const answer = { status, contentType: headers.get('content-type'), body: received.ok || isShort ? body : '' };
    const read = parseTokenResponse(answer, rules.tokenResponse, document);
    if (rules.tokenType === 'dpop' && isNonceChallenge(received, read?.kind === 'error' ? read.code : '')) {
      return new Response(body, { status, headers });
    }
    if (read?.kind !== 'tokens') {
      const said = { document: isShort ? document : undefined, isEmpty: body.trim() === '', code: read?.code };
      throw refusal(received, said, rules);
    }
    const { id_token, ...rest } = validateTokenResponse(read.members, rules.tokenType, {
      ...rules.tokenResponse,
      isRefresh: rules.isRefresh,
    });
    const response = rules.keepsIdToken && id_token !== undefined ? { ...rest, id_token } : rest;
    issued = { response, members: read.all };
    return Response.json(response);
  };
  return { fetch: guarded, issued: () => issued };
}

/** In characters. A longer error response is unreadable, and none of its texts is looked at. */
const maxErrorLength = 65_536;

interface ErrorAnswer {
  readonly document: object | undefined;
  readonly isEmpty: boolean;
  readonly code: string | undefined;
}

function refusal(
  received: Response,
  said: ErrorAnswer,
  { isRefresh, tokenResponse }: TokenEndpointRules,
): AuthorizationError {
  const { code } = said;
  // Whatever the response says, the same request may succeed later.
  if (isRefresh && received.headers.has('retry-after')) return new AuthorizationError('provider_unavailable');
  const error = code === undefined ? new AuthorizationError('invalid_token_response') : errorFromProvider(code);
  if (!isRefresh) return error;
  if (code === 'invalid_grant' || (code !== undefined && tokenResponse?.refusedErrors.includes(code) === true))
    return new AuthorizationError('grant_refused', { providerError: error.providerError ?? 'unregistered' });
  const refuses = refusedIn(received.status, said);
  return refuses === undefined ? error : new AuthorizationError(error.code, { ...error, refuses });
}

/** Returns what a refused refresh is about, wherever the response says it. Undefined if it may be temporary or is unreadable. */
function refusedIn(status: number, { document, isEmpty, code }: ErrorAnswer): Refused | undefined {
  const isEmpty401 = status === 401 && isEmpty;
  if (document === undefined && !code && !isEmpty401) return undefined;
  if (requestStatuses.includes(status)) return 'client';
  const words = wordsIn([document, code]);
  const named = (['client', 'passing', 'grant'] as const).find(what => namesOf[what].some(word => words.has(word)));
  if (named !== undefined) return named === 'passing' ? undefined : named;
  // Only an error code makes a 200 a refusal, and no response with a token is one.
  if (status < 400) return code || isError(document) ? 'grant' : undefined;
  return status === 401 ? 'unclear' : 'grant';
}

/** About how or from where we ask, not about the refresh token (RFC 9110 section 15.5, RFC 6585, RFC 7725). */
const requestStatuses: readonly number[] = [405, 406, 411, 413, 414, 415, 417, 421, 426, 428, 431, 451];

/** Values that name the refused party, in lower case with underscores: codes of RFC 6749, and those of providers with others. */
const namesOf: Record<'client' | 'passing' | 'grant', readonly string[]> = {
  client: [
    ...['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'invalid_dpop_proof', 'use_dpop_nonce'],
    // Strava names the member of the request; GitHub, Slack and Twitch have their own texts.
    ...['client_id', 'client_secret', 'invalid_client_id', 'invalid_client_secret', 'bad_client_secret'],
    'incorrect_client_credentials',
  ],
  passing: [
    ...['server_error', 'temporarily_unavailable', 'slow_down', 'rate_limited', 'ratelimited', 'too_many_requests'],
    ...['internal_error', 'internal_server_error', 'fatal_error', 'service_unavailable', 'request_timeout'],
    // Rate limits with status 400 or 403, as at Google.
    ...['rate_limit_exceeded', 'ratelimitexceeded', 'userratelimitexceeded', 'quotaexceeded', 'quota_exceeded'],
  ],
  grant: ['invalid_grant'],
};

/** All texts in a document, however deep. Not recursive, because the sender controls the nesting depth. */
function wordsIn(document: unknown): ReadonlySet<string> {
  const words = new Set<string>();
  const waiting: unknown[] = [document];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node === 'string' && node.length <= 100) words.add(node.toLowerCase().replace(/[\s-]+/g, '_'));
    if (typeof node === 'object' && node !== null) for (const value of Object.values(node)) waiting.push(value);
  }
  return words;
}

function isError(document: unknown): boolean {
  const members = typeof document === 'object' && document !== null ? (document as JsonMembers) : {};
  return errorCodeIn(members, undefined) !== undefined && memberAt(members, 'access_token') === undefined;
}

type ParsedTokenResponse =
  | {
      readonly kind: 'tokens';
      readonly members: JsonMembers;
      /** The whole response. */
      readonly all: JsonMembers;
    }
  /** The error code; empty if the response has none. */
  | { readonly kind: 'error'; readonly code: string };

/**
 * Parses a token response as configured, and moves its members to their standard names. Returns undefined if the format is
 * invalid. Repairs nothing except the differences that a configuration can name.
 *
 * @internal exported for tests
 */
export function parseTokenResponse(
  p: { readonly status: number; readonly contentType: string | null; readonly body: string },
  config: TokenResponseConfig | undefined,
  document: object | undefined = jsonDocument(p.body),
): ParsedTokenResponse | undefined {
  const { format, success } = config ?? standardAnswers;
  const members = membersOf({ ...p, document }, format);
  const code = members && errorCodeIn(members, config);
  if (p.status >= 400) return code === undefined ? undefined : { kind: 'error', code };
  if (members === undefined) return undefined;
  // RFC 6749 has no errors with status 200, so a response with an error code contradicts itself.
  if (config === undefined && code !== undefined) return undefined;

  const failed = success !== undefined && memberAt(members, success.member) !== success.equals;
  if (failed || code !== undefined) return { kind: 'error', code: code ?? '' };
  return { kind: 'tokens', members: standardMembers(members, config ?? standardAnswers), all: members };
}

function membersOf(
  { body, contentType, document }: { body: string; contentType: string | null; document: object | undefined },
  format: TokenResponseConfig['format'],
): JsonMembers | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  const isForm = format === 'form' || (format === 'auto' && type === 'application/x-www-form-urlencoded');
  // Some servers call their JSON a form.
  const json = format === 'form' ? undefined : membersIn(document);
  return json ?? (isForm ? formMembers(body) : undefined);
}

function formMembers(body: string): JsonMembers | undefined {
  const entries = [...new URLSearchParams(body)];
  const names = new Set(entries.map(([name]) => name));
  return names.size === entries.length ? Object.fromEntries(entries) : undefined;
}

function errorCodeIn(members: JsonMembers, config: TokenResponseConfig | undefined): string | undefined {
  for (const path of [config?.errorMember ?? 'error', 'error']) {
    const code = memberAt(members, path);
    if (typeof code === 'string' && code !== '') return code;
  }
  return undefined;
}

function standardMembers(members: JsonMembers, config: TokenResponseConfig): JsonMembers {
  const at = (path: string | undefined, name: string) => memberAt(members, path ?? name);
  const { members: paths, tokenType } = config;
  return {
    access_token: at(paths.accessToken, 'access_token'),
    token_type: tokenType ?? at(paths.tokenType, 'token_type'),
    expires_in: at(paths.expiresIn, 'expires_in'),
    refresh_token: at(paths.refreshToken, 'refresh_token'),
    id_token: at(paths.idToken, 'id_token'),
    scope: at(paths.scope, 'scope'),
  };
}

/** Longer than any header. Limits tokens, which are stored for months. */
const maxTokenLength = 65_536;

const tokenSchema = z
  .string()
  .min(1)
  .max(maxTokenLength)
  .regex(/^[\x20-\x7e]+$/);

export type TokenType = 'bearer' | 'dpop';

const scopeSchema = z
  .union([
    z.string(),
    z.array(z.string().nullable()).transform(scopes => scopes.filter(scope => scope !== null).join(' ')),
  ])
  .pipe(z.string().max(4096));
const isReadable = (scopes: string) => scopes.split(/[\s,]+/).some(scope => scopeTokenSchema.safeParse(scope).success);

const tokenMembers = {
  access_token: tokenSchema,
  token_type: z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.enum(['bearer', 'dpop']))
    .default('bearer'),
  // A hint, which must not cost a grant. Zero, a negative and a very long lifetime mean that the token does not expire.
  expires_in: z.int().min(1).max(maxLifetimeSeconds).optional().catch(undefined),
  refresh_token: tokenSchema.optional(),
};

/** RFC 6749 section 5.1. */
const tokenResponseSchema = foreignDocument({
  ...tokenMembers,
  id_token: tokenSchema.optional(),
  scope: scopeSchema.optional().meta(emptyCounts),
});

/**
 * RFC 6749 section 6. The refresh token that was sent may be spent, so nothing that a refresh does without costs the new one: no ID
 * token, and a scope that cannot be read, or names none, is one that has not changed.
 */
const refreshResponseSchema = foreignDocument({
  ...tokenMembers,
  scope: scopeSchema.refine(isReadable).optional().catch(undefined),
});

type TokenResponse = z.output<typeof tokenResponseSchema>;

/**
 * Validates a token response. The token type must match the request: a bearer token after a DPoP proof could be
 * replayed by anyone who sees it (RFC 9449 section 5), and an unrequested DPoP token is unusable.
 *
 * @throws {AuthorizationError} `invalid_token_response`, without any content of the response.
 * @internal exported for tests
 */
export function validateTokenResponse(
  members: JsonMembers,
  expected: TokenType,
  { lifetimeSeconds, isRefresh }: Partial<Pick<TokenResponseConfig, 'lifetimeSeconds'>> & { isRefresh?: boolean } = {},
): TokenResponse {
  const schema = isRefresh === true ? refreshResponseSchema : tokenResponseSchema;
  const response = schema.safeParse(members);
  if (!response.success || response.data.token_type !== expected)
    throw new AuthorizationError('invalid_token_response');
  return { ...response.data, expires_in: response.data.expires_in ?? lifetimeSeconds };
}

const maxIdTokenAgeSeconds = 600;
/** Maximum time by which the clock of an authorization server may be ahead of ours. */
export const clockToleranceSeconds = 30;

/** Rejects an ID token that was not issued for this token request (OpenID Connect Core 3.1.3.7 item 10). */
function assertRecent(claims: client.IDToken, now: number): void {
  const age = now / 1000 - claims.iat;
  if (age > maxIdTokenAgeSeconds || age < -clockToleranceSeconds)
    throw new AuthorizationError('invalid_id_token', { claim: 'iat' });
}
