import { readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { Registry } from 'prom-client';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { actsToLog, createAdminAudit, type OperatorAct } from '../../admin/admin-audit.ts';
import { samplePseudonyms } from '../../testing/sample-config.ts';
import { createLogger } from '../logger.ts';
import { createAuditMetrics } from '../metrics/create-metrics.ts';
import { createInstruments } from '../metrics/instruments.ts';
import { type AuditEventName, auditEvents } from './audit-events.ts';
import { createAuditLog, createAuditStream } from './audit-log.ts';

const members = z.record(z.string(), z.unknown());
/** What is recorded of each event, the stream and the line that come of it, and the metrics that it counts. */
const golden = z
  .record(
    z.string(),
    z.array(
      z.object({
        fields: members.optional(),
        act: members.optional(),
        stream: z.string().optional(),
        line: members,
        series: z.array(z.string()).default([]),
      }),
    ),
  )
  .parse(JSON.parse(await readFile(new URL('golden/audit-lines.json', import.meta.url), 'utf8')));
type Sample = NonNullable<(typeof golden)[string]>[number];

const thrown = Object.assign(new Error('SECRET'), {
  code: 'ECONNRESET',
  stack: 'Error: SECRET\n    at f (file.ts:1:1)',
});
const actor = { who: 'olga', door: 'console', reason: 'ticket 7' } as const;

/** Records a sample, and returns its lines in stream and log, as text without time and process. */
async function recorded(event: string, { fields, act, stream }: Sample) {
  const [logged, streamed]: [string[], string[]] = [[], []];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  });
  const logger = createLogger({ level: 'info', destination });
  const audits = { append: async (name: string, line: string) => void streamed.push(`${name} ${line}`) };
  const registry = new Registry();
  await using auditStream = createAuditStream({ audits, logger, now: () => 0, keepsPeople: true });
  const sinks = [auditStream.sink, createAuditMetrics(createInstruments(registry))];
  const auditLog = createAuditLog(logger, samplePseudonyms, stream === undefined ? [] : sinks);
  if (act === undefined)
    auditLog.record(
      event as AuditEventName,
      (event === 'revocation.failed' ? { ...fields, error: thrown } : fields) as never,
    );
  else
    await createAdminAudit({ audits, pseudonym: samplePseudonyms, write: actsToLog(logger), now: () => 0 })(actor, {
      event,
      ...act,
    } as OperatorAct);
  const lineIn = (text = '{}') => {
    const { time, instance, audit, ...line } = JSON.parse(text);
    expect([typeof time, typeof instance, audit]).toEqual(['string', 'string', true]);
    return JSON.stringify(line);
  };
  const [first] = streamed;
  return {
    log: lineIn(logged[0]),
    stream: first && { name: first.split(' ', 1)[0], line: lineIn(first.slice(first.indexOf('{'))) },
    series: (await registry.metrics())
      .split('\n')
      .filter(line => line.startsWith('postern_') && !line.includes('_bucket') && !line.endsWith(' 0')),
  };
}

test('every audit event has a recorded line, and no other has', () => {
  expect(Object.keys(golden).sort()).toEqual(Object.keys(auditEvents).sort());
});

describe('S54: the recorded line of', () => {
  const samples = Object.entries(golden).flatMap(([event, of]) => of.map((sample, nth) => ({ event, nth, sample })));

  it.each(samples)('$event ($nth) stays the same, in log, stream and metrics', async ({ event, sample }) => {
    const { log, stream, series } = await recorded(event, sample);
    const line = JSON.stringify(sample.line);
    // The log writes every member `error` as an error.
    expect(log).toBe(line.replace('"error":"unknown_record_layout"', '"error":{"name":"string"}'));
    expect(stream).toEqual(sample.stream === undefined ? undefined : { name: sample.stream, line });
    expect(series).toEqual(sample.series);
    expect(line).not.toMatch(/SECRET|alice|bob/);
  });
});

test('the README lists every audit event', async () => {
  const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8');
  const table = readme.slice(readme.indexOf('\n## Audit events\n'));
  const listed = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = '']) => {
    let prefix = '';
    return [...cell.matchAll(/`([a-z_]*)\.([a-z_]+)`/g)].map(([, first = '', name = '']) => {
      prefix = first || prefix;
      return `${prefix}.${name}`;
    });
  });
  expect([...new Set(listed)].sort()).toEqual(Object.keys(auditEvents).sort());
});
