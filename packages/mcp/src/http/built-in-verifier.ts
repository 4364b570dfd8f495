import { createRemoteJWKSet, customFetch, decodeJwt, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod/v4';
import { boundedFetch } from '../bounded-text.ts';
import type { Environment } from '../environment.ts';
import { invalidOptions } from '../errors.ts';
import { GateCheckError } from '../gate-check.ts';
import type { Reporter } from '../mistakes.ts';
import { jsonOf } from '../parse-strictly.ts';
import { isConfidential } from '../secure-url.ts';
import type { SubjectOption } from '../subject.ts';
import { type EndpointAuth, isInvalidToken, type VerifiedToken } from './bearer.ts';

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
  p: Pick<Environment, 'gateCheck' | 'fetch'> &
    Pick<Reporter, 'reportMistake'> & {
      readonly subject: SubjectOption<Context> | undefined;
    },
): () => Promise<EndpointAuth> {
  const members = given === true ? {} : given;
  const { resource, authorizationServers } = members;
  checkCombination(members, p.subject);
  const keysOf = issuerKeys(boundedFetch(p.fetch, MAX_DOCUMENT));
  const registered = kept(async () => {
    const { caller, faults } = await p.gateCheck.run();
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
      return void p.reportMistake(
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
function issuerKeys(fetchDocument: ReturnType<typeof boundedFetch>): (issuer: string) => Promise<JWTVerifyGetKey> {
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
