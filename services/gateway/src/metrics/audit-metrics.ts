import type { AuditRecord, AuditSink } from '../events.ts';
import { createBoundedLabel } from './bounded-label.ts';
import type { Instruments } from './instruments.ts';

/** Counts what is audited. Whatever has an audit event is counted here and nowhere else. */
export function createAuditMetrics(to: Instruments): AuditSink {
  const label = createBoundedLabel(160);
  /** Codes of others, who may think of new ones. */
  const foreign = createBoundedLabel(24);
  const failed = (value: unknown) => `failed_${label(value)}`;
  const seconds = (value: unknown) => (typeof value === 'number' && value >= 0 ? value / 1000 : 0);

  function ended(record: AuditRecord): void {
    const kind = label(record['kind']);
    // An approval that no processor takes is the end: `ended` says which.
    const outcome = label(record['ended']);
    to.ended.inc({ kind, outcome, reason: label(record['failure']) });
    to.decisionSeconds.observe({ kind, outcome }, seconds(record['afterMs']));
    if (typeof record['lateMs'] === 'number') to.expiryLagSeconds.observe(seconds(record['lateMs']));
  }

  const counted: Readonly<Record<string, (record: AuditRecord) => void>> = {
    'elicitation.returned': record =>
      to.returned.inc({ kind: label(record['kind']), trouble: label(record['trouble']) }),
    'elicitation.wrong_person': record => to.wrongPerson.inc({ kind: label(record['kind']) }),
    'elicitation.charged': () => to.charges.inc({ result: 'opened', code: 'none' }),
    'payment.refused': record => to.charges.inc({ result: 'refused', code: foreign(record['processorCode']) }),
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
