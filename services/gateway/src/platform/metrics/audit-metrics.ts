import type { AuditEventName } from '../audit/audit-events.ts';
import type { AuditRecord, AuditSink } from '../audit/audit-trail.ts';
import type { Instruments } from './instruments.ts';

/** Counts audit events. Everything that has an audit event is counted only here. */
export function createAuditMetrics(to: Instruments): AuditSink {
  const label = createBoundedLabel(160);
  /** Codes of third parties, which may invent new ones. */
  const foreign = createBoundedLabel(24);
  const failed = (value: unknown) => `failed_${label(value)}`;
  const seconds = (value: unknown) => (typeof value === 'number' && value >= 0 ? value / 1000 : 0);

  function ended(record: AuditRecord): void {
    const kind = label(record['kind']);
    // An approval without a processor completes the elicitation: `ended` has the status.
    const outcome = label(record['ended']);
    to.ended.inc({ kind, outcome, reason: label(record['failure']) });
    to.decisionSeconds.observe({ kind, outcome }, seconds(record['afterMs']));
    if (typeof record['lateMs'] === 'number') to.expiryLagSeconds.observe(seconds(record['lateMs']));
  }

  const counted: Readonly<Partial<Record<AuditEventName, (record: AuditRecord) => void>>> = {
    'elicitation.returned': record =>
      to.returned.inc({ kind: label(record['kind']), trouble: label(record['trouble']) }),
    'elicitation.wrong_person': record => to.wrongPerson.inc({ kind: label(record['kind']) }),
    'elicitation.charged': () => to.charges.inc({ result: 'opened', code: 'none' }),
    'payment.refused': record => to.charges.inc({ result: 'refused', code: foreign(record['processorCode']) }),
    'payment.not_closed': record => to.charges.inc({ result: 'not_closed', code: foreign(record['processorCode']) }),
    'payment.processor_unavailable': record => to.charges.inc({ result: 'unavailable', code: label(record['code']) }),
    'payment.refund_needed': record => to.refundsNeeded.inc({ reason: label(record['reason']) }),
    'payment.webhook_refused': record => to.processorWebhooksRefused.inc({ code: label(record['code']) }),
    'credential.checked': record => to.liveChecks.inc({ result: label(record['result']) }),
    'passkey.refused': record => to.passkeyRefusals.inc({ code: label(record['reason'] ?? record['code']) }),
    'connection.token_read': () => to.tokenReads.inc({ what: 'access_token' }),
    'credential.read': () => to.tokenReads.inc({ what: 'credential' }),
    'connection.refreshed': record =>
      to.refreshSeconds.observe({ result: 'refreshed', code: 'none' }, seconds(record['tookMs'])),
    'connection.refresh_postponed': record =>
      to.refreshSeconds.observe({ result: 'postponed', code: label(record['code']) }, seconds(record['tookMs'])),
    'provider.refreshes_fail': record => to.refreshAlarms.inc({ fault: label(record['fault']) }),
    'connection.lost': record => {
      to.connectionsEnded.inc({ by: 'provider', reason: label(record['reason']) });
      if (record['tookMs'] !== undefined)
        to.refreshSeconds.observe({ result: 'refused', code: 'none' }, seconds(record['tookMs']));
    },
    'connection.disconnected': record => to.connectionsEnded.inc({ by: label(record['by']), reason: 'none' }),
    'revocation.ended': record =>
      to.revocations.inc({ result: label(record['outcome']), reason: label(record['reason']) }),
    'revocation.postponed': record => to.revocations.inc({ result: 'postponed', reason: label(record['reason']) }),
    'revocation.failed': () => to.revocations.inc({ result: 'postponed', reason: 'store_unavailable' }),
    'grant.left': record => to.grantsLeft.inc({ reason: label(record['reason']) }),
    'browser.signed_in': () => to.signIns.inc({ result: 'signed_in' }),
    'browser.sign_in_failed': record => to.signIns.inc({ result: failed(record['code']) }),
    'callback.refused': record => to.callbacksRefused.inc({ reason: label(record['reason']) }),
    'webhook.dead': () => to.webhookTrouble.inc({ what: 'dead' }),
    'webhook.disabled': () => to.webhookTrouble.inc({ what: 'disabled' }),
    'webhook.gap': () => to.webhookTrouble.inc({ what: 'gap' }),
    'redis.rolled_back': () => to.redisRolledBack.inc(),
    'caller.refused': () => to.callersRefused.inc(),
  };

  return record => {
    if (record['ended'] !== undefined) ended(record);
    if (Object.hasOwn(counted, record.event)) counted[record.event]?.(record);
  };
}

const OTHER = 'other';

/**
 * Turns a value into a label value. Codes come from closed sets, but nothing enforces that, and a label with unbounded values costs
 * unbounded memory here and in Prometheus, and could leak personal data. Values that are not short codes, and new values beyond
 * `max`, become `other`. Undefined becomes `none`.
 * @internal
 */
export function createBoundedLabel(max: number): (value: unknown) => string {
  const known = new Set<string>();
  return value => {
    if (value === undefined) return 'none';
    if (typeof value !== 'string' || !/^[a-z][a-z0-9_]{0,39}$/.test(value)) return OTHER;
    if (known.has(value)) return value;
    if (known.size >= max) return OTHER;
    known.add(value);
    return value;
  };
}
