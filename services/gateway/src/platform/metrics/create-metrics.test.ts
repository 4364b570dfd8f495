import type { Connection, Elicitation, Revocation } from '@postern/elicitation';
import { Registry } from 'prom-client';
import { describe, expect, it, test, vi } from 'vitest';
import { samplePseudonyms } from '../../testing/sample-config.ts';
import type { AuditLog } from '../audit/audit-events.ts';
import { createAuditLog, elicitationAudit } from '../audit/audit-log.ts';
import { createLogger } from '../logger.ts';
import { createAuditMetrics, createBoundedLabel, createDeliveryGauge } from './create-metrics.ts';
import { createInstruments } from './instruments.ts';

const counts = { waiting: 3, underWay: 1, delayed: 20, dead: 2 };
const samplesOf = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter(line => line.startsWith('postern_webhook_deliveries{'));

it('reports queued webhooks, and nothing while they cannot be read', async () => {
  const registry = new Registry();
  const watch = createDeliveryGauge(registry);
  expect(await samplesOf(registry)).toEqual([]);
  watch(async () => [{ endpoint: 'tracker.ends', counts }]);
  expect(await samplesOf(registry)).toEqual([
    'postern_webhook_deliveries{endpoint="tracker.ends",state="waiting"} 3',
    'postern_webhook_deliveries{endpoint="tracker.ends",state="under_way"} 1',
    'postern_webhook_deliveries{endpoint="tracker.ends",state="delayed"} 20',
    'postern_webhook_deliveries{endpoint="tracker.ends",state="dead"} 2',
  ]);
  watch(() => Promise.reject(new Error('away')));
  expect(await samplesOf(registry)).toEqual([]);
});

it('a scrape does not wait for an unresponsive Redis', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const registry = new Registry();
  createDeliveryGauge(registry)(() => new Promise(() => undefined));
  const scraped = samplesOf(registry);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await scraped).toEqual([]);
  vi.useRealTimers();
});

const subject = { issuer: 'https://id.example', subject: 'alice' };
const about = { elicitationId: 'el_1', mcpServerId: 'tracker', subject } as const;
const payment: Elicitation = {
  version: 2,
  status: 'active',
  attempt: 'x',
  identityMode: 'login',
  ...about,
  request: { kind: 'authorization', provider: 'forge', scopes: [] },
  createdAt: 1_000,
  expiresAt: 61_000,
};
const held = { owner: 'tracker', subject, provider: 'forge', elicitationId: 'el_1', sealedTokens: 'sealed' } as const;
const connection: Connection = {
  connectionId: 'cn_1',
  ...held,
  scopes: [],
  refreshable: true,
  generation: 1,
  createdAt: 1_000,
  updatedAt: 1_000,
};
const revocation: Revocation = { revocationId: 'rv_1', ...held, createdAt: 1_000, attempts: 1 };

/** Returns all series of the gateway that are not zero after these audit events. */
async function measured(tell: (auditLog: AuditLog) => void): Promise<string[]> {
  const registry = new Registry();
  tell(
    createAuditLog(createLogger({ level: 'silent' }), samplePseudonyms, [
      createAuditMetrics(createInstruments(registry)),
    ]),
  );
  return (await registry.metrics())
    .split('\n')
    .filter(line => line.startsWith('postern_') && !line.includes('_bucket') && !line.endsWith(' 0'));
}

test('counts webhook problems that need the operator', async () => {
  const lines = await measured(auditLog => {
    auditLog.record('webhook.dead', { endpoint: 'tracker.main', eventId: 'ev_1', reason: 'timeout' });
    auditLog.record('webhook.gap', { endpoint: 'tracker.main' });
  });
  expect(lines).toEqual([
    'postern_webhook_trouble_total{what="dead"} 1',
    'postern_webhook_trouble_total{what="gap"} 1',
  ]);
});

