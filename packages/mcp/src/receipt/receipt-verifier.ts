import {
  type CryptoKey,
  compactVerify,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose';
import { z } from 'zod/v4';
import { boundedFetch } from '../bounded-text.ts';
import { invalidOptions } from '../errors.ts';
import { callable, parseStrictly } from '../parse-strictly.ts';
import { isConfidential } from '../secure-url.ts';
import { digestOf, type Receipt, type ReceiptKind, type ReceiptOf, receiptClaimsSchema } from './receipt-claims.ts';
import { ReceiptError } from './receipt-error.ts';
import { checkExpectations, type ReceiptExpectations } from './receipt-expectations.ts';

export interface ReceiptVerifierOptions {
  /** The gateway's public URL, exactly as in `iss`. */
  readonly issuer: string;
  /** The id of this MCP server at the gateway. */
  readonly mcpServerId: string;
  /**
   * The gateway's keys: a JWK set, for verification without a request, or the URL of one. Default:
   * `{issuer}/.well-known/jwks.json`.
   */
  readonly keys?: JSONWebKeySet | string;
  /** Timeout of the key request in milliseconds. Default 5,000. */
  readonly gatewayTimeoutMs?: number;
  /** Allow fetching keys over plain HTTP from hosts other than loopback. An attacker who alters the keys can forge receipts. Default false. */
  readonly allowHttp?: boolean;
  /** Accept payments that a processor took in its test mode, where no money moves. Never in production. Default false. */
  readonly allowTestPayments?: boolean;
  /** For tests and proxies. */
  readonly fetch?: typeof fetch;
  /** Epoch milliseconds; for tests. */
  readonly now?: () => number;
}

export interface ReceiptVerifier {
  /**
   * Verifies signature, issuer, audience, claims and digest, then the caller's expectations. A valid receipt proves an approval.
   * The caller must check its terms and its user, and that it is used only once.
   *
   * @throws {ReceiptError}
   * @throws {PosternUsageError} `invalid_options` for an unknown expectation
   */
  verify<K extends ReceiptKind>(
    receipt: string,
    expected: ReceiptExpectations<K> & { readonly kind: K },
  ): Promise<ReceiptOf<K>>;
  verify(receipt: string, expected?: ReceiptExpectations): Promise<Receipt>;
}

/** Far above the length of terms within the gateway's limits. */
const MAX_LENGTH = 262_144;

const headerSchema = z.object({
  alg: z.string(),
  typ: z.string().optional(),
  kid: z.string().optional(),
  /** RFC 7515 section 4.1.11: receipts use no critical extensions. */
  crit: z.never().optional(),
});

const optionsSchema = z.strictObject({
  issuer: z.string().min(1),
  mcpServerId: z.string().min(1),
  keys: z.union([z.string(), z.looseObject({ keys: z.array(z.unknown()) })]).optional(),
  gatewayTimeoutMs: z.int().min(1).optional(),
  allowHttp: z.boolean().optional(),
  allowTestPayments: z.boolean().optional(),
  fetch: callable.optional(),
  now: callable.optional(),
});

/** @throws {PosternUsageError} `invalid_options` */
export function createReceiptVerifier(options: ReceiptVerifierOptions): ReceiptVerifier {
  parseStrictly('invalid_options', 'createReceiptVerifier', optionsSchema, options);
  const { issuer, mcpServerId, allowTestPayments = false, now = Date.now } = options;
  const keys = keysOf(options);

  async function authenticate(receipt: string): Promise<unknown> {
    const header = headerOf(receipt);
    if (header.typ !== 'postern-receipt+jwt') throw new ReceiptError('wrong_type');
    if (header.alg !== 'EdDSA') throw new ReceiptError('wrong_algorithm');
    // The key is chosen by its id, so the id is required.
    if (header.kid === undefined) throw new ReceiptError('unknown_key');
    const key = await keys({ alg: header.alg, kid: header.kid }).catch((cause: unknown) => {
      const isUnknown = cause instanceof errors.JWKSNoMatchingKey || cause instanceof errors.JWKSMultipleMatchingKeys;
      throw new ReceiptError(isUnknown ? 'unknown_key' : 'keys_unavailable', { cause });
    });
    const { payload } = await compactVerify(receipt, key, { algorithms: ['EdDSA'] }).catch((cause: unknown) => {
      const isForged = cause instanceof errors.JWSSignatureVerificationFailed;
      throw new ReceiptError(isForged ? 'wrong_signature' : 'malformed');
    });
    return jsonOf(payload);
  }

  // Only compared members narrow the type.
  function verify<K extends ReceiptKind>(
    receipt: string,
    expected: ReceiptExpectations<K> & { readonly kind: K },
  ): Promise<ReceiptOf<K>>;
  function verify(receipt: string, expected?: ReceiptExpectations): Promise<Receipt>;
  async function verify(receipt: string, expected: ReceiptExpectations = {}): Promise<Receipt> {
    const verified = claimsOf(await authenticate(receipt));
    if (verified.iss !== issuer) throw new ReceiptError('wrong_issuer', hintOf({ issuer }, verified.iss));
    if (verified.aud !== mcpServerId) throw new ReceiptError('wrong_audience', hintOf({ mcpServerId }, verified.aud));
    if (verified.kind === 'payment' && verified.mode === 'test' && !allowTestPayments)
      throw new ReceiptError('test_payment');
    return checkExpectations(verified, expected, now());
  }
  return { verify };
}

/** Names the option, and whether a slash is all that differs. */
function hintOf(option: Readonly<Record<string, string>>, claimed: string): { readonly hint: string } {
  const [[name, value] = ['', '']] = Object.entries(option);
  const isNearly = value.replace(/\/$/, '') === claimed.replace(/\/$/, '');
  return {
    hint: `The option ${name} is "${value}"${isNearly ? '; the receipt differs in the slash at its end' : ''}.`,
  };
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

/** Keys of a URL are fetched at first use, and kept for ten minutes. @throws {PosternUsageError} `invalid_options` */
function keysOf({
  issuer,
  keys = `${issuer.replace(/(?<!\/)\/+$/, '')}/.well-known/jwks.json`,
  gatewayTimeoutMs = 5000,
  allowHttp = false,
  fetch: fetchKeys = fetch,
}: ReceiptVerifierOptions): (header: JWSHeaderParameters) => Promise<CryptoKey> {
  if (typeof keys === 'object') {
    if (!jwksSchema.safeParse(keys).success)
      throw invalidOptions('keys: a JWK set with public Ed25519 keys that have a kid is needed.');
    return createLocalJWKSet(keys);
  }
  const url = URL.parse(keys);
  if (url === null || url.username !== '' || url.password !== '' || !isConfidential(url, allowHttp))
    throw invalidOptions('keys: an https URL (or http on loopback) without a user is needed.');
  return createRemoteJWKSet(url, {
    timeoutDuration: gatewayTimeoutMs,
    cacheMaxAge: MAX_AGE_MS,
    cooldownDuration: COOLDOWN_MS,
    [customFetch]: boundedFetch(fetchKeys, MAX_KEY_SET),
  });
}

/** The header is not trusted: it only selects one of the gateway's published keys, or a reason to refuse. */
function headerOf(receipt: string): z.infer<typeof headerSchema> {
  if (typeof receipt !== 'string' || receipt.length > MAX_LENGTH) throw new ReceiptError('malformed');
  try {
    return headerSchema.parse(decodeProtectedHeader(receipt));
  } catch {
    throw new ReceiptError('malformed');
  }
}

function jsonOf(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch {
    // The error of JSON.parse quotes the text.
    throw new ReceiptError('invalid_claims');
  }
}

function claimsOf(payload: unknown): Receipt {
  const claims = receiptClaimsSchema.safeParse(payload);
  if (!claims.success) throw new ReceiptError('invalid_claims');
  if (recomputed(claims.data) !== claims.data.digest) throw new ReceiptError('digest_mismatch');
  return claims.data;
}

function recomputed({ kind, terms }: Receipt): string {
  try {
    return digestOf(kind, terms);
  } catch {
    throw new ReceiptError('invalid_claims');
  }
}
