import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { FlattenedEncrypt, type FlattenedJWE, flattenedDecrypt } from 'jose';
import { type ContentKeyLimits, createContentKeys } from './content-keys.ts';
import {
  type KeyEncryptionService,
  KeyServiceError,
  type KeyServiceOptions,
  keyServiceFaultOf,
} from './key-encryption-service.ts';
import { notAuthentic, unknownKey, VaultError } from './vault-error.ts';

/** A 256-bit key-encryption key. It exists only in the process and its configuration, never in the store. */
interface LocalKey {
  readonly kid: string;
  readonly key: Uint8Array;
}

/** A key-encryption key that a key service holds under the same name. */
interface ServiceKey {
  readonly kid: string;
  readonly service: KeyEncryptionService;
}

export type VaultKey = LocalKey | ServiceKey;

/** A key in the form that the vault uses. A local key cannot be printed. */
type RingKey = { readonly kid: string } & ({ readonly local: KeyObject } | { readonly service: KeyEncryptionService });

interface KeyRing {
  /** The key used for sealing. */
  readonly current: RingKey;
  /** The names of all keys, the current key first. */
  readonly kids: readonly string[];
  /** @throws VaultError `unknown_key`, naming the kid. */
  find(kid: string): RingKey;
}

const KEY_BYTES = 32;
/** Restricts names of keys, which appear in headers, logs and tables. */
const KID = /^[A-Za-z0-9._-]{1,64}$/;

/** Creates a key ring: the first key seals, all keys open. @throws VaultError `invalid_key_ring` */
export function createKeyRing(keys: readonly VaultKey[]): KeyRing {
  const byKid = new Map<string, RingKey>();
  for (const key of keys) {
    if (!KID.test(key.kid))
      throw new VaultError(
        'invalid_key_ring',
        'A key name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-".',
      );
    if (byKid.has(key.kid)) throw new VaultError('invalid_key_ring', `Two keys are named "${key.kid}".`);
    byKid.set(key.kid, ringKeyOf(key));
  }
  const [current] = byKid.values();
  if (current === undefined) throw new VaultError('invalid_key_ring', 'The key ring is empty.');
  return {
    current,
    kids: [...byKid.keys()],
    find(kid) {
      const key = byKid.get(kid);
      if (key === undefined) throw unknownKey(kid);
      return key;
    },
  };
}

function ringKeyOf(key: VaultKey): RingKey {
  if ('service' in key) return { kid: key.kid, service: key.service };
  if (key.key.byteLength !== KEY_BYTES)
    throw new VaultError('invalid_key_ring', `Key "${key.kid}" is not 256 bits long.`);
  return { kid: key.kid, local: createSecretKey(key.key) };
}

/**
 * The stored form of a sealed value: the five parts of a JWE (RFC 7516), `protected.encrypted_key.iv.ciphertext.tag`. The
 * reader supplies the AAD, which is not stored. The `alg` of the protected header says how the content key is protected:
 *
 * - `A256GCMKW`: wrapped with a local key (RFC 7518 section 4.7). The second part is that of the JWE.
 * - `dir`: wrapped by a key service. The second part is the output of the service. The other parts are a JWE with direct
 *   encryption (RFC 7518 section 4.5), whose second part would be empty.
 */
interface SealedValue {
  /** Not authenticated before the value is opened. */
  readonly header: { readonly alg: string; readonly kid: string };
  readonly protectedHeader: string;
  readonly encryptedKey: string;
  readonly iv: string;
  readonly ciphertext: string;
  readonly tag: string;
}

const SHAPE = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*){4}$/;

/** @throws VaultError `not_authentic` */
function parseSealed(sealed: string): SealedValue {
  if (!SHAPE.test(sealed)) throw notAuthentic();
  const parts = sealed.split('.') as [string, string, string, string, string];
  // Unused bits in the last character of a part would give one value several encodings.
  if (!parts.every(part => Buffer.from(part, 'base64url').toString('base64url') === part)) throw notAuthentic();
  const [protectedHeader, encryptedKey, iv, ciphertext, tag] = parts;
  return { header: headerOf(protectedHeader), protectedHeader, encryptedKey, iv, ciphertext, tag };
}

/**
 * Returns the name of the key in the header of a sealed value, without opening it.
 * @throws VaultError `not_authentic`
 */
export function kidOf(sealed: string): string {
  return parseSealed(sealed).header.kid;
}