describe('audit events are counted', () => {
  it.each<[string, (auditLog: AuditLog) => void, string[]]>([
    [
      'an expiry with its delay',
      auditLog =>
        elicitationAudit(auditLog)({ type: 'expired', ...about }, { ...payment, status: 'expired', endedAt: 63_500 }),
      [
        'postern_elicitations_ended_total{kind="authorization",outcome="expired",reason="none"} 1',
        'postern_elicitation_decision_seconds_sum{kind="authorization",outcome="expired"} 62.5',
        'postern_elicitation_decision_seconds_count{kind="authorization",outcome="expired"} 1',
        'postern_expiry_lag_seconds_sum 2.5',
        'postern_expiry_lag_seconds_count 1',
      ],
    ],
    [
      'a failure with its reason',
      auditLog =>
        elicitationAudit(auditLog)(
          { type: 'failed', failure: 'processor_refused', ...about },
          { ...payment, status: 'failed', failure: 'processor_refused', endedAt: 2_000 },
        ),
      [
        'postern_elicitations_ended_total{kind="authorization",outcome="failed",reason="processor_refused"} 1',
        'postern_elicitation_decision_seconds_sum{kind="authorization",outcome="failed"} 1',
        'postern_elicitation_decision_seconds_count{kind="authorization",outcome="failed"} 1',
      ],
    ],
    [
      'an approval with a processor does not count as an end',
      auditLog => elicitationAudit(auditLog)({ type: 'approved', method: 'button', ...about }, payment),
      [],
    ],
    [
      'an elicitation that returned to pending',
      auditLog => elicitationAudit(auditLog)({ type: 'returned', retryReason: 'provider_denied', ...about }, payment),
      ['postern_elicitations_returned_total{kind="authorization",trouble="provider_denied"} 1'],
    ],
    [
      'charges, and a payment that must be refunded',
      auditLog => {
        elicitationAudit(auditLog)({ type: 'charged', ...about }, payment);
        auditLog.record('payment.refused', { ...about, processor: 'stripe', processorCode: 'card_declined' });
        auditLog.record('payment.processor_unavailable', { processor: 'stripe', code: 'unavailable' });
        auditLog.record('payment.refund_needed', {
          ...about,
          processor: 'stripe',
          processorReference: 'pi_1',
          reason: 'mismatch',
        });
        auditLog.record('payment.webhook_refused', { processor: 'stripe', code: 'signature_invalid' });
      },
      [
        'postern_charges_total{result="opened",code="none"} 1',
        'postern_charges_total{result="refused",code="card_declined"} 1',
        'postern_charges_total{result="unavailable",code="unavailable"} 1',
        'postern_refunds_needed_total{reason="mismatch"} 1',
        'postern_processor_webhooks_refused_total{code="signature_invalid"} 1',
      ],
    ],
    [
      'refreshes with their duration',
      auditLog => {
        auditLog.record('connection.refreshed', { ...connection, tookMs: 500 });
        auditLog.record('connection.refresh_postponed', {
          ...connection,
          code: 'provider_unavailable',
          delayMs: 9,
          tookMs: 2_000,
        });
        auditLog.record('connection.lost', { ...connection, reason: 'refused', tookMs: 250 });
        auditLog.record('connection.lost', { ...connection, reason: 'rejected' });
        auditLog.record('provider.refreshes_fail', { provider: 'forge', fault: 'operator', code: 'invalid_client' });
        auditLog.record('connection.disconnected', { connectionId: 'cn_1', provider: 'forge', subject, by: 'person' });
      },
      [
        'postern_token_refresh_duration_seconds_sum{result="refreshed",code="none"} 0.5',
        'postern_token_refresh_duration_seconds_count{result="refreshed",code="none"} 1',
        'postern_token_refresh_duration_seconds_sum{result="postponed",code="provider_unavailable"} 2',
        'postern_token_refresh_duration_seconds_count{result="postponed",code="provider_unavailable"} 1',
        'postern_token_refresh_duration_seconds_sum{result="refused",code="none"} 0.25',
        'postern_token_refresh_duration_seconds_count{result="refused",code="none"} 1',
        'postern_refresh_alarms_total{fault="operator"} 1',
        'postern_connections_ended_total{by="provider",reason="refused"} 1',
        'postern_connections_ended_total{by="provider",reason="rejected"} 1',
        'postern_connections_ended_total{by="person",reason="none"} 1',
      ],
    ],
    [
      'revocations',
      auditLog => {
        auditLog.record('revocation.ended', { ...revocation, outcome: 'revoked' });
        auditLog.record('revocation.ended', { ...revocation, outcome: 'abandoned', reason: 'unknown_key' });
        auditLog.record('revocation.postponed', { ...revocation, reason: 'provider_unavailable', delayMs: 1 });
      },
      [
        'postern_revocations_total{result="revoked",reason="none"} 1',
        'postern_revocations_total{result="abandoned",reason="unknown_key"} 1',
        'postern_revocations_total{result="postponed",reason="provider_unavailable"} 1',
      ],
    ],
    [
      'credential checks and reads, and refused passkeys, sign-ins, callbacks and callers',
      auditLog => {
        auditLog.record('credential.checked', { ...payment, result: 'rejected' });
        auditLog.record('passkey.refused', { subject, elicitationId: 'el_1', code: 'invalid', reason: 'challenge' });
        auditLog.record('passkey.refused', { subject, elicitationId: 'el_1', code: 'unknown_passkey' });
        auditLog.record('browser.sign_in_failed', { code: 'Answer of <somebody> else' });
        auditLog.record('callback.refused', { reason: 'state_mismatch', mcpServerId: 'tracker', provider: 'forge' });
        auditLog.record('credential.read', { credentialId: 'cr_1', mcpServerId: 'tracker', subject });
        auditLog.record('caller.refused', {});
      },
      [
        'postern_callers_refused_total 1',
        'postern_token_reads_total{what="credential"} 1',
        'postern_sign_ins_total{result="failed_other"} 1',
        'postern_callbacks_refused_total{reason="state_mismatch"} 1',
        'postern_live_checks_total{result="rejected"} 1',
        'postern_passkey_refusals_total{code="challenge"} 1',
        'postern_passkey_refusals_total{code="unknown_passkey"} 1',
      ],
    ],
  ])('%s', async (_, tell, series) => {
    expect(await measured(tell)).toEqual(series);
  });
});

describe('a bounded label', () => {
  it('keeps short codes, and maps undefined to none', () => {
    const label = createBoundedLabel(3);
    expect(['provider_denied', 'expired', 'expired', undefined].map(label)).toEqual([
      'provider_denied',
      'expired',
      'expired',
      'none',
    ]);
  });

  it.each([
    'el_4fAbCdEfGhIjKlMnOpQrStUvWxYz0123456789',
    'alice@example.com',
    'https://forge.example/token',
    'forge.example',
    'two words',
    'x\n{y="z"} 1',
    `a${'b'.repeat(40)}`,
    '',
    7,
    null,
    { code: 'x' },
  ])('maps %j to other', value => {
    expect(createBoundedLabel(3)(value)).toBe('other');
  });

  it('maps new values beyond the maximum to other', () => {
    const label = createBoundedLabel(3);
    const values = Array.from({ length: 1000 }, (_, n) => label(`code_${n}`));
    expect(new Set(values)).toEqual(new Set(['code_0', 'code_1', 'code_2', 'other']));
    expect(label('code_1')).toBe('code_1');
  });
});
