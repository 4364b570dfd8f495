import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventFeed, FeedEvent, FeedPage } from '@postern/elicitation';
import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../platform/logger.ts';
import { type DispatcherOptions, dispatchBatch, startDispatcher } from './dispatcher.ts';
import { createWebhookLog } from './webhook-log.ts';

const idle = { waiting: 0, underWay: 0, delayed: 0, dead: 0 };
const eventAt = (at: number, status: 'completed' | 'active' = 'completed') =>
  ({
    eventId: `ev_00x.${at}`,
    type: `elicitation.${status}`,
    elicitationId: 'el_00x',
    mcpServerId: 'tracker',
    kind: 'form',
    position: `${at}-0`,
    occurredAt: at,
  }) as FeedEvent;

const endpoint = {
  name: 'tracker.hook',
  mcpServerId: 'tracker',
  url: 'https://hooks.example',
  signers: [],
  ratePerSecond: 1,
  settings: {},
  concurrency: 1,
  wants: ({ status }: { readonly status: string }) => status === 'completed',
};

/** A feed, a record and a queue that record the order of their calls. */
function scene() {
  const steps: string[] = [];
  const things = {
    events: [] as FeedEvent[],
    gone: false,
    record: { cursor: '0-0' } as { cursor?: string; disabled?: { reason: 'gone'; at: number } },
    counts: idle,
    isPaused: false,
    audited: [] as string[],
    addFails: false,
  };
  const feed: EventFeed = {
    async read(_mcpServerId, { after, limit }): Promise<FeedPage> {
      if (things.gone && after !== undefined) return { result: 'gone' };
      const from = Number((after ?? '0-0').split('-')[0]);
      return { result: 'events', events: things.events.filter(({ occurredAt }) => occurredAt > from).slice(0, limit) };
    },
    newest: async () => things.events.at(-1)?.position ?? '0-0',
    watch: () => ({ next: () => nextTurn(), [Symbol.dispose]() {} }),
  };
  const options: Omit<DispatcherOptions, 'leases'> = {
    endpoint,
    feed,
    log: createWebhookLog(createLogger({ level: 'silent' })),
    auditLog: { record: event => things.audited.push(event) },
    records: {
      read: async () => things.record,
      async moveCursor(_name, { from, to }) {
        steps.push(`cursor ${from ?? 'nowhere'} ${to}`);
        if (things.record.cursor !== from) return false;
        things.record = { ...things.record, cursor: to };
        return true;
      },
    },
    queue: {
      async add(added) {
        if (things.addFails) throw new Error('the queue is away');
        steps.push(`add ${added.map(({ eventId }) => eventId).join(' ')}`);
      },
      counts: async () => things.counts,
      isPaused: async () => things.isPaused,
      pause: async () => void steps.push('pause'),
      resume: async () => void steps.push('resume'),
    },
    maxWaiting: 1_000,
  };
  return { steps, things, options, run: () => dispatchBatch(options) };
}

describe('one step of a dispatcher', () => {
  let { steps, things, run } = scene();
  beforeEach(() => {
    ({ steps, things, run } = scene());
  });

  it('adds the wanted events, then moves the cursor', async () => {
    things.events = [eventAt(1), eventAt(2, 'active'), eventAt(3)];
    expect(await run()).toBe(false);
    expect(steps).toEqual(['add ev_00x.1 ev_00x.3', 'cursor 0-0 3-0']);
    expect(await run()).toBe(false);
    expect(steps).toHaveLength(2);
  });

  it('one step of a dispatcher does not move the cursor if the queue is unavailable', async () => {
    things.events = [eventAt(1)];
    things.addFails = true;
    await expect(run()).rejects.toThrow();
    expect(things.record.cursor).toBe('0-0');
  });

  it('continues without a pause after a full batch', async () => {
    things.events = Array.from({ length: 150 }, (_, at) => eventAt(at + 1));
    expect(await run()).toBe(true);
    expect(await run()).toBe(false);
    expect(things.record.cursor).toBe('150-0');
  });

  it('begins at the newest event if there is no cursor', async () => {
    things.events = [eventAt(1), eventAt(2)];
    things.record = {};
    expect(await run()).toBe(true);
    expect(steps).toEqual(['cursor nowhere 2-0']);
  });

  it('reads no events while the queue is full', async () => {
    things.events = [eventAt(1)];
    things.counts = { ...idle, waiting: 400, underWay: 100, delayed: 500 };
    expect(await run()).toBe(false);
    expect(steps).toEqual([]);
    things.counts = { ...idle, waiting: 400, underWay: 100, delayed: 499, dead: 5_000 };
    await run();
    expect(things.record.cursor).toBe('1-0');
  });

  it('logs a gap and continues with the remaining events', async () => {
    things.events = [eventAt(7)];
    things.gone = true;
    await run();
    expect(things.audited).toEqual(['webhook.gap']);
    expect(things.record.cursor).toBe('7-0');
  });

  it('pauses the queue of a disabled endpoint and resumes that of an enabled one', async () => {
    things.events = [eventAt(1)];
    things.record = { cursor: '0-0', disabled: { reason: 'gone', at: 5 } };
    expect(await run()).toBe(false);
    expect(steps).toEqual(['pause']);
    things.record = { cursor: '0-0' };
    things.isPaused = true;
    await run();
    expect(steps.slice(1)).toEqual(['resume', 'add ev_00x.1', 'cursor 0-0 1-0']);
    expect(things.audited).toEqual(['webhook.enabled']);
  });
});

describe('a dispatcher whose step fails', () => {
  it('releases its lease to another replica, and later continues', async () => {
    const { things, options } = scene();
    things.events = [eventAt(1)];
    things.addFails = true;
    const held: string[] = [];
    const leases = {
      take: async () => {
        held.push('take');
        return true;
      },
      release: async () => {
        held.push('release');
        things.addFails = false;
      },
    };
    const dispatcher = startDispatcher({ ...options, leases, pauseMs: 1 });
    await expect.poll(() => things.record.cursor).toBe('1-0');
    await dispatcher.stop();
    expect(held.slice(0, 3)).toEqual(['take', 'release', 'take']);
  });
});
