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
import type { VaultErrorCode } from '@postern/vault';
import { requestContext } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import { type AuditSink, auditTrail, createPageTrace } from './audit-trail.ts';
import { paymentAudit } from './payment-audit.ts';
import type { Pseudonyms } from './pseudonyms.ts';

/** Creates the audit log: one function per business event, so that one file decides which fields are logged. */
export function createAuditLog(logger: Logger, pseudonym: Pseudonyms, sinks: readonly AuditSink[] = []) {
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
        language: languageOf(event),
        ...(event.type === 'returned' ? { trouble: event.retryReason } : {}),
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
    pageFailed: createPageTrace(audit, logger),
    signedIn: (p: { subject: Subject; origin: string }) =>
      audit.info({ event: 'browser.signed_in', subject: pseudonym(p.subject), origin: p.origin }, 'signed in'),
    signInFailed: (p: { code: string }) =>
      audit.warn({ event: 'browser.sign_in_failed', code: p.code }, 'sign-in failed'),
    signedOut: (p: { subject: Subject }) =>
      audit.info({ event: 'browser.signed_out', subject: pseudonym(p.subject) }, 'signed out'),
    signedOutEverywhere: (p: { subject: Subject }) =>
      audit.info({ event: 'browser.signed_out_everywhere', subject: pseudonym(p.subject) }, 'signed out everywhere'),
    /** An identity provider ended a session, or all sessions of a user. */
    loggedOut: (p: { identityProvider: string; subject?: Subject | undefined; of: 'session' | 'user' }) =>
      audit.info(
        {
          event: 'browser.logged_out',
          identityProvider: p.identityProvider,
          of: p.of,
          ...(p.subject && { subject: pseudonym(p.subject) }),
        },
        'signed out by the identity provider',
      ),
    logoutRefused: (p: { identityProvider: string; code: string; claim?: string | undefined }) =>
      audit.warn({ event: 'browser.logout_refused', ...p }, 'logout refused'),
    exported: (p: { subject: Subject }) =>
      audit.info({ event: 'account.exported', subject: pseudonym(p.subject) }, 'data exported'),
    disconnectedAll: ({ subject, ...counts }: { subject: Subject; connections: number }) =>
      audit.info(
        { event: 'account.disconnected', subject: pseudonym(subject), ...counts },
        'all accounts disconnected',
      ),
    /** Each part has an event of its own as well, so that an interrupted deletion is visible. */
    erased: ({
      subject,
      ...counts
    }: {
      subject: Subject;
      declined: number;
      connections: number;
      credentials: number;
    }) => audit.info({ event: 'account.erased', subject: pseudonym(subject), ...counts }, 'data of a user deleted'),
    callbackRefused: (p: { reason: string; mcpServerId: string; provider: string; elicitationId?: string }) =>
      audit.warn({ event: 'callback.refused', ...p }, 'callback refused'),
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
      audit.warn({ event: 'connection.refresh_postponed', ...of(connection), ...p }, 'refresh failed; retrying'),
    /** At most once an hour for each provider, fault and process. Every grant is kept. */
    refreshesFail: (p: { provider: string; fault: 'operator' | 'provider'; code: string }) =>
      audit.error({ event: 'provider.refreshes_fail', ...p }, 'provider refuses refreshes; every grant is kept'),
    connectionLost: (connection: Connection, reason: LossReason, p: { tookMs?: number } = {}) =>
      audit.warn(
        { event: 'connection.lost', ...of(connection), reason, ...p },
        'connection lost; its user must reconnect',
      ),
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
    revocationEnded: (revocation: Revocation, p: { outcome: string; reason?: string; confirmed?: string }) =>
      audit.info({ event: 'revocation.ended', ...ofRevocation(revocation), ...p }, 'revocation ended'),
    revocationPostponed: (revocation: Revocation, p: { reason: string; confirmed?: string; delayMs: number }) =>
      audit.warn({ event: 'revocation.postponed', ...ofRevocation(revocation), ...p }, 'revocation failed; retrying'),
    /** The revocation is stored; the sweeper retries it. */
    revocationFailed: (revocationId: string, error: unknown) =>
      audit.warn({ event: 'revocation.failed', revocationId, error }, 'revocation not attempted; retrying'),
    /**
     * A grant without a connection that was not revoked: another connection of the user may depend on it, or its revocation was
     * not stored.
     */
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
        'grant not revoked',
      ),
    tokenRejected: (connection: Connection, mcpServerId: string) =>
      audit.info(
        { event: 'connection.token_rejected', ...of(connection), mcpServerId },
        'access token reported as rejected',
      ),
    ...paymentAudit(audit, pseudonym),
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
    passkeyRenamed: (p: { subject: Subject; passkeyId: string }) =>
      audit.info(
        { event: 'passkey.renamed', subject: pseudonym(p.subject), passkey: digestOf(p.passkeyId).slice(0, 16) },
        'passkey renamed',
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
    /** Two replicas registered concurrently: one registration is unused, and deleted if possible. */
    unusedClient: (p: { issuer: string; clientId: string; deleted: boolean }) =>
      audit.warn({ event: 'client.unused', ...p }, 'unused client registration'),
    /** After `postern redis accept-loss`: this process serves again. */
    lossAccepted: (p: { deployment: string; shards: number }) =>
      audit.warn({ event: 'redis.loss_accepted', ...p }, 'operator accepted the data loss of Redis'),
    /** Acknowledged events are lost, together with what was committed at the same time. */
    rolledBack: (p: { shards: number; backMs: number; first: readonly string[] }) =>
      audit.error({ event: 'redis.rolled_back', ...p }, 'Redis rolled back to an earlier state'),
    mcpServerMuted: (p: { mcpServerId: string; subject: Subject; muted: boolean; outcome?: 'unknown' }) =>
      audit.info(
        {
          event: p.muted ? 'mcp_server.muted' : 'mcp_server.unmuted',
          mcpServerId: p.mcpServerId,
          subject: pseudonym(p.subject),
          outcome: p.outcome,
        },
        p.muted ? 'MCP server muted by a user' : 'mute undone',
      ),
    mcpServerReported: (p: { mcpServerId: string; subject: Subject; reason: string }) =>
      audit.warn(
        {
          event: 'mcp_server.reported',
          mcpServerId: p.mcpServerId,
          subject: pseudonym(p.subject),
          reason: p.reason,
        },
        'MCP server reported by a user',
      ),
    callerRefused: () => audit.warn({ event: 'caller.refused' }, 'credential refused'),
  };
}

const decisions: ReadonlySet<AuditEvent['type']> = new Set(['accepted', 'approved', 'declined', 'completed']);

/** The language in which the user decided. An approval names that of its page; any other decision has that of its request. */
function languageOf(event: AuditEvent): string | undefined {
  if (!decisions.has(event.type)) return undefined;
  return (event.type === 'approved' ? event.language : undefined) ?? requestContext()?.language;
}

const ends: ReadonlySet<AuditEvent['type']> = new Set([
  'approved',
  'completed',
  'failed',
  'declined',
  'cancelled',
  'expired',
]);

/** Returns the final status, the time since issue, and for an expiry the delay after `expiresAt`. Empty for other events. */
function endOf({ type }: AuditEvent, of: Elicitation) {
  // Without a processor, the approval completes the elicitation.
  if (!ends.has(type) || !isTerminal(of)) return {};
  return {
    ended: of.status,
    afterMs: of.endedAt - of.createdAt,
    ...(type === 'expired' ? { lateMs: Math.max(0, of.endedAt - of.expiresAt) } : {}),
  };
}

export type AuditLog = ReturnType<typeof createAuditLog>;
