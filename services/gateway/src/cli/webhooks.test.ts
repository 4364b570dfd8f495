import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../testing/run-command.ts';
import { sampleConfig } from '../testing/sample-config.ts';
import { newSecret, startReceiver, webhookStage } from '../testing/webhook-stage.ts';
import { quickPace, webhooksConfig } from '../testing/webhooks-config.ts';

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 100_000, interval: 20 });
const secret = newSecret();
const why = ['--reason', 'receiver repaired', '--by', 'olga'];
const listSchema = z.object({ endpoints: z.array(z.looseObject({ endpoint: z.string(), status: z.string() })) });
const deadSchema = z.object({
  dead: z.array(z.strictObject({ eventId: z.string(), endpoint: z.string(), reason: z.string() }).loose()),
});

let redis: RedisServer;
let folder: string;
beforeAll(async () => {
  redis = await startRedis();
  folder = await mkdtemp(join(tmpdir(), 'postern-cli-'));
});
afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function run(...args: readonly string[]) {
  const { code, out, err } = await runCommand(args);
  expect(out + err).not.toContain(secret.slice(6));
  expect(out + err).not.toContain('/hooks');
  return { code, out, err };
}

async function configFor(prefix: string, url: string): Promise<string> {
  const path = join(folder, `${prefix}.yaml`);
  const endpoints = ['hook', 'quiet'].map(id => ({ id, url, secrets: [secret], ...(id === 'quiet' ? quiet : {}) }));
  await writeFile(path, JSON.stringify(webhooksConfig({ url: redis.url, prefix }, endpoints)));
  return path;
}
const quiet = { statuses: ['pending' as const] };

test('lists dead deliveries with their reason and redelivers them once the receiver works again', async () => {
  let status = 500;
  await using receiver = await startReceiver(() => status);
  await using stage = await webhookStage({ address: { url: redis.url }, prefix: 'dead' });
  const config = await configFor('dead', receiver.url);
  expect(await run('webhooks', 'dead', '-c', config)).toMatchObject({ code: 0, out: 'No dead deliveries.\n' });
  const webhooks = await stage.start([{ id: 'hook', url: receiver.url, secrets: [secret] }], {
    pace: { ...quickPace, retryDelay: () => undefined },
  });
  const eventIds = await stage.publish(130);
  await until(async () => expect((await stage.counts('tracker.hook')).dead).toBe(130));

  const listed = await run('webhooks', 'list', '--json', '-c', config);
  expect(listed.code).toBe(1);
  expect(listSchema.parse(JSON.parse(listed.out)).endpoints).toMatchObject([
    { endpoint: 'tracker.hook', status: 'enabled', dead: 130, waiting: 0, failingSince: expect.any(String) },
    { endpoint: 'tracker.quiet', status: 'enabled', dead: 0 },
  ]);
  const dead = await run('webhooks', 'dead', '--json', '-c', config);
  expect(dead.code).toBe(1);
  expect(new Set(deadSchema.parse(JSON.parse(dead.out)).dead.map(({ eventId }) => eventId))).toEqual(new Set(eventIds));
  expect((await run('webhooks', 'dead', '-c', config)).out).toMatch(
    / tracker\.hook +elicitation\.completed +status_500 /,
  );

  status = 204;
  const [one = ''] = eventIds;
  expect((await run('webhooks', 'redeliver', one, ...why, '-c', config)).code).toBe(0);
  await until(async () => expect((await stage.counts('tracker.hook')).dead).toBe(129));
  expect((await run('webhooks', 'redeliver', one, ...why, '-c', config)).code).toBe(1);
  expect(await run('webhooks', 'redeliver', '--all', ...why, '-c', config)).toMatchObject({
    code: 0,
    out: 'Retried 129 deliveries: 129 delivered, 0 failed again, 0 not attempted yet.\n',
  });
  await until(() => expect(receiver.received).toHaveLength(260));
  expect(new Set(receiver.ids().slice(130))).toEqual(new Set(eventIds));
  await until(async () => expect((await stage.counts('tracker.hook')).dead).toBe(0));
  expect((await run('webhooks', 'list', '-c', config)).code).toBe(0);
  await webhooks.stop();
});

