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
import { callable, invalidOptions, parseStrictly } from '../errors.ts';
import type { Subject } from '../gateway/client.ts';
import { boundedFetch, isConfidential } from '../safe-http.ts';
import { digestOf, type Receipt, type ReceiptKind, type ReceiptOf, receiptClaimsSchema } from './claims.ts';

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

/** Stable. Every code but `keys_unavailable` means: do not act on this receipt. */
export type ReceiptErrorCode =
  /** Not a compact JWS, or too long. */
  | 'malformed'
  /** A JWS, but of another type than a receipt. */
  | 'wrong_type'
  /** Not EdDSA. No other algorithm is accepted. */
  | 'wrong_algorithm'
  /** Signed with a key that the gateway does not publish. */
  | 'unknown_key'
  /** The keys could not be fetched, so the receipt is neither valid nor invalid. Retry later. */
  | 'keys_unavailable'
  | 'wrong_signature'
  /** Signed, but not a receipt that this version understands. */
  | 'invalid_claims'
  | 'wrong_issuer'
  /** For another MCP server. */
  | 'wrong_audience'
  /** The digest does not match the terms. */
  | 'digest_mismatch'
  // The codes below mean: authentic, but not the expected receipt.
  | 'wrong_kind'
  | 'wrong_elicitation'
  | 'wrong_subject'
  | 'wrong_digest'
  | 'wrong_amount'
  | 'wrong_payee'
  | 'wrong_reference'
  | 'wrong_processor'
  /** Paid in the test mode of the processor: no money has moved. `allowTestPayments` accepts it. */
  | 'test_payment'
  /** Approved with a weaker method than expected. */
  | 'weak_approval'
  /** Approved too long ago, or in the future. */
  | 'wrong_time';

/** The receipt must not be used. The error contains nothing from it, and at most the option that it was compared with. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError';
  readonly code: ReceiptErrorCode;

  constructor(code: ReceiptErrorCode, { hint, ...options }: ErrorOptions & { readonly hint?: string } = {}) {
    super(`The receipt was not accepted (${code}).${hint === undefined ? '' : ` ${hint}`}`, options);
    this.code = code;
  }
}

/** The caller's expectations of a receipt. Absent members are not compared. A member that is `undefined` is an error. */
export interface ReceiptExpectations<K extends ReceiptKind = ReceiptKind> {
  readonly kind?: K;
  readonly elicitationId?: string;
  /** The user who must have approved. */
  readonly subject?: Subject;
  /** `termsDigest` of the expected terms; compares all of them. */
  readonly digest?: string;
  /** The next four apply to payments only. */
  readonly amount?: { readonly currency: string; readonly minorUnits: number };
  /** The name of the payee. */
  readonly payee?: string;
  readonly reference?: string;
  /** `none`: approved only, nothing was paid. */
  readonly processor?: string;
  /** `passkey` is stronger than `button`. */
  readonly minimumMethod?: Receipt['approval']['method'];
  /** Maximum age of the approval in milliseconds. */
  readonly maxAgeMs?: number;
}

/** Tolerated difference between the clocks of the gateway and of this machine. */
const CLOCK_TOLERANCE_MS = 60_000;

const text = z.string().optional();
const expectationsSchema = z.strictObject({
  kind: z.enum(['payment', 'confirmation']).optional(),
  elicitationId: text,
  subject: z.strictObject({ issuer: z.string(), subject: z.string() }).optional(),
  digest: text,
  amount: z.strictObject({ currency: z.string(), minorUnits: z.number() }).optional(),
  payee: text,
  reference: text,
  processor: text,
  minimumMethod: z.enum(['button', 'passkey']).optional(),
  maxAgeMs: z.union([z.number(), z.nan()]).optional(),
});

/**
 * @throws {ReceiptError}
 * @throws {PosternUsageError} `invalid_options`: a misspelled expectation, or one whose value was not found, would be no expectation
 */
function checkExpectations<K extends ReceiptKind>(
  receipt: Receipt,
  expected: ReceiptExpectations<K>,
  now: number,
): ReceiptOf<K> {
  parseStrictly('invalid_options', 'verify', expectationsSchema, expected);
  const missing = Object.entries(expected).find(([, value]) => value === undefined)?.[0];
  if (missing !== undefined) throw invalidOptions(`verify: ${missing} is undefined; leave it out to compare nothing.`);
  const { elicitationId, subject, digest, minimumMethod, maxAgeMs } = expected;
  if (!isOfExpectedKind(receipt, expected)) throw new ReceiptError('wrong_kind');
  expectSame('wrong_elicitation', elicitationId, receipt.jti);
  expectSame('wrong_subject', subject?.issuer, receipt.sub_id.iss);
  expectSame('wrong_subject', subject?.subject, receipt.sub_id.sub);
  expectSame('wrong_digest', digest, receipt.digest);
  checkPayment(receipt, expected);
  if (minimumMethod === 'passkey' && receipt.approval.method !== 'passkey') throw new ReceiptError('weak_approval');
  if (maxAgeMs !== undefined) {
    const ageMs = now - Date.parse(receipt.approval.at);
    if (!(ageMs <= maxAgeMs && ageMs >= -CLOCK_TOLERANCE_MS)) throw new ReceiptError('wrong_time');
  }
  return receipt;
}

function isOfExpectedKind<K extends ReceiptKind>(
  receipt: Receipt,
  { kind }: ReceiptExpectations<K>,
): receipt is ReceiptOf<K> {
  return kind === undefined || receipt.kind === kind;
}

function checkPayment(receipt: Receipt, { amount, payee, reference, processor }: ReceiptExpectations): void {
  const isAboutPayment = [amount, payee, reference, processor].some(value => value !== undefined);
  if (receipt.kind !== 'payment') {
    if (isAboutPayment) throw new ReceiptError('wrong_kind');
    return;
  }
  const { terms } = receipt;
  expectSame('wrong_amount', amount?.currency, terms.amount.currency);
  expectSame('wrong_amount', amount?.minorUnits, terms.amount.minorUnits);
  expectSame('wrong_payee', payee, terms.payee.name);
  expectSame('wrong_reference', reference, terms.reference);
  expectSame('wrong_processor', processor, receipt.processor);
}

function expectSame<T extends string | number>(code: ReceiptErrorCode, expected: T | undefined, actual: T): void {
  if (expected !== undefined && expected !== actual) throw new ReceiptError(code);
}