function headerOf(protectedHeader: string): SealedValue['header'] {
  let header: unknown;
  try {
    header = JSON.parse(Buffer.from(protectedHeader, 'base64url').toString());
  } catch {
    throw notAuthentic();
  }
  if (typeof header !== 'object' || header === null || !('alg' in header) || !('kid' in header)) throw notAuthentic();
  const { alg, kid } = header;
  // An invalid name cannot name a lost key, and must not appear in messages and tables.
  if (typeof alg !== 'string' || typeof kid !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(kid)) throw notAuthentic();
  return { alg, kid };
}

/**
 * The context of a sealed value. It is authenticated with the ciphertext (AAD), so a value moved to another record, user,
 * MCP server, kind or purpose does not open. `purpose` separates values of different uses.
 */
export interface SealContext {
  readonly purpose: string;
  readonly [name: string]: string;
}

export interface Vault {
  /** The names of the keys that open, first the current key, which also seals. */
  readonly kids: readonly string[];
  /** @throws VaultError `key_service_unavailable` */
  seal(plaintext: string, context: SealContext): Promise<string>;
  /** @throws VaultError `unknown_key`, `not_authentic`, `key_service_unavailable` */
  open(sealed: string, context: SealContext): Promise<string>;
  /**
   * Re-wraps a value under the current key. Returns undefined, without opening the value, if it already is under that key. A key service
   * has opened what this returns.
   * @throws VaultError `unknown_key`, `not_authentic`, `key_service_unavailable`
   */
  reseal(sealed: string, context: SealContext): Promise<string | undefined>;
}

export interface VaultOptions {
  /** Timeout of one request to a key service, in milliseconds. Default 2000. */
  readonly keyServiceTimeoutMs?: number;
  /** Content keys that key services have unwrapped. Default: none is kept. */
  readonly contentKeys?: ContentKeyLimits;
  /** Monotonic time in milliseconds. Default `performance.now`. */
  readonly now?: () => number;
}

const LAYOUT = '1';

function additionalData(context: SealContext): Uint8Array {
  return new TextEncoder().encode(
    JSON.stringify([LAYOUT, Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1))]),
  );
}

/**
 * Creates a vault with envelope encryption. Each value has a fresh content key and a random IV, so no nonce is reused, and
 * the content key is wrapped with the ring's current key, here or by a key service. A256GCM inside, A256GCMKW outside
 * (RFC 7518 sections 4.7, 5.3).
 */
