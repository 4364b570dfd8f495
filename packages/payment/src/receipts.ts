import {
  type Approval,
  askDigest,
  type CompletedElicitation,
  type ConfirmationOutcome,
  type ConfirmationRequest,
  type PaymentMode,
  type PaymentOutcome,
  type PaymentRequest,
  type PaymentTerms,
  type SignedConfirmationTerms,
  signedTerms,
} from '@postern/elicitation';
import canonicalize from 'canonicalize';
import { CompactSign } from 'jose';
import type { PublicReceiptJwk, ReceiptKeys } from './receipt-keys.ts';
import { ReceiptError } from './receipt-keys.ts';

/** `typ` of the JWS. It keeps other signatures from being accepted as receipts (RFC 8725 section 3.11). */
const RECEIPT_TYPE = 'postern-receipt+jwt';

/** Claims of a receipt. The format is stable and described in docs/receipts.md. */
export type ReceiptClaims = {
  readonly iss: string;
  readonly aud: string;
  readonly jti: string;
  readonly iat: number;
  readonly sub_id: { readonly format: 'iss_sub'; readonly iss: string; readonly sub: string };
  readonly digest: string;
  readonly approval: {
    readonly method: Approval['method'];
    readonly identity: Approval['identity'];
    readonly at: string;
    readonly authTime?: string;
    readonly passkeyAddedAt?: string;
    readonly language?: string;
  };
} & (
  | {
      readonly kind: 'payment';
      readonly terms: PaymentTerms;
      readonly processor: string;
      readonly processorReference?: string;
      readonly mode?: PaymentMode;
    }
  | { readonly kind: 'confirmation'; readonly terms: SignedConfirmationTerms }
);

export interface Receipts {
  /**
   * Signs the receipt of an approval: a compact JWS (RFC 7515). It uses neither a clock nor randomness, so every replica returns the same
   * receipt for a repeated redemption.
   *
   * @throws ReceiptError `unsuitable_record`, `digest_mismatch`
   */
  sign(p: { readonly mcpServerId: string; readonly elicitation: CompletedElicitation }): Promise<string>;
  /** The keys that verify receipts, for `/.well-known/jwks.json`. */
  jwks(): { readonly keys: readonly PublicReceiptJwk[] };
}

/** @param issuer the gateway's public URL, used as `iss` */
export function createReceipts({ issuer, keys }: { readonly issuer: string; readonly keys: ReceiptKeys }): Receipts {
  const header = { alg: 'EdDSA', kid: keys.current.kid, typ: RECEIPT_TYPE } as const;
  return {
    async sign({ mcpServerId, elicitation }) {
      const payload = canonicalize(claimsOf({ issuer, mcpServerId, elicitation }));
      if (payload === undefined) throw unsuitable(elicitation);
      return await new CompactSign(new TextEncoder().encode(payload)).setProtectedHeader(header).sign(keys.current.key);
    },
    jwks: () => ({ keys: keys.published }),
  };
}

function claimsOf(p: { issuer: string; mcpServerId: string; elicitation: CompletedElicitation }): ReceiptClaims {
  const { elicitation } = p;
  const { elicitationId, subject } = elicitation;
  if (elicitation.mcpServerId !== p.mcpServerId) throw unsuitable(elicitation);
  const approved = approvedOf(elicitation);
  const { request, outcome } = approved;
  // The approved digest, the issued digest and the digest of the stored terms must be equal.
  const digest = askDigest(request);
  if (request.digest !== digest || outcome.digest !== digest)
    throw new ReceiptError('digest_mismatch', `The approval of ${elicitationId} does not match its terms.`);
  const claims = {
    iss: p.issuer,
    aud: p.mcpServerId,
    jti: elicitationId,
    iat: Math.floor(outcome.approval.at / 1000),
    sub_id: { format: 'iss_sub', iss: subject.issuer, sub: subject.subject },
    digest,
    approval: approvalOf(outcome.approval),
  } as const;
  if (approved.kind === 'confirmation')
    return { ...claims, kind: 'confirmation', terms: signedTerms(approved.request.terms) };
  const { processor, processorReference, mode } = approved.outcome;
  return {
    ...claims,
    kind: 'payment',
    terms: approved.request.terms,
    processor,
    processorReference,
    mode,
  };
}

type Approved =
  | { readonly kind: 'payment'; readonly request: PaymentRequest; readonly outcome: PaymentOutcome }
  | { readonly kind: 'confirmation'; readonly request: ConfirmationRequest; readonly outcome: ConfirmationOutcome };

/** @throws ReceiptError `unsuitable_record` */
function approvedOf(elicitation: CompletedElicitation): Approved {
  const { request, outcome } = elicitation;
  if (request.kind === 'payment' && outcome.kind === 'payment' && request.processor === outcome.processor)
    return { kind: 'payment', request, outcome };
  if (request.kind === 'confirmation' && outcome.kind === 'confirmation')
    return { kind: 'confirmation', request, outcome };
  throw unsuitable(elicitation);
}

function approvalOf({ method, identity, at, authTime, passkeyAddedAt, language }: Approval): ReceiptClaims['approval'] {
  return {
    method,
    identity,
    at: iso(at),
    authTime: authTime === undefined ? undefined : iso(authTime),
    passkeyAddedAt: passkeyAddedAt === undefined ? undefined : iso(passkeyAddedAt),
    language,
  };
}

const iso = (at: number) => new Date(at).toISOString();

const unsuitable = ({ elicitationId }: CompletedElicitation) =>
  new ReceiptError('unsuitable_record', `The elicitation ${elicitationId} has no receipt.`);
