import { z } from 'zod/v4';
import { invalidOptions } from '../errors.ts';
import { parseStrictly } from '../parse-strictly.ts';
import type { Subject } from '../subject.ts';
import type { Receipt, ReceiptKind, ReceiptOf } from './receipt-claims.ts';
import { ReceiptError, type ReceiptErrorCode } from './receipt-error.ts';

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
export function checkExpectations<K extends ReceiptKind>(
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
