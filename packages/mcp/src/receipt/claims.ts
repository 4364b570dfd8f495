/** The claims of a receipt, as docs/receipts.md describes them. */
import { createHash } from 'node:crypto';
import { ARGUMENT_LIMITS, canonicalJson, readJson } from '@postern/api';
import canonicalize from 'canonicalize';
import { z } from 'zod/v4';

const text = z.string();
/** In one language that is not named, or in several by language tag. */
const localText = z.union([text, z.record(text, text)]);
const amount = z.strictObject({ currency: z.string().regex(/^[A-Z]{3}$/), minorUnits: z.int() });

// Strict, unlike the other claims: an unknown member may change the meaning of the terms.
const paymentTerms = z.strictObject({
  payee: z.strictObject({ name: text }),
  amount,
  items: z.array(z.strictObject({ label: localText, quantity: z.int(), unitMinorUnits: z.int() })).optional(),
  reference: text,
});

const confirmationTerms = z.strictObject({
  title: localText,
  action: localText.optional(),
  facts: z.array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text'), label: localText, value: localText }),
      z.strictObject({ type: z.literal('number'), label: localText, value: z.number() }),
      z.strictObject({ type: z.literal('amount'), label: localText, value: amount }),
      z.strictObject({ type: z.literal('time'), label: localText, value: z.iso.datetime({ offset: true }) }),
      z.strictObject({ type: z.literal('host'), label: localText, value: text }),
    ]),
  ),
  argumentsDigest: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/)
    .optional(),
  binding: text.optional(),
  danger: z.enum(['normal', 'caution', 'destructive']),
});

const common = {
  iss: text,
  aud: text,
  jti: text,
  iat: z.int(),
  sub_id: z.object({ format: z.literal('iss_sub'), iss: text, sub: text }),
  digest: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  approval: z.object({
    method: z.enum(['button', 'passkey']),
    identity: z.enum(['login', 'external', 'loopback']),
    at: z.iso.datetime(),
    authTime: z.iso.datetime().optional(),
    passkeyAddedAt: z.iso.datetime().optional(),
    language: text.optional(),
  }),
};

export const receiptClaimsSchema = z.discriminatedUnion('kind', [
  z.object({
    ...common,
    kind: z.literal('payment'),
    terms: paymentTerms,
    processor: text,
    processorReference: text.optional(),
    mode: z.enum(['live', 'test']).optional(),
  }),
  z.object({ ...common, kind: z.literal('confirmation'), terms: confirmationTerms }),
]);

/** A verified receipt. */
export type Receipt = z.infer<typeof receiptClaimsSchema>;
export type ReceiptKind = Receipt['kind'];
export type ReceiptOf<K extends ReceiptKind> = Extract<Receipt, { kind: K }>;
export type ApprovedPaymentTerms = z.infer<typeof paymentTerms>;
export type ApprovedConfirmationTerms = z.infer<typeof confirmationTerms>;

/** Input of the digest. */
export type ReceiptTerms =
  | { readonly kind: 'payment'; readonly terms: ApprovedPaymentTerms }
  | { readonly kind: 'confirmation'; readonly terms: ApprovedConfirmationTerms };

/**
 * Returns the digest of a receipt for exactly these terms: SHA-256 (base64url) over the canonical JSON (RFC 8785) of `{"kind": …,
 * "terms": …}`. Absent optional members stay absent; `quantity`, `facts` and `danger` are always present.
 */
export function termsDigest({ kind, terms }: ReceiptTerms): string {
  return digestOf(kind, terms);
}

/**
 * Returns the `argumentsDigest` of a receipt for these arguments, the text of a JSON object: SHA-256 (base64url) of its canonical JSON, in
 * which numbers keep their text.
 * @throws JsonTextError for a text that `confirm` refuses
 */
export function argumentsDigest(text: string): string {
  return createHash('sha256')
    .update(canonicalJson(readJson(text, ARGUMENT_LIMITS)))
    .digest('base64url');
}

/** Returns the terms of a confirmation as its receipt has them. */
export function signedTerms<T extends { readonly arguments?: string | undefined }>({ arguments: text, ...terms }: T) {
  return text === undefined ? terms : { ...terms, argumentsDigest: argumentsDigest(text) };
}

/** Digest of the signed terms. @throws Error for text that is not valid Unicode, which has no canonical form */
export function digestOf(kind: ReceiptKind, terms: unknown): string {
  const canonical = canonicalize({ kind, terms });
  if (canonical === undefined) throw new TypeError('An object has a canonical form.');
  return createHash('sha256').update(canonical).digest('base64url');
}
