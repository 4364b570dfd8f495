import {
  type Audit,
  type AuditEvent,
  type Connection,
  digestOf,
  type Elicitation,
  type ElicitationOf,
  isTerminal,
  type LossReason,
  type Revocation,
  type Subject,
} from '@postern/elicitation';
import type { ProcessorErrorDetails } from '@postern/payment';
import type { VaultErrorCode } from '@postern/vault';
import type { Logger } from './logger.ts';
import type { Pseudonyms } from './pseudonyms.ts';
import { requestFields } from './request-context.ts';

/** An audit event as it is written down. */
export interface AuditRecord {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Gets every audit event beside the log, with what the log makes of it. Must neither throw nor wait. */
export type AuditSink = (record: AuditRecord, as: { readonly level: string; readonly text: string }) => void;

/** One helper per business event, so that what is written down is decided in one place. */
export function createEvents(logger: Logger, pseudonym: Pseudonyms, sinks: readonly AuditSink[] = []) {
  const audit = auditTrail(logger, sinks);
  const record: Audit = (event, of) => {
    const { type, elicitationId, mcpServerId, subject } = event;
    audit.info(
      {
        event: `elicitation.${type}`,
        elicitationId,
        mcpServerId,
        subject: pseudonym(subject),
        kind: of.request.kind,
        ...endOf(event, of),
        ...(event.type === 'failed' ? { failure: event.failure } : {}),
        ...(event.type === 'approved' ? { method: event.method } : {}),
        ...(event.type === 'returned' ? { trouble: event.trouble } : {}),
        ...(event.type === 'wrong_person' && event.visitor !== undefined ? { visitor: pseudonym(event.visitor) } : {}),
      },
      `elicitation ${type}`,
    );
  };
  const of = ({ connectionId, provider, subject, generation }: Connection) => ({
    connectionId,
    provider,
    subject: pseudonym(subject),
    generation,
  });
  const ofRevocation = ({ revocationId, provider, subject, attempts }: Revocation) => ({
    revocationId,
    provider,
    subject: pseudonym(subject),
    attempts,
  });
  return {
    elicitation: record,
    signedIn: (p: { subject: Subject; origin: string }) =>
      audit.info({ event: 'browser.signed_in', subject: pseudonym(p.subject), origin: p.origin }, 'signed in'),
    signInFailed: (p: { code: string }) =>
      audit.warn({ event: 'browser.sign_in_failed', code: p.code }, 'sign-in failed'),
    signedOut: (p: { subject: Subject }) =>
      audit.info({ event: 'browser.signed_out', subject: pseudonym(p.subject) }, 'signed out'),
    callbackRefused: (p: { reason: string; mcpServerId: string; provider: string; elicitationId?: string }) =>
      audit.warn({ event: 'callback.refused', ...p }, 'provider answer refused'),
    tokenRead: (p: { connectionId: string; mcpServerId: string; subject: Subject }) =>
      audit.info(
        {
          event: 'connection.token_read',
          connectionId: p.connectionId,
          mcpServerId: p.mcpServerId,
          subject: pseudonym(p.subject),
        },
        'access token read',
      ),
    tokensRefreshed: (connection: Connection, p: { tookMs: number }) =>
      audit.info({ event: 'connection.refreshed', ...of(connection), ...p }, 'tokens refreshed'),
    refreshPostponed: (connection: Connection, p: { code: string; delayMs: number; tookMs: number }) =>
      audit.warn({ event: 'connection.refresh_postponed', ...of(connection), ...p }, 'refresh failed, will try again'),
    connectionLost: (connection: Connection, reason: LossReason, p: { tookMs?: number } = {}) =>
      audit.warn({ event: 'connection.lost', ...of(connection), reason, ...p }, 'connection needs its person'),
    disconnected: (p: {
      connectionId: string;
      provider: string;
      subject: Subject;
      by: 'person' | { readonly mcpServerId: string };
    }) =>
      audit.info(
        {
          event: 'connection.disconnected',
          connectionId: p.connectionId,
          provider: p.provider,
          subject: pseudonym(p.subject),
          ...(p.by === 'person' ? { by: 'person' } : { by: 'mcp_server', mcpServerId: p.by.mcpServerId }),
        },
        'disconnected',
      ),
    revocationEnded: (revocation: Revocation, p: { outcome: string; reason?: string }) =>
      audit.info({ event: 'revocation.ended', ...ofRevocation(revocation), ...p }, 'revocation ended'),
    revocationPostponed: (revocation: Revocation, p: { reason: string; delayMs: number }) =>
      audit.warn(
        { event: 'revocation.postponed', ...ofRevocation(revocation), ...p },
        'revocation will be tried again',
      ),
    /** Stored and still to be told: the sweeper goes on with it. */
    revocationFailed: (revocationId: string, error: unknown) =>
      audit.warn({ event: 'revocation.failed', revocationId, error }, 'revocation could not be tried, will be'),
    /** Held by no connection, and not ended either: one of its person may rest on it, or it could not be written down to be ended. */
    grantLeft: (elicitation: ElicitationOf<'authorization'>, reason: 'in_use' | 'store_unavailable' | VaultErrorCode) =>
      audit.warn(
        {
          event: 'grant.left',
          elicitationId: elicitation.elicitationId,
          mcpServerId: elicitation.mcpServerId,
          provider: elicitation.request.provider,
          subject: pseudonym(elicitation.subject),
          reason,
        },
        'a grant is left alone',
      ),
    tokenRejected: (connection: Connection, mcpServerId: string) =>
      audit.info(
        { event: 'connection.token_rejected', ...of(connection), mcpServerId },
        'a token was reported as rejected',
      ),
    /** Money has moved, or will, for which no MCP server is told that it was paid. Somebody must pay it back. */
    refundNeeded: (
      elicitation: { readonly elicitationId: string; readonly mcpServerId?: string },
      p: { processor: string; processorReference: string; reason: string },
    ) =>
      audit.error(
        {
          event: 'payment.refund_needed',
          elicitationId: elicitation.elicitationId,
          ...(elicitation.mcpServerId === undefined ? {} : { mcpServerId: elicitation.mcpServerId }),
          ...p,
        },
        'a payment must be paid back',
      ),
    chargeRefused: ({ elicitationId, mcpServerId }: Elicitation, processor: string, details: ProcessorErrorDetails) =>
      audit.warn(
        { event: 'payment.refused', elicitationId, mcpServerId, processor, ...details },
        'the processor refused a payment',
      ),
    processorUnavailable: (
      { elicitationId, mcpServerId }: { readonly elicitationId: string; readonly mcpServerId?: string },
      processor: string,
      code: string,
      details: ProcessorErrorDetails = {},
    ) =>
      audit.warn(
        {
          event: 'payment.processor_unavailable',
          elicitationId,
          ...(mcpServerId === undefined ? {} : { mcpServerId }),
          processor,
          code,
          ...details,
        },
        'the processor gave no answer; retrying later',
      ),
    webhookRefused: (p: { processor: string; code: string }) =>
      audit.warn({ event: 'payment.webhook_refused', ...p }, 'a webhook was refused'),
    passkeyAdded: (p: { subject: Subject; passkeyId: string }) =>
      audit.info(
        { event: 'passkey.added', subject: pseudonym(p.subject), passkey: digestOf(p.passkeyId).slice(0, 16) },
        'passkey added',
      ),
    passkeyRemoved: (p: { subject: Subject; passkeyId: string }) =>
      audit.info(
        { event: 'passkey.removed', subject: pseudonym(p.subject), passkey: digestOf(p.passkeyId).slice(0, 16) },
        'passkey removed',
      ),
    passkeyRefused: ({ subject, ...p }: { subject: Subject; elicitationId?: string; code: string; reason?: string }) =>
      audit.warn({ event: 'passkey.refused', subject: pseudonym(subject), ...p }, 'passkey refused'),
    credentialChecked: ({ elicitationId, mcpServerId }: Elicitation, result: string) =>
      audit.info({ event: 'credential.checked', elicitationId, mcpServerId, result }, 'credential checked'),
    credentialRead: (p: { credentialId: string; mcpServerId: string; subject: Subject }) =>
      audit.info(
        {
          event: 'credential.read',
          credentialId: p.credentialId,
          mcpServerId: p.mcpServerId,
          subject: pseudonym(p.subject),
        },
        'credential read',
      ),
    credentialDeleted: (p: {
      credentialId: string;
      subject: Subject;
      by: 'person' | { readonly mcpServerId: string };
    }) =>
      audit.info(
        {
          event: 'credential.deleted',
          credentialId: p.credentialId,
          subject: pseudonym(p.subject),
          ...(p.by === 'person' ? { by: 'person' } : { by: 'mcp_server', mcpServerId: p.by.mcpServerId }),
        },
        'credential deleted',
      ),
    /** Registered by two replicas at once: one registration is left over, unless it could be deleted again. */
    unusedClient: (p: { issuer: string; clientId: string; deleted: boolean }) =>
      audit.warn({ event: 'client.unused', ...p }, 'a client registration is not used'),
    /** By `postern redis accept-loss`: this process serves again. */
    lossAccepted: (p: { deployment: string; shards: number }) =>
      audit.warn({ event: 'redis.loss_accepted', ...p }, 'an operator has accepted that Redis lost data'),
    /** Events that were acknowledged are gone, and with them what was committed in the same moments. */
    rolledBack: (p: { shards: number; backMs: number; first: readonly string[] }) =>
      audit.error({ event: 'redis.rolled_back', ...p }, 'Redis went back to an earlier state'),
    callerRefused: () => audit.warn({ event: 'caller.refused' }, 'credential refused'),
  };
}

/** The log, and whoever else wants to know. */
export function auditTrail(logger: Logger, sinks: readonly AuditSink[]) {
  const log = logger.child({ audit: true });
  const write = (level: 'info' | 'warn' | 'error') => (record: AuditRecord, text: string) => {
    log[level](record, text);
    for (const sink of sinks) sink({ ...requestFields(), ...record }, { level, text });
  };
  return { info: write('info'), warn: write('warn'), error: write('error') };
}

const ends: ReadonlySet<AuditEvent['type']> = new Set([
  'approved',
  'completed',
  'failed',
  'declined',
  'cancelled',
  'expired',
]);

/** How it ended, how long after it was issued, and how long after its time was over; nothing for what is no end. */
function endOf({ type }: AuditEvent, of: Elicitation) {
  // An approval is the end where no processor takes the payment.
  if (!ends.has(type) || !isTerminal(of)) return {};
  return {
    ended: of.status,
    afterMs: of.endedAt - of.createdAt,
    ...(type === 'expired' ? { lateMs: Math.max(0, of.endedAt - of.expiresAt) } : {}),
  };
}

export type Events = ReturnType<typeof createEvents>;
