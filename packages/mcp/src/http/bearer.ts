import { createRemoteJWKSet, customFetch, decodeJwt, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod/v4';
import { invalidOptions, jsonOf, parseStrictly } from '../errors.ts';
import { GateCheckError } from '../gateway/gate-check.ts';
import type { Reporter } from '../mistakes.ts';
import type { Environment } from '../run/run.ts';
import type { SubjectOption } from '../run/tool-call.ts';
import { type BoundedFetch, boundedFetch, isConfidential } from '../safe-http.ts';

/** A verified MCP access token, as both SDKs describe it. `extra` names the user: `iss` and `sub`. */
export interface VerifiedToken {
  token: string;
  /** The OAuth client, which is not the user. */
  clientId: string;
  scopes: string[];
  /** Epoch seconds. */
  expiresAt?: number;
  /** The audience (RFC 8707). */
  resource?: URL;
  extra?: Record<string, unknown>;
}

/** How the endpoint authenticates MCP clients (MCP, authorization; RFC 6750, RFC 9728). The gateway knows what is left out. */
export interface EndpointAuth {
  /** The public URL of this endpoint, which is the audience of its access tokens. Default: the URL registered at the gateway. */
  readonly resource: string;
  /** Issuers of the authorization servers where MCP clients get access tokens. Default: those that the gateway allows. */
  readonly authorizationServers: readonly string[];
  /**
   * Verifies signature, issuer, audience and expiry. Returns undefined for an invalid token, or throws an SDK's or jose's error for
   * it; any other error is an internal error. `extra.iss` and `extra.sub` name the user. Default: verifies JWT access tokens (RFC 9068)
   * of `authorizationServers` with their published keys, for `resource` or an audience registered at the gateway.
   */
  verifyToken(token: string): VerifiedToken | undefined | Promise<VerifiedToken | undefined>;
  /** Scopes that every token needs. Default: none. */
  readonly scopes?: readonly string[];
}

export interface ResourceMetadata {
  readonly path: string;
  readonly url: string;
  readonly body: object;
}

/** `GET` of the protected resource metadata (RFC 9728), at the well-known path of `resource`. */
export function resourceMetadata(auth: EndpointAuth): ResourceMetadata {
  const { origin, pathname } = new URL(auth.resource);
  // RFC 9728, section 3.1: between host and path, without a slash at the end.
  const path = `/.well-known/oauth-protected-resource${pathname.replace(/\/$/, '')}`;
  const body = {
    resource: auth.resource,
    authorization_servers: auth.authorizationServers,
    scopes_supported: auth.scopes,
    bearer_methods_supported: ['header'],
  };
  return { path, url: `${origin}${path}`, body };
}

/**
 * Returns the verified token of the request, or the challenge.
 *
 * @throws the error of `verifyToken`, unless it says that the token is invalid
 */
export async function authenticate(
  request: Request,
  auth: EndpointAuth,
  metadataUrl: string,
): Promise<VerifiedToken | Response> {
  const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  const { scopes = [] } = auth;
  const scope: Record<string, string> = scopes.length === 0 ? {} : { scope: scopes.join(' ') };
  // RFC 6750, section 3.1: no error code if the request has no token.
  if (token === undefined) return challenge(401, { ...scope, resource_metadata: metadataUrl });
  const verified = await verify(auth, token);
  // The author's function: what it returns decides who the user is.
  if (verified !== undefined) parseStrictly('invalid_options', 'auth.verifyToken returned', verifiedSchema, verified);
  if (verified === undefined || !isFor(verified, auth)) {
    return challenge(401, { error: 'invalid_token', ...scope, resource_metadata: metadataUrl });
  }
  const hasScopes = scopes.every(needed => verified.scopes.includes(needed));
  return hasScopes
    ? verified
    : challenge(403, { error: 'insufficient_scope', ...scope, resource_metadata: metadataUrl });
}

/** Codes of jose for a token that is malformed, expired, or not for this endpoint. Others, such as unreachable keys, are internal errors. */
const INVALID_IN_JOSE =
  /^ERR_(?:JWT_|JWS_|JOSE_ALG_|JOSE_NOT_SUPPORTED$|JWKS_NO_MATCHING_KEY$|JWKS_MULTIPLE_MATCHING_KEYS$)/;

/** Whether the error of a verifier says that the token is invalid: `code` in jose and SDK v2, `errorCode` in SDK v1. */
function isInvalidToken(error: unknown): boolean {
  const { code, errorCode } = error as { code?: unknown; errorCode?: unknown };
  return code === 'invalid_token' || errorCode === 'invalid_token' || INVALID_IN_JOSE.test(String(code));
}

async function verify(auth: EndpointAuth, token: string): Promise<VerifiedToken | undefined> {
  try {
    return (await auth.verifyToken(token)) ?? undefined;
  } catch (error) {
    if (isInvalidToken(error)) return undefined;
    throw error;
  }
}

/** Year 5138 in seconds: a later time is in milliseconds. */
const MAX_SECONDS = 1e11;

const verifiedSchema = z.looseObject({
  token: z.string(),
  clientId: z.string(),
  scopes: z.array(z.string()),
  expiresAt: z.number().max(MAX_SECONDS, 'Must be in seconds').optional(),
  resource: z.instanceof(URL).optional(),
  extra: z.record(z.string(), z.unknown()).optional(),
});

/** Repeats what a verifier may forget, where the verifier reports it. */
function isFor({ expiresAt, resource }: VerifiedToken, auth: EndpointAuth): boolean {
  if (expiresAt !== undefined && expiresAt * 1000 <= Date.now()) return false;
  return resource === undefined || resource.href === new URL(auth.resource).href;
}

function challenge(status: number, parameters: Readonly<Record<string, string>>): Response {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  const error = parameters['error'] ?? 'unauthorized';
  return Response.json({ error }, { status, headers: { 'www-authenticate': `Bearer ${list.join(', ')}` } });
}

/** Seconds, as `Retry-After`, and until what has failed is tried again. */
export const RETRY_SECONDS = 5;
/** Minimum age at which a token of an unknown issuer makes the endpoint read the issuers again. */
const MIN_AGE_MS = 60_000;
/** Metadata and keys are fetched again at this age, so that a withdrawn key stops verifying. */
const MAX_KEYS_AGE_MS = 600_000;
/** Minimum interval between requests for unknown key ids, so that tokens with invented ids cause no flood of requests. */
const COOLDOWN_MS = 30_000;
const TIMEOUT_MS = 5_000;
/** Maximum length of metadata and of a key set in characters. */
const MAX_DOCUMENT = 256 * 1024;
const MAX_TOKEN = 16_384;

/** Asymmetric signatures only: HMAC would take a public key as secret. */
const algorithms = ['RS', 'PS', 'ES'].flatMap(family => [256, 384, 512].map(bits => `${family}${bits}`));
algorithms.push('EdDSA', 'Ed25519');

/** RFC 9068 requires `at+jwt`. Keycloak and Entra ID write `JWT`, others nothing. */
const TYPES: readonly string[] = ['at+jwt', 'application/at+jwt', 'jwt'];

const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string().min(1),
  exp: z.number(),
  client_id: z.string().optional(),
  azp: z.string().optional(),
  scope: z.string().optional(),
  scp: z.union([z.string(), z.array(z.string())]).optional(),
  // An ID token says who signed in at the client, and is no permission to call anything. `typ` is Keycloak's.
  nonce: z.never().optional(),
  typ: z
    .string()
    .refine(typ => typ !== 'ID')
    .optional(),
});

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Two texts of one issuer may differ in the slash of an empty path (RFC 3986, section 6.2.3). */
const rooted = (issuer: string): string => (/^https?:\/\/[^/?#\\]+$/.test(issuer) ? `${issuer}/` : issuer);

const isTrustworthy = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && isConfidential(url, false);
};

/**
 * Returns what `auth` says, with the rest from the registration at the gateway.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function completedAuth<Context>(
  given: true | Partial<EndpointAuth>,
  p: {
    readonly environment: Environment;
    readonly subject: SubjectOption<Context> | undefined;
    readonly reporter: Reporter;
  },
): () => Promise<EndpointAuth> {
  const members = given === true ? {} : given;
  const { resource, authorizationServers } = members;
  checkCombination(members, p.subject);
  const keysOf = issuerKeys(boundedFetch(p.environment.fetch, MAX_DOCUMENT));
  const registered = kept(async () => {
    const { caller, faults } = await p.environment.gateCheck.run();
    if (caller === undefined) throw new GateCheckError(faults);
    return caller;
  });

  async function known(maxAgeMs = Number.POSITIVE_INFINITY) {
    const isNamed = resource !== undefined && authorizationServers !== undefined;
    const { url, issuers, audience } = isNamed
      ? { url: resource, issuers: authorizationServers, audience: [] }
      : await registered(maxAgeMs);
    return {
      resource: resource ?? url,
      authorizationServers: authorizationServers ?? issuers,
      audience: resource === undefined ? [url, ...audience] : [resource],
    };
  }

  /** The text of the gateway, which its records have, for the issuer that the token names. */
  async function issuerOf(named: string, maxAgeMs?: number): Promise<string | undefined> {
    const { authorizationServers: issuers } = await known(maxAgeMs);
    return issuers.find(issuer => rooted(issuer) === rooted(named));
  }

  async function verifyToken(token: string): Promise<VerifiedToken | undefined> {
    const named = claimedIssuer(token);
    if (named === null)
      return void p.reporter.reportMistake(
        invalidOptions('auth: an access token has arrived that is no signed JWT; verify such tokens in `verifyToken`.'),
        'gate.endpoint',
      );
    if (named === undefined) return undefined;
    const issuer = (await issuerOf(named)) ?? (await issuerOf(named, MIN_AGE_MS).catch(() => undefined));
    if (issuer === undefined) return undefined;
    const keys = await keysOf(issuer);
    const { audience } = await known();
    const options = { algorithms, issuer: named, audience: [...audience], clockTolerance: 30 };
    const { payload, protectedHeader } = await jwtVerify(token, keys, options).catch((error: unknown) => {
      throw isInvalidToken(error) ? error : unavailable(issuer);
    });
    const claims = claimsSchema.safeParse(payload).data;
    if (claims === undefined || !TYPES.includes(String(protectedHeader.typ ?? 'jwt').toLowerCase())) return undefined;
    const { sub, exp, client_id, azp, scope, scp } = claims;
    const scopes = [scope ?? scp ?? ''].flat().flatMap(text => text.split(' ').filter(name => name !== ''));
    return { token, clientId: client_id ?? azp ?? '', scopes, expiresAt: exp, extra: { iss: issuer, sub } };
  }

  return async () => ({ verifyToken, ...members, ...(await known()) });
}

