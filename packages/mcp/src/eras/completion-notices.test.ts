import type { ElicitationBody } from '@postern/api';
import { expect, test } from 'vitest';
import { GatewayError } from '../errors.ts';
import { WaitingReads } from '../gateway/waiting-reads.ts';
import { exampleElicitation } from '../testing/example-elicitation.ts';
import { CompletionWaiters } from './completion-notices.ts';

const pending = exampleElicitation({ expiresAt: new Date(1_000_000).toISOString() });
const declined = exampleElicitation({ status: 'declined' });

/** Reads return the values of a script; a pause moves the clock. */
function world(script: (ElicitationBody | Error)[], limit = 10) {
  let now = 0;
  const pauses: number[] = [];
  const errors: Error[] = [];
  const notified: string[] = [];
  const closed = new AbortController();
  const waiters = new CompletionWaiters({
    client: {
      async read() {
        const next = script.shift();
        if (next === undefined) return await new Promise<never>(() => undefined);
        if (next instanceof Error) throw next;
        return next;
      },
    },
    waitingReads: new WaitingReads({ limit, sleep: async () => {}, random: () => 1 }),
    limit,
    now: () => now,
    random: () => 1,
    async sleep(ms) {
      pauses.push(ms);
      now += ms;
    },
    onError: error => errors.push(error),
  });
  const session = {
    sessionId: undefined,
    closed: closed.signal,
    notifyComplete: async (id: string) => void notified.push(id),
  };
  return { waiters, session, closed, pauses, errors, notified };
}

test('notifies once per session and elicitation', async () => {
  const { waiters, session, notified } = world([declined]);
  const watch = waiters.watch(session, pending);
  expect(waiters.watch(session, pending)).toBe(watch);
  expect(await watch?.ended).toBe(declined);
  expect(waiters.watch(session, pending)?.phase).toBe('notified');
  expect(notified).toEqual([pending.elicitationId]);
});

test('retries with growing pauses when the gateway fails or responds early', async () => {
  const failure = new GatewayError('unavailable', 'down');
  const { waiters, session, pauses, errors, notified } = world([failure, pending, failure, declined]);
  await waiters.watch(session, pending)?.ended;
  expect(pauses).toEqual([1_000, 2_000, 4_000]);
  expect(errors).toEqual([failure, failure]);
  expect(notified).toHaveLength(1);
});

test('notifies when the gateway no longer knows the elicitation', async () => {
  const { waiters, session, notified } = world([new GatewayError('not_found', 'gone')]);
  expect(await waiters.watch(session, pending)?.ended).toBeUndefined();
  expect(notified).toHaveLength(1);
});

test('notifies after the expiry even when the gateway never answers', async () => {
  const down = Array.from({ length: 100 }, () => new GatewayError('network_error', 'down'));
  const { waiters, session, notified, pauses } = world(down);
  await waiters.watch(session, pending)?.ended;
  expect(notified).toHaveLength(1);
  expect(Math.max(...pauses)).toBe(30_000);
});

test('sends no notice to a closed session', async () => {
  const { waiters, session, closed, notified } = world([declined]);
  const watch = waiters.watch(session, pending);
  closed.abort();
  expect(await watch?.ended).toBeUndefined();
  expect(notified).toEqual([]);
});

test('refuses watches beyond its limit until one ends', async () => {
  const { waiters, session } = world([declined], 1);
  const first = waiters.watch(session, pending);
  expect(waiters.watch(session, { ...pending, elicitationId: 'other' })).toBeUndefined();
  await first?.ended;
  expect(waiters.watch(session, { ...pending, elicitationId: 'other' })?.phase).toBe('waiting');
});

test('a session remembers a bounded number of notices', async () => {
  const { waiters, session } = world(Array.from({ length: 65 }, () => declined));
  for (let index = 0; index < 65; index += 1) {
    await waiters.watch(session, { ...pending, elicitationId: `el-${index}` })?.ended;
  }
  expect(waiters.watch(session, { ...pending, elicitationId: 'el-64' })?.phase).toBe('notified');
  expect(waiters.watch(session, { ...pending, elicitationId: 'el-0' })?.phase).toBe('waiting');
});

test('reports a notice that could not be sent', async () => {
  const { waiters, session, errors } = world([declined]);
  const broken = { ...session, notifyComplete: () => Promise.reject(new Error('no stream')) };
  expect(await waiters.watch(broken, pending)?.ended).toBe(declined);
  expect(errors).toEqual([new Error('no stream')]);
});

test('starts nothing after close', () => {
  const { waiters, session } = world([declined]);
  waiters.close();
  expect(waiters.watch(session, pending)).toBeUndefined();
});

test('waits for a payment in progress beyond its expiry, for at most a day', async () => {
  const charging = exampleElicitation({ kind: 'payment', status: 'active', expiresAt: pending.expiresAt });
  const { waiters, session } = world([...Array.from({ length: 200 }, () => charging), declined]);
  expect(await waiters.watch(session, pending)?.ended).toBe(declined);

  const endless = world(Array.from({ length: 4000 }, () => charging));
  expect(await endless.waiters.watch(endless.session, pending)?.ended).toBeUndefined();
  expect(endless.notified).toHaveLength(1);
});
