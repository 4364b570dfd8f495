import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { samplePseudonyms } from '../../testing/sample-config.ts';
import { createLogger } from '../logger.ts';
import type { AuditRecord } from './audit-events.ts';
import { createAuditLog } from './audit-log.ts';

test('S210: error pages leave a bounded number of audit lines per minute, and each a line in the log', () => {
  const [lines, audited]: [string[], AuditRecord[]] = [[], []];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const logger = createLogger({ level: 'info', destination });
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
    expect(lines.filter(line => line.includes(`"requestId":"rq_${nth}"`))).toHaveLength(1);
  now = 59_999;
  flood(100);
  expect(audited).toHaveLength(30);
  now = 60_000;
  flood(200);
  expect(audited).toHaveLength(60);
});
