import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose';
import { z } from 'zod/v4';
import { boundedFetch } from '../bounded-text.ts';
import { invalidOptions } from '../errors.ts';
import { isConfidential } from '../secure-url.ts';
import { ReceiptError } from './receipt-error.ts';

/** Returns the key that a receipt names. @throws {ReceiptError} `unknown_key`, `keys_unavailable` */
export type ReceiptKeySource = (header: JWSHeaderParameters) => Promise<CryptoKey>;

export interface RemoteKeyOptions {
  readonly gatewayTimeoutMs: number;
  readonly allowHttp: boolean;
  readonly fetch: typeof fetch | undefined;
}

/** Keys are fetched again at this age, so that a withdrawn key stops verifying. */
const MAX_AGE_MS = 600_000;
/** Minimum interval between requests for unknown key ids, so that receipts with invented ids cause no flood of requests. */
const COOLDOWN_MS = 30_000;
/** Maximum length of a key set in characters. */
const MAX_KEY_SET = 256 * 1024;

const jwksSchema = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string(), d: z.never().optional(), k: z.never().optional() }))
    .refine(keys => keys.some(({ kty, crv, kid }) => kty === 'OKP' && crv === 'Ed25519' && typeof kid === 'string')),
});

/** Verifies without any request. @throws {PosternUsageError} `invalid_options` */
export function localReceiptKeys(jwks: JSONWebKeySet): ReceiptKeySource {
  if (!jwksSchema.safeParse(jwks).success)
    throw invalidOptions('keys: a JWK set with public Ed25519 keys that have a kid is needed.');
  return findIn(createLocalJWKSet(jwks));
}

/** Fetched at first use, and kept for ten minutes. @throws {PosternUsageError} `invalid_options` */
export function remoteReceiptKeys(address: string, options: RemoteKeyOptions): ReceiptKeySource {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '' || !isConfidential(url, options.allowHttp))
    throw invalidOptions('keys: an https URL (or http on loopback) without a user is needed.');
  return findIn(
    createRemoteJWKSet(url, {
      timeoutDuration: options.gatewayTimeoutMs,
      cacheMaxAge: MAX_AGE_MS,
      cooldownDuration: COOLDOWN_MS,
      [customFetch]: boundedFetch(options.fetch ?? fetch, MAX_KEY_SET),
    }),
  );
}

function findIn(keys: (header: JWSHeaderParameters) => Promise<CryptoKey>): ReceiptKeySource {
  return async header => {
    try {
      return await keys(header);
    } catch (cause) {
      const isUnknown = cause instanceof errors.JWKSNoMatchingKey || cause instanceof errors.JWKSMultipleMatchingKeys;
      throw new ReceiptError(isUnknown ? 'unknown_key' : 'keys_unavailable', { cause });
    }
  };
}
