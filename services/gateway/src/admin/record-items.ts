import {
  type Connection,
  type Credential,
  type Dispute,
  type Elicitation,
  isTerminal,
  type Payment,
  providerAsked,
  type Refund,
  refundableOf,
  refundedOf,
} from '@postern/elicitation';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';

const iso = (at: number): string => new Date(at).toISOString();
const isoOf = (at: number | undefined) => (at === undefined ? undefined : iso(at));

/** An elicitation in a list: no message, no typed value, and its user under the pseudonym. */
export function elicitationItem(of: Elicitation, pseudonym: Pseudonyms) {
  return {
    elicitationId: of.elicitationId,
    kind: of.request.kind,
    status: of.status,
    mcpServerId: of.mcpServerId,
    subject: pseudonym(of.subject),
    createdAt: iso(of.createdAt),
    expiresAt: iso(of.expiresAt),
    provider: providerAsked(of.request),
    tool: of.requestedBy?.tool,
    endedAt: isTerminal(of) ? iso(of.endedAt) : undefined,
    failure: of.status === 'failed' ? of.failure : undefined,
    retryReason: of.status === 'pending' ? of.retryReason : undefined,
  };
}

function lastUseOf({ lastUse }: Pick<Connection, 'lastUse'>) {
  return lastUse === undefined ? undefined : { ...lastUse, at: iso(lastUse.at) };
}

/** A connection in a list: no token, no account name, and its user under the pseudonym. */
export function connectionItem(of: Connection, pseudonym: Pseudonyms) {
  return {
    connectionId: of.connectionId,
    /** An MCP server, or `group:` and the name of a group. */
    owner: of.owner,
    provider: of.provider,
    subject: pseudonym(of.subject),
    scopes: of.scopes,
    isRefreshable: of.refreshable,
    elicitationId: of.elicitationId,
    connectedAt: iso(of.createdAt),
    renewedAt: iso(of.updatedAt),
    resource: of.resource,
    accessTokenExpiresAt: isoOf(of.accessTokenExpiresAt),
    lost: of.lost && { reason: of.lost.reason, at: iso(of.lost.at) },
    lastUse: lastUseOf(of),
  };
}

/** A credential in a list: never a value. */
export function credentialItem(of: Credential, pseudonym: Pseudonyms) {
  return {
    credentialId: of.credentialId,
    owner: of.owner,
    name: of.name,
    fields: of.fields,
    subject: pseudonym(of.subject),
    elicitationId: of.elicitationId,
    firstSavedAt: iso(of.createdAt),
    savedAt: iso(of.updatedAt),
    lastUse: lastUseOf(of),
  };
}

/** Without the reason: MCP servers write names into it. */
export function refundItem({
  refundId,
  minorUnits,
  status,
  requestedBy,
  createdAt,
  processorReference,
  failure,
}: Refund) {
  return {
    refundId,
    minorUnits,
    status,
    requestedBy,
    createdAt: iso(createdAt),
    processorReference,
    failure,
  };
}

const disputeItem = ({ createdAt, ...dispute }: Dispute) => ({ ...dispute, createdAt: iso(createdAt) });

/** A payment that a processor has taken, with its refunds and disputes, and without its person. */
export function takenItem(of: Payment) {
  return {
    processor: of.processor,
    processorReference: of.processorReference,
    ...of.amount,
    mode: of.mode,
    payeeAccount: of.payeeAccount,
    paidAt: of.paidAt === 0 ? undefined : iso(of.paidAt),
    completesElicitation: of.completes,
    refundedMinorUnits: refundedOf(of),
    refundableMinorUnits: refundableOf(of),
    refunds: of.refunds.map(refundItem),
    disputes: of.disputes.map(disputeItem),
  };
}

/** A payment in a list, with what processors have taken for it. */
export function paymentItem(of: Elicitation, taken: readonly Payment[], pseudonym: Pseudonyms) {
  if (of.request.kind !== 'payment') return undefined;
  const { terms, processor } = of.request;
  const outcome = of.status === 'completed' && of.outcome.kind === 'payment' ? of.outcome : undefined;
  const charge = of.status === 'active' ? of.charge : undefined;
  return {
    ...elicitationItem(of, pseudonym),
    processor,
    payee: terms.payee.name,
    ...terms.amount,
    approvedAt: isoOf(outcome?.approval.at ?? (of.status === 'active' ? of.approval?.at : undefined)),
    processorReference: outcome?.processorReference ?? charge?.reference,
    mode: outcome?.mode ?? charge?.mode,
    payments: taken.map(takenItem),
  };
}
