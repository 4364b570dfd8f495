import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseConfig } from '../../platform/config/load-config.ts';
import { sampleConfig } from '../../testing/sample-config.ts';
import { newSecret, startReceiver, webhookStage } from '../../testing/webhook-stage.ts';
import { quickPace } from '../../testing/webhooks-config.ts';
import { startAnnouncer } from './announcer.ts';
import type { WebhooksOptions } from './webhooks.ts';

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 100_000, interval: 20 });
const secret = newSecret();

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

async function setUp(prefix: string, urls: readonly string[]) {
  const stage = await webhookStage({ address: { url: redis.url }, prefix });
  const operatorWebhooks = urls.map((url, nth) => ({ id: `ops-${nth}`, url, secrets: [secret] }));
  const config = parseConfig(
    sampleConfig({ publicUrl: 'http://127.0.0.1:8080', redis: { url: redis.url, prefix }, operatorWebhooks }),
  );
  const { passkeys, passkeyAnnouncements } = stage.stores;
  const subject = samples.somebody();
  return {
    ...stage,
    subject,
    start: (pace: WebhooksOptions['pace'] = {}) =>
      stage.start([], { config, pace: { ...quickPace, announcerPauseMs: 5, ...pace } }),
    add: (passkeyId: string, announcedAs?: string) => {
      const made = samples.passkeyFor(subject, { passkeyId });
      return passkeys.add(made, 10, undefined, 'later', announcedAs);
    },
    waiting: () => passkeyAnnouncements.read(samples.shardFor(subject), 100),
  };
}

describe('S87: an operator endpoint', () => {
  test('receives each committed change of passkeys, with a pseudonym', async () => {
    await using receiver = await startReceiver();
    await using stage = await setUp('received', [receiver.url]);
    const { passkeys } = stage.stores;
    expect(await stage.add('one', 'pseudonym-1')).toBe('added');
    expect(await stage.add('one', 'pseudonym-1')).toBe('exists');
    expect(await stage.add('two', 'pseudonym-1')).toBe('added');
    expect(await passkeys.remove(stage.subject, 'three', 'pseudonym-1')).toBe(false);
    expect(await passkeys.remove(stage.subject, 'two', 'pseudonym-1')).toBe(true);
    expect(await passkeys.reset(stage.subject, 'pseudonym-1')).toBe(1);
    expect(await passkeys.reset(stage.subject, 'pseudonym-1')).toBe(0);
    expect(await stage.add('four')).toBe('added');
    const committed = await stage.waiting();
    const webhooks = await stage.start();
    await until(() => expect(receiver.received).toHaveLength(4));
    const received = receiver.verifiedWith(secret);
    expect(received).toHaveLength(4);
    for (const { eventId, type, occurredAt } of committed)
      expect(received).toContainEqual({
        type,
        timestamp: new Date(occurredAt).toISOString(),
        data: { eventId, pseudonym: 'pseudonym-1' },
      });
    expect(committed.map(({ type }) => type).toSorted()).toEqual([
      ...['passkey.added', 'passkey.added', 'passkey.removed', 'passkey.reset'],
    ]);
    for (const { body } of receiver.received) expect(body).not.toContain(stage.subject.subject);
    await until(async () => expect(await stage.waiting()).toEqual([]));
    await webhooks.stop();
  });

  test('receives one retry after a 500, with the same id and body', async () => {
    await using receiver = await startReceiver(nth => (nth <= 2 ? 500 : 204));
    await using stage = await setUp('again', [receiver.url]);
    const webhooks = await stage.start();
    await stage.add('one', 'pseudonym-1');
    await until(() => expect(receiver.received).toHaveLength(3));
    expect(new Set(receiver.received.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
    expect(receiver.verifiedWith(secret)).toHaveLength(3);
    await until(async () => expect(await stage.counts('operator/ops-0')).toMatchObject({ delayed: 0, underWay: 0 }));
    await webhooks.stop();
  });

  test('an operator endpoint that always fails gets dead deliveries and does not affect another endpoint', async () => {
    await using down = await startReceiver(() => 500);
    await using up = await startReceiver();
    await using stage = await setUp('dead', [down.url, up.url]);
    const webhooks = await stage.start();
    await stage.add('one', 'pseudonym-1');
    await until(() => expect(up.received).toHaveLength(1));
    await until(async () => expect((await stage.counts('operator/ops-0')).dead).toBe(1));
    await webhooks.stop();
  });

  test('an operator endpoint that was disabled receives webhooks after an operator has enabled it', async () => {
    let status = 410;
    await using receiver = await startReceiver(() => status);
    await using stage = await setUp('enabled', [receiver.url]);
    const webhooks = await stage.start();
    const health = stage.stores.webhookEndpoints;
    await stage.add('one', 'pseudonym-1');
    await until(async () =>
      expect(await health.read('operator/ops-0')).toMatchObject({ disabled: { reason: 'gone' } }),
    );
    status = 204;
    await stage.add('two', 'pseudonym-1');
    await until(async () => expect(await stage.waiting()).toEqual([]));
    expect(await health.enable('operator/ops-0')).toBe(true);
    // The first attempt was refused. No delivery is lost.
    await until(() => expect(new Set(receiver.ids().slice(1)).size).toBe(2));
    await webhooks.stop();
  });

  test('receives an announcement from another replica if one was killed between the queue and the removal', async () => {
    await using receiver = await startReceiver();
    await using stage = await setUp('killed', [receiver.url]);
    const { passkeyAnnouncements } = stage.stores;
    await stage.add('one', 'pseudonym-1');
    const removing = vi.spyOn(passkeyAnnouncements, 'remove').mockRejectedValue(new Error('killed'));
    const first = await stage.start();
    await until(() => expect(receiver.received).toHaveLength(1));
    await first.stop();
    removing.mockRestore();
    const second = await stage.start();
    await until(async () => expect(await stage.waiting()).toEqual([]));
    await second.stop();
    expect(receiver.received).toHaveLength(1);
  });

  test('misses events while its queue is full, and an audit event reports the gap', async () => {
    await using stage = await setUp('full', []);
    await stage.add('one', 'pseudonym-1');
    const add = vi.fn();
    const record = vi.fn();
    const announcer = startAnnouncer({
      parts: [
        { endpoint: { name: 'operator/ops' }, queue: { add, counts: async () => counts(2), ...unpaused } },
      ] as never,
      announcements: stage.stores.passkeyAnnouncements,
      records: { read: async () => ({}) },
      auditLog: { record },
      onError: error => expect.fail(String(error)),
      pauseMs: 1,
      maxWaiting: 2,
    });
    await until(async () => expect(await stage.waiting()).toEqual([]));
    await announcer.stop();
    expect(record).toHaveBeenCalledExactlyOnceWith('webhook.gap', { endpoint: 'operator/ops' });
    expect(add).not.toHaveBeenCalled();
  });
});

const counts = (waiting: number) => ({ waiting, underWay: 0, delayed: 0, dead: 0 });
const unpaused = { isPaused: async () => false };

test('S87: limits the number of announcements', async () => {
  await using stage = await setUp('bounded', []);
  for (let nth = 0; nth < 1_010; nth += 1) {
    await stage.add('one', `pseudonym-${nth}`);
    await stage.stores.passkeys.remove(stage.subject, 'one');
  }
  const left = await stage.stores.passkeyAnnouncements.read(samples.shardFor(stage.subject), 10_000);
  expect(left).toHaveLength(1_000);
  expect(left.some(({ pseudonym }) => pseudonym === 'pseudonym-0')).toBe(false);
});