test('S209: redeliver starts the next attempt of deliveries that would wait for hours, and says how they ended', async () => {
  let status = 500;
  await using receiver = await startReceiver(() => status);
  await using stage = await webhookStage({ address: { url: redis.url }, prefix: 'delayed' });
  const config = await configFor('delayed', receiver.url);
  const webhooks = await stage.start([{ id: 'hook', url: receiver.url, secrets: [secret] }], {
    pace: { ...quickPace, retryDelay: () => 16 * 3_600_000 },
  });
  const eventIds = await stage.publish(3);
  await until(async () => expect(await stage.counts('tracker.hook')).toMatchObject({ delayed: 3, dead: 0 }));
  const redeliver = (...more: string[]) =>
    run('webhooks', 'redeliver', '--endpoint', 'tracker.hook', ...why, '-c', config, ...more);
  expect((await redeliver('--dry-run')).out).toBe('Would retry 3 deliveries.\n');
  // Nothing is dead, but nothing is delivered either.
  expect((await run('webhooks', 'list', '-c', config)).code).toBe(1);
  const waiting = await run('webhooks', 'retrying', '--json', '-c', config);
  expect(waiting.code).toBe(1);
  const { retrying } = JSON.parse(waiting.out);
  expect(new Set(retrying.map(({ eventId }: { eventId: string }) => eventId))).toEqual(new Set(eventIds));
  expect(retrying[0]).toMatchObject({ reason: 'status_500', httpStatus: 500, attempts: 1 });
  const inHours = (Date.parse(retrying[0].nextAt) - Date.now()) / 3_600_000;
  expect(Math.round(inHours)).toBe(16);
  expect(receiver.received).toHaveLength(3);
  // They fail again, and wait again: the job does not try them for ever.
  expect(await redeliver()).toMatchObject({
    code: 1,
    out: 'Retried 3 deliveries: 0 delivered, 3 failed again, 0 not attempted yet.\n',
  });
  await until(async () => expect(receiver.received).toHaveLength(6));
  await until(async () => expect(await stage.counts('tracker.hook')).toMatchObject({ delayed: 3 }));
  status = 204;
  expect(await redeliver()).toMatchObject({
    code: 0,
    out: 'Retried 3 deliveries: 3 delivered, 0 failed again, 0 not attempted yet.\n',
  });
  expect(await stage.counts('tracker.hook')).toMatchObject({ delayed: 0, dead: 0 });
  expect(new Set(receiver.ids().slice(6))).toEqual(new Set(eventIds));
  await webhooks.stop();
});

test('a disabled endpoint resumes when it is enabled', async () => {
  await using receiver = await startReceiver(nth => (nth === 1 ? 410 : 204));
  await using stage = await webhookStage({ address: { url: redis.url }, prefix: 'enable' });
  const config = await configFor('enable', receiver.url);
  const webhooks = await stage.start([{ id: 'hook', url: receiver.url, secrets: [secret], concurrency: 1 }]);
  await stage.publish(2);
  await until(() => expect(stage.logged('webhook.disabled')).toHaveLength(1));
  const listed = await run('webhooks', 'list', '-c', config);
  expect(listed.code).toBe(1);
  expect(listed.out).toContain('disabled (gone)');
  expect((await run('webhooks', 'enable', 'tracker.nowhere', '--reason', 'tests', '-c', config)).code).toBe(1);
  expect((await run('webhooks', 'enable', 'tracker.hook', '--reason', 'tests', '-c', config)).code).toBe(0);
  await until(() => expect(new Set(receiver.ids()).size).toBe(2));
  await webhooks.stop();
});

test.each([
  [['webhooks']],
  [['webhooks', 'redeliver']],
  [['webhooks', 'redeliver', 'ev_1']],
  [['webhooks', 'redeliver', 'ev_1', '--endpoint', 'tracker.hook', ...why]],
  [['webhooks', 'redeliver', 'ev_1', '--all']],
  [['webhooks', 'redeliver', 'ev_1', 'ev_2']],
  [['webhooks', 'enable']],
])('exits with 2 for %j', async args => {
  expect((await run(...args)).code).toBe(2);
});

test('fails with an explanation if no webhooks are configured', async () => {
  const path = join(folder, 'none.yaml');
  await writeFile(path, JSON.stringify(sampleConfig({ redis: { url: redis.url } })));
  expect(await run('webhooks', 'list', '-c', path)).toMatchObject({ code: 1, out: '' });
});
