import { Writable } from 'node:stream';
import { StoreUnavailableError } from '@postern/elicitation';
import { describe, expect, it } from 'vitest';
import { samplePseudonyms } from '../../testing/sample-config.ts';
import { createLogger } from '../logger.ts';
import { createAuditLog } from './audit-log.ts';
import { createAuditStream } from './audit-stream.ts';

function setUp(append: (line: string) => Promise<void>) {
  const chunks: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, next) {
      chunks.push(String(chunk));
      next();
    },
  });
  const logger = createLogger({ level: 'info', destination });
  let lost = 0;
  const stream = createAuditStream({
    ...{ audits: { append }, logger, now: () => Date.UTC(2026, 0, 2) },
    onLost: () => {
      lost += 1;
    },
  });
  const logged = () => chunks.join('').trimEnd().split('\n');
  return { stream, auditLog: createAuditLog(logger, samplePseudonyms, [stream.sink]), logged, lost: () => lost };
}
const untimed = (line: string | undefined) => ({ ...JSON.parse(line ?? '{}'), time: undefined });

describe('the audit stream', () => {
  it('contains the same lines as the log, with the same redacted errors', async () => {
    const lines: string[] = [];
    const { stream, auditLog, logged } = setUp(async line => void lines.push(line));
    auditLog.callbackRefused({ reason: 'a\r\n"b"\u001b[2J', mcpServerId: 'tracker', provider: 'forge' });
    auditLog.revocationFailed('rv_1', Object.assign(new Error('SECRET'), { code: 'ECONNRESET', body: 'SECRET' }));
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
    for (let n = 0; n < 5; n += 1) auditLog.callerRefused();
    await stream[Symbol.asyncDispose]();
    isAway = false;
    auditLog.callerRefused();
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
    for (let n = 0; n < 1_500; n += 1) auditLog.callerRefused();
    expect(appended).toBe(1_000);
    answer();
    await stream[Symbol.asyncDispose]();
    expect(logged().map(untimed)).toContainEqual(expect.objectContaining({ event: 'audit.lines_lost', lines: 500 }));
  });
});