export function createVault(ring: KeyRing, options: VaultOptions = {}): Vault {
  const { keyServiceTimeoutMs: timeoutMs = 2_000, now = () => performance.now() } = options;
  const contentKeys = createContentKeys(options.contentKeys ?? { count: 0, ms: 0 }, now);

  async function encrypt(
    plaintext: string,
    aad: Uint8Array,
    algorithm: KeyAlgorithm,
    key: Parameters<FlattenedEncrypt['encrypt']>[0],
  ) {
    return new FlattenedEncrypt(new TextEncoder().encode(plaintext))
      .setProtectedHeader({ alg: algorithm, enc: 'A256GCM', kid: ring.current.kid })
      .setAdditionalAuthenticatedData(aad)
      .encrypt(key);
  }

  async function seal(plaintext: string, context: SealContext): Promise<string> {
    const { current } = ring;
    const aad = additionalData(context);
    if ('local' in current) {
      const jwe = await encrypt(plaintext, aad, 'A256GCMKW', current.local);
      return [jwe.protected, jwe.encrypted_key, jwe.iv, jwe.ciphertext, jwe.tag].join('.');
    }
    const contentKey = new Uint8Array(randomBytes(CONTENT_KEY_BYTES));
    const call = callOf(current, aad);
    const wrapped = await wrapByService(call, contentKey);
    contentKeys.put({ ...call, wrapped }, contentKey);
    const jwe = await encrypt(plaintext, aad, 'dir', contentKey);
    return [jwe.protected, Buffer.from(wrapped).toString('base64url'), jwe.iv, jwe.ciphertext, jwe.tag].join('.');
  }

  async function open(sealed: string, context: SealContext): Promise<string> {
    const { header, protectedHeader, encryptedKey, iv, ciphertext, tag } = parseSealed(sealed);
    const key = ring.find(header.kid);
    const aad = additionalData(context);
    const jwe = { protected: protectedHeader, iv, ciphertext, tag, aad: Buffer.from(aad).toString('base64url') };
    // The key ring decides how a key is used, never the header of the value: a local key is never a content key.
    const algorithm: KeyAlgorithm = 'local' in key ? 'A256GCMKW' : 'dir';
    if (header.alg !== algorithm) throw notAuthentic();
    const plaintext =
      'local' in key
        ? await decryptContent({ ...jwe, encrypted_key: encryptedKey }, key.local, algorithm)
        : await decryptUnwrapped(jwe, callOf(key, aad), wrappedIn(sealed));
    return new TextDecoder().decode(plaintext);
  }

  /** The context is part of the identity of a kept key, so a moved value finds none and the service refuses it. */
  async function decryptUnwrapped(
    jwe: FlattenedJWE,
    call: ReturnType<typeof callOf>,
    wrapped: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array> {
    const of = { ...call, wrapped };
    try {
      return await decryptContent(jwe, await contentKeys.get(of, () => unwrapByService(call, wrapped)), 'dir');
    } catch (error) {
      contentKeys.drop(of);
      throw error;
    }
  }

  const callOf = ({ kid, service }: Extract<RingKey, { service: unknown }>, aad: Uint8Array) => ({
    kid,
    service,
    context: createHash('sha256').update(aad).digest('base64url'),
    timeoutMs,
  });

  return {
    kids: ring.kids,
    seal,
    open,
    async reseal(sealed, context) {
      if (kidOf(sealed) === ring.current.kid) return undefined;
      const plaintext = await open(sealed, context);
      const next = await seal(plaintext, context);
      // The value replaces one that opens. A key service that wrapped the content key wrongly must not cost the secret.
      if ('service' in ring.current) {
        contentKeys.drop({ ...callOf(ring.current, additionalData(context)), wrapped: wrappedIn(next) });
        await open(next, context).catch((error: unknown) => {
          throw error instanceof VaultError && error.code === 'not_authentic' ? wrongResponse(ring.current.kid) : error;
        });
      }
      return next;
    },
  };
}

const wrappedIn = (sealed: string) => new Uint8Array(Buffer.from(parseSealed(sealed).encryptedKey, 'base64url'));

export type KeyAlgorithm = 'A256GCMKW' | 'dir';

/**
 * Opens a JWE under the one key algorithm that the caller expects, and A256GCM.
 * @throws VaultError `not_authentic` for every fault
 * @internal exported for tests
 */
export async function decryptContent(
  jwe: FlattenedJWE,
  key: KeyObject | Uint8Array,
  algorithm: KeyAlgorithm,
): Promise<Uint8Array> {
  try {
    const { plaintext } = await flattenedDecrypt(jwe, key, {
      keyManagementAlgorithms: [algorithm],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
    return plaintext;
  } catch {
    throw notAuthentic();
  }
}

const CONTENT_KEY_BYTES = 32;
/** Maximum size of a wrapped key. Common services return some hundred bytes. */
const MAX_WRAPPED_BYTES = 8_192;

interface ServiceCall {
  readonly kid: string;
  readonly service: KeyEncryptionService;
  readonly context: string;
  readonly timeoutMs: number;
}

const unavailable = (kid: string, { fault, message }: KeyServiceError) =>
  new VaultError('key_service_unavailable', `Key "${kid}": ${message}`, { kid, fault });
// The name may be wrong, or the key may come back from a backup, so its values are not lost.
const missing = (kid: string) => unavailable(kid, new KeyServiceError('key_unusable'));
/** The service responds, but not with what this key must give. */
const wrongResponse = (kid: string) => unavailable(kid, new KeyServiceError('unusable_response'));

/** @throws VaultError `key_service_unavailable` */
async function wrapByService(call: ServiceCall, contentKey: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const answer = await inTime(call, options => call.service.wrap(call.kid, contentKey, call.context, options));
  if (answer.result === 'unknown_key') throw missing(call.kid);
  const { byteLength } = answer.wrapped;
  if (byteLength === 0 || byteLength > MAX_WRAPPED_BYTES) throw wrongResponse(call.kid);
  return answer.wrapped;
}

/** @throws VaultError `not_authentic`, `key_service_unavailable` */
async function unwrapByService(call: ServiceCall, wrapped: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const answer = await inTime(call, options => call.service.unwrap(call.kid, wrapped, call.context, options));
  if (answer.result === 'unknown_key') throw missing(call.kid);
  if (answer.result === 'not_authentic') throw notAuthentic();
  if (answer.contentKey.byteLength !== CONTENT_KEY_BYTES) throw wrongResponse(call.kid);
  return answer.contentKey;
}

/** Enforces the timeout even if the service ignores the signal. */
async function inTime<T>(call: ServiceCall, ask: (options: KeyServiceOptions) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    controller.abort();
    reject(new KeyServiceError('timeout'));
  }, call.timeoutMs);
  try {
    return await Promise.race([ask({ signal: controller.signal }), timedOut]);
  } catch (error) {
    // Drop an error of the service's own: it may quote the request.
    throw unavailable(call.kid, new KeyServiceError(keyServiceFaultOf(error)));
  } finally {
    clearTimeout(timer);
  }
}
