import {
  type Approval,
  askDigest,
  type CompletedElicitation,
  type ConfirmationOutcome,
  type ConfirmationRequest,
  type ConfirmationTerms,
  type PaymentMode,
  type PaymentOutcome,
  type PaymentRequest,
  type PaymentTerms,
} from '@postern/elicitation';
import canonicalize from 'canonicalize';
import { CompactSign } from 'jose';
import { ReceiptError } from './receipt-error.ts';
import type { PublicReceiptJwk, ReceiptKeys } from './receipt-keys.ts';

/** `typ` of the JWS: no other signature of ours, or of anybody with a key of this kind, is taken for a receipt (RFC 8725 3.11). */
export const RECEIPT_TYPE = 'postern-receipt+jwt';

/** The claims of a receipt. A stable format: docs/receipts.md says what each means. */
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
  };
} & (
  | {
      readonly kind: 'payment';
      readonly terms: PaymentTerms;
      readonly processor: string;
      readonly processorReference?: string;
      readonly mode?: PaymentMode;
    }
  | { readonly kind: 'confirmation'; readonly terms: ConfirmationTerms }
);

export interface Receipts {
  /**
   * The receipt of an approval: a compact JWS (RFC 7515). There is no clock and no chance in it: the same record and the same key
   * give the same receipt, so a repeated redemption is answered alike by every replica.
   *
   * @throws ReceiptError `unsuitable_record`, `digest_mismatch`: a record that was not approved as it stands gets no receipt
   */
  sign(p: { readonly mcpServerId: string; readonly elicitation: CompletedElicitation }): Promise<string>;
  /** The keys that verify receipts, for `/.well-known/jwks.json`. */
  jwks(): { readonly keys: readonly PublicReceiptJwk[] };
}

/** @param issuer the gateway's public URL; stands in `iss` as it is */
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
  // What was signed is what was shown: the digest in the approval, the one made at issue, and that of the terms themselves.
  const digest = askDigest(request);
  if (request.digest !== digest || outcome.digest !== digest)
    throw new ReceiptError('digest_mismatch', `The approval of ${elicitationId} is not about its terms.`);
  const claims = {
    iss: p.issuer,
    aud: p.mcpServerId,
    jti: elicitationId,
    iat: Math.floor(outcome.approval.at / 1000),
    sub_id: { format: 'iss_sub', iss: subject.issuer, sub: subject.subject },
    digest,
    approval: approvalOf(outcome.approval),
  } as const;
  if (approved.kind === 'confirmation') return { ...claims, kind: 'confirmation', terms: approved.request.terms };
  const { processor, processorReference, mode } = approved.outcome;
  return {
    ...claims,
    kind: 'payment',
    terms: approved.request.terms,
    processor,
    ...(processorReference === undefined ? {} : { processorReference }),
    ...(mode === undefined ? {} : { mode }),
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

function approvalOf({ method, identity, at, authTime, passkeyAddedAt }: Approval): ReceiptClaims['approval'] {
  return {
    method,
    identity,
    at: new Date(at).toISOString(),
    ...(authTime === undefined ? {} : { authTime: new Date(authTime).toISOString() }),
    ...(passkeyAddedAt === undefined ? {} : { passkeyAddedAt: new Date(passkeyAddedAt).toISOString() }),
  };
}

const unsuitable = ({ elicitationId }: CompletedElicitation) =>
  new ReceiptError('unsuitable_record', `There is no receipt for ${elicitationId}.`);
