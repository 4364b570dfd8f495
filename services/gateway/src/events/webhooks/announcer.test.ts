import { type PasskeyAnnouncement, SHARDS } from '@postern/elicitation';
import { expect, test, vi } from 'vitest';
import { startAnnouncer } from './announcer.ts';

const announcement: PasskeyAnnouncement = { eventId: 'pk_00.x', type: 'passkey.added', pseudonym: 'p', occurredAt: 1 };

/** One announcement waits. The queue of the endpoint refuses it twice. */
test('S87: removes an announcement only after its job is queued', async () => {
  const steps: string[] = [];
  const waiting = new Set([announcement]);
  const done = Promise.withResolvers<void>();
  const announcer = startAnnouncer({
    parts: [
      {
        endpoint: {
          name: 'operator/ops',
          url: 'https://ops.example',
          signers: [],
          ratePerSecond: 1,
          concurrency: 1,
          settings: {},
        },
        queue: {
          counts: async () => ({ waiting: 0, underWay: 0, delayed: 0, dead: 0 }),
          isPaused: async () => false,
          async add() {
            steps.push(steps.length < 2 ? 'refused' : 'queued');
            if (steps.at(-1) === 'refused') throw new Error('away');
          },
        } as never,
      },
    ],
    announcements: {
      read: async shard => (shard === SHARDS[0] ? [...waiting] : []),
      async remove(removed) {
        steps.push('removed');
        waiting.delete(removed);
        done.resolve();
      },
    },
    records: { read: async () => ({}) },
    auditLog: { record: vi.fn() },
    onError: vi.fn(),
    pauseMs: 1,
  });
  await done.promise;
  await announcer.stop();
  expect(steps).toEqual(['refused', 'refused', 'queued', 'removed']);
});
