export {
  type ApprovedConfirmationTerms,
  type ApprovedPaymentTerms,
  type Receipt,
  type ReceiptKind,
  type ReceiptOf,
  type ReceiptTerms,
  termsDigest,
} from './receipt-claims.ts';
export { ReceiptError, type ReceiptErrorCode } from './receipt-error.ts';
export type { ReceiptExpectations } from './receipt-expectations.ts';
export { createReceiptVerifier, type ReceiptVerifier, type ReceiptVerifierOptions } from './receipt-verifier.ts';