function checkCombination<Context>(members: Partial<EndpointAuth>, subject: SubjectOption<Context> | undefined): void {
  if ('verifyToken' in members) {
    if (members.verifyToken !== undefined) return;
    throw invalidOptions(
      'gate.endpoint: auth.verifyToken is undefined. Must be a function; leave it out for the default.',
    );
  }
  if (members.authorizationServers?.every(isTrustworthy) === false)
    throw invalidOptions('gate.endpoint: auth.authorizationServers: keys come over https, or http on loopback.');
  if (typeof subject === 'object')
    throw invalidOptions(
      'gate.endpoint: auth reads the user from each token, and the fixed `subject` of postern() is one user.',
    );
}

/** Undefined without an `iss`, null for anything but a signed JWT. It is not verified: it only selects one of the issuers. */
function claimedIssuer(token: string): string | undefined | null {
  try {
    return token.length > MAX_TOKEN ? undefined : decodeJwt(token).iss;
  } catch {
    return null;
  }
}

const unavailable = (issuer: string): GateCheckError =>
  new GateCheckError([
    {
      code: 'issuer_unavailable',
      message: `Cannot verify access tokens: no metadata of the issuer ${issuer} with its keys, over https, at either of its well-known paths.`,
    },
  ]);

/** Keys of an issuer, by its metadata (OpenID Connect Discovery, RFC 8414). Redirects are not followed. */
function issuerKeys(fetchDocument: BoundedFetch): (issuer: string) => Promise<JWTVerifyGetKey> {
  async function metadataAt(address: string) {
    const init = { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
    const response = await fetchDocument(address, init).catch(() => undefined);
    return response?.status === 200 ? metadataSchema.safeParse(jsonOf(await response.text())).data : undefined;
  }

  async function discover(issuer: string): Promise<JWTVerifyGetKey> {
    if (!isTrustworthy(issuer)) throw unavailable(issuer);
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, '');
    const forms = [`${path}/.well-known/openid-configuration`, `/.well-known/oauth-authorization-server${path}`];
    for (const form of forms) {
      const metadata = await metadataAt(origin + form);
      if (metadata === undefined || rooted(metadata.issuer) !== rooted(issuer) || !isTrustworthy(metadata.jwks_uri))
        continue;
      const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), {
        timeoutDuration: TIMEOUT_MS,
        cacheMaxAge: Number.POSITIVE_INFINITY,
        cooldownDuration: COOLDOWN_MS,
        [customFetch]: fetchDocument,
      });
      await keys.reload().catch(() => Promise.reject(unavailable(issuer)));
      return keys;
    }
    throw unavailable(issuer);
  }

  const known = new Map<string, (maxAgeMs: number) => Promise<JWTVerifyGetKey>>();
  return issuer => {
    const keys = known.get(issuer) ?? kept(() => discover(issuer));
    known.set(issuer, keys);
    return keys(MAX_KEYS_AGE_MS);
  };
}

/** Returns the last value while it is young enough. Requests share one read, and a failed one is repeated after a pause only. */
function kept<T>(read: () => Promise<T>): (maxAgeMs: number) => Promise<T> {
  let last: { readonly value: T; readonly at: number } | undefined;
  let attempt: { readonly value: Promise<T>; endedAt: number | undefined } | undefined;
  return maxAgeMs => {
    if (last !== undefined && Date.now() - last.at < maxAgeMs) return Promise.resolve(last.value);
    const isRecent = attempt?.endedAt === undefined || Date.now() - attempt.endedAt < RETRY_SECONDS * 1000;
    if (attempt !== undefined && isRecent) return attempt.value;
    const begun = { value: read(), endedAt: undefined as number | undefined };
    attempt = begun;
    begun.value
      .then(value => {
        last = { value, at: Date.now() };
      })
      .catch(() => undefined)
      .finally(() => {
        begun.endedAt = Date.now();
      });
    return begun.value;
  };
}
