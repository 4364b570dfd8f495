import { type AuditStreamName, StoreUnavailableError } from '@postern/elicitation';
import { describe, expect, it, test } from 'vitest';
import { recordLog } from '../../testing/record-log.ts';
import { samplePseudonyms } from '../../testing/sample-config.ts';
import type { AuditRecord } from './audit-events.ts';
import { createAuditLog, createAuditStream } from './audit-log.ts';

test('S210: error pages leave a bounded number of audit lines per minute, and each a line in the log', () => {
  const audited: AuditRecord[] = [];
  const { logger, lines } = recordLog();
  let now = 0;
  const auditLog = createAuditLog(logger, samplePseudonyms, [record => audited.push(record)], () => now);
  const flood = (from: number) => {
    for (let nth = from; nth < from + 100; nth += 1)
      auditLog.record('page.failed', { requestId: `rq_${nth}`, route: '/me', status: 403 });
  };
  flood(0);
  expect(audited).toHaveLength(30);
  expect(audited[0]).toEqual({ event: 'page.failed', requestId: 'rq_0', route: '/me', status: 403 });
  for (let nth = 0; nth < 100; nth += 1)
    expect(lines().filter(line => line['requestId'] === `rq_${nth}`)).toHaveLength(1);
  now = 59_999;
  flood(100);
  expect(audited).toHaveLength(30);
  now = 60_000;
  flood(200);
  expect(audited).toHaveLength(60);
});

const alice = { subject: { issuer: 'https://id.example', subject: 'alice' } };

function setUp(
  append: (line: string, stream: AuditStreamName) => Promise<void>,
  now = () => Date.UTC(2026, 0, 2),
  keepsPeople = true,
) {
  const { logger, text } = recordLog();
  let lost = 0;
  const stream = createAuditStream({
    audits: { append: (stream, line) => append(line, stream) },
    logger,
    now,
    keepsPeople,
    onLost: () => {
      lost += 1;
    },
  });
  const logged = () => text().trimEnd().split('\n');
  return { stream, auditLog: createAuditLog(logger, samplePseudonyms, [stream.sink]), logged, lost: () => lost };
}
const untimed = (line: string | undefined) => ({ ...JSON.parse(line ?? '{}'), time: undefined });

describe('the audit stream', () => {
  it('contains the same lines as the log, with the same redacted errors', async () => {
    const lines: string[] = [];
    const { stream, auditLog, logged } = setUp(async line => void lines.push(line));
    auditLog.record('callback.refused', { reason: 'a\r\n"b"\u001b[2J', mcpServerId: 'tracker', provider: 'forge' });
    const error = Object.assign(new Error('SECRET'), { code: 'ECONNRESET', body: 'SECRET' });
    auditLog.record('revocation.failed', { revocationId: 'rv_1', error });
    await stream[Symbol.asyncDispose]();
    expect(lines.map(untimed)).toEqual(logged().map(untimed));
    expect(lines.join('')).not.toContain('SECRET');
    expect(lines.join('')).not.toMatch(/[\r\n]/);
    expect(JSON.parse(lines[0] ?? '{}')).toMatchObject({ time: '2026-01-02T00:00:00.000Z', audit: true });
  });

  it('S79: drops lines while the store is unavailable, logs their number, and delays no caller', async () => {
    let isAway = true;
    const {
      stream,
      auditLog,
      logged,
      lost: counted,
    } = setUp(async () => {
      if (isAway) throw new StoreUnavailableError();
    });
    for (let n = 0; n < 5; n += 1) auditLog.record('account.exported', alice);
    await stream[Symbol.asyncDispose]();
    isAway = false;
    auditLog.record('account.exported', alice);
    await stream[Symbol.asyncDispose]();
    const lost = logged()
      .map(untimed)
      .filter(line => line.event === 'audit.lines_lost');
    expect(lost.reduce((sum, { lines }) => sum + lines, 0)).toBe(5);
    expect(counted()).toBe(5);
  });

  it('keeps at most 1,000 lines in memory', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let appended = 0;
    const { stream, auditLog, logged } = setUp(() => {
      appended += 1;
      return answered;
    });
    for (let n = 0; n < 1_500; n += 1) auditLog.record('account.exported', alice);
    expect(appended).toBe(1_000);
    answer();
    await stream[Symbol.asyncDispose]();
    expect(logged().map(untimed)).toContainEqual(expect.objectContaining({ event: 'audit.lines_lost', lines: 500 }));
  });

  it('S205: keeps what operators did apart, also while the lines of users take all places and while these are not kept', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    for (const keepsPeople of [true, false]) {
      const taken: AuditStreamName[] = [];
      const { stream, auditLog } = setUp(
        (_, of) => {
          taken.push(of);
          return answered;
        },
        undefined,
        keepsPeople,
      );
      for (let n = 0; n < 1_500; n += 1) auditLog.record('account.exported', alice);
      auditLog.record('console.signed_in', { operator: 'olga', role: 'viewer' });
      auditLog.record('console.refused', { operator: 'mallory' });
      expect(taken.filter(of => of === 'operators')).toHaveLength(1);
      expect(taken.filter(of => of === 'people')).toHaveLength(keepsPeople ? 1_000 : 0);
      answer();
      await stream[Symbol.asyncDispose]();
    }
  });

  it('S124: takes few lines that strangers cause, so that they push out no line of others, and says how many it left out', async () => {
    const lines: { event: string; leftOut?: number }[] = [];
    let now = Date.UTC(2026, 0, 2);
    const { stream, auditLog, logged } = setUp(
      async line => void lines.push(JSON.parse(line)),
      () => now,
    );
    for (let n = 0; n < 5_000; n += 1) {
      auditLog.record('caller.refused', {});
      auditLog.record('payment.webhook_refused', { processor: 'stripe', code: 'signature_invalid' });
      auditLog.record('browser.logout_refused', { identityProvider: 'example-id', code: 'invalid_logout_token' });
      auditLog.record('browser.sign_in_failed', { code: 'unknown_transaction' });
    }
    auditLog.record('account.exported', alice);
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toMatchObject({ event: 'account.exported' });
    expect(lines.at(-1)).not.toHaveProperty('leftOut');
    // A clock that is set back gives no place.
    now -= 3_600_000;
    auditLog.record('caller.refused', {});
    expect(lines).toHaveLength(101);
    now += 36_000;
    auditLog.record('caller.refused', {});
    expect(lines.at(-1)).toMatchObject({ event: 'caller.refused', leftOut: 19_901 });
    await stream[Symbol.asyncDispose]();
    expect(logged()).toHaveLength(20_003);
  });
});
