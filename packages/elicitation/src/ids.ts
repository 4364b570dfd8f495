import { createHash, hash, randomBytes } from 'node:crypto';

/**
 * The person an elicitation is for: an issuer and the immutable identifier that issuer gave them. Never an e-mail
 * address or a display name, because those are reassigned (OpenID Connect Core 1.0 section 5.7).
 */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
}

/** Compares by exact string; issuers are not normalised (OpenID Connect Discovery 1.0 section 3, RFC 9207 section 2.4). */
export function isSameSubject(a: Subject, b: Subject): boolean {
  return a.issuer === b.issuer && a.subject === b.subject;
}

/**
 * A shard is the Redis hash tag of one user: two hex digits of a hash of the subject. Every id contains it, so an id alone leads
 * to the slot in which everything about that user commits together.
 */
export type Shard = string & { readonly __brand: 'Shard' };
export type ElicitationId = `el_${string}`;
export type ConnectionId = `cn_${string}`;
export type CredentialId = `cr_${string}`;
export type BrowserSessionId = `bs_${string}`;
/** The OAuth `state` parameter of one authorization transaction (RFC 6749 section 10.12). */
export type AuthorizationState = `st_${string}`;
/** Identifies one external verification; useless without the MCP server's API credential. */
export type VerificationId = `vf_${string}`;
/** Id of the pending revocation of one grant. */
export type RevocationId = `rv_${string}`;

export const SHARDS: readonly Shard[] = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0') as Shard);

/** Source of unguessable bytes; replaced in tests only. */
export type Entropy = (bytes: number) => Uint8Array;
export const systemEntropy: Entropy = bytes => randomBytes(bytes);

/** 256 random bits, base64url: above the 128 bits of ASVS 11.5.1. */
const SECRET_BYTES = 32;
const SHARDED = /^(el|cn|cr|bs|st|vf|rv)_([0-9a-f]{2})[A-Za-z0-9_-]{43}$/;

export function shardOf(subject: Subject): Shard {
  return hash('sha256', JSON.stringify([subject.issuer, subject.subject])).slice(0, 2) as Shard;
}

type Prefix = 'el' | 'bs' | 'st' | 'vf' | 'rv';

function newId<P extends Prefix>(prefix: P, shard: Shard, entropy: Entropy): `${P}_${string}` {
  return `${prefix}_${shard}${Buffer.from(entropy(SECRET_BYTES)).toString('base64url')}`;
}

export const newElicitationId = (shard: Shard, entropy: Entropy): ElicitationId => newId('el', shard, entropy);
export const newBrowserSessionId = (shard: Shard, entropy: Entropy): BrowserSessionId => newId('bs', shard, entropy);
export const newAuthorizationState = (shard: Shard, entropy: Entropy): AuthorizationState =>
  newId('st', shard, entropy);
export const newVerificationId = (shard: Shard, entropy: Entropy): VerificationId => newId('vf', shard, entropy);
export const newRevocationId = (shard: Shard, entropy: Entropy): RevocationId => newId('rv', shard, entropy);

/** Returns an id for one attempt to change something; a repeat under the same id changes nothing. */
export function newOperationId(entropy: Entropy): string {
  return Buffer.from(entropy(16)).toString('base64url');
}

/**
 * One subject has at most one connection per owner, provider and resource, so its id is derived from them and needs no index. The
 * id grants nothing: every read also checks the owner.
 */
export function connectionIdOf(of: {
  owner: string;
  subject: Subject;
  provider: string;
  resource?: string | undefined;
}): ConnectionId {
  const { owner, subject, provider, resource = null } = of;
  const digest = hash(
    'sha256',
    JSON.stringify(['connection', owner, subject.issuer, subject.subject, provider, resource]),
    'base64url',
  );
  return `cn_${shardOf(of.subject)}${digest}`;
}

/** As for connections: one per owner, subject and name, so the id is derived from them. */
export function credentialIdOf(of: { owner: string; subject: Subject; name: string }): CredentialId {
  const { owner, subject, name } = of;
  const digest = hash(
    'sha256',
    JSON.stringify(['credential', owner, subject.issuer, subject.subject, name]),
    'base64url',
  );
  return `cr_${shardOf(subject)}${digest}`;
}

function parse<P extends string>(prefix: P, value: string): `${P}_${string}` | undefined {
  const match = SHARDED.exec(value);
  return match?.[1] === prefix ? (value as `${P}_${string}`) : undefined;
}

export const parseElicitationId = (value: string): ElicitationId | undefined => parse('el', value);
export const parseConnectionId = (value: string): ConnectionId | undefined => parse('cn', value);
export const parseCredentialId = (value: string): CredentialId | undefined => parse('cr', value);
export const parseBrowserSessionId = (value: string): BrowserSessionId | undefined => parse('bs', value);
export const parseAuthorizationState = (value: string): AuthorizationState | undefined => parse('st', value);
export const parseRevocationId = (value: string): RevocationId | undefined => parse('rv', value);
export const parseVerificationId = (value: string): VerificationId | undefined => parse('vf', value);

export function shardIn(
  id:
    | ElicitationId
    | ConnectionId
    | CredentialId
    | BrowserSessionId
    | AuthorizationState
    | VerificationId
    | RevocationId,
): Shard {
  return id.slice(3, 5) as Shard;
}

/** Stored instead of a bearer value, so that a dump of the store grants no access. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

const MATCH_ALPHABET = 'ACDEFGHJKLMNPQRTUVWXY34679';

/**
 * A short code such as `K7-4Q`, shown next to the URL and on the page, so that the user can see that they belong together (RFC
 * 10027). It is derived from the id and never stored. It is not a secret and proves nothing to the gateway.
 */
export function matchCodeOf(elicitationId: ElicitationId): string {
  const digest = createHash('sha256').update(`match code ${elicitationId}`).digest();
  const letter = (at: number) => MATCH_ALPHABET.charAt(digest.readUInt16BE(at * 2) % MATCH_ALPHABET.length);
  return `${letter(0)}${letter(1)}-${letter(2)}${letter(3)}`;
}

/** Shard of a record without a subject, distributed by its digest. */
export function shardOfDigest(digest: string): Shard {
  return createHash('sha256').update(digest).digest('hex').slice(0, 2) as Shard;
}
