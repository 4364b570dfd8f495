import { expect, test } from 'vitest';
import { WaitingReads } from '../gateway/waiting-reads.ts';
import type { WatchedElicitation } from '../run/tool-call.ts';
import { exampleElicitation } from '../testing/example-elicitation.ts';
import { CompletionWaiters, createSessionReplica } from './completion-notices.ts';

const declined = exampleElicitation({ status: 'declined' });
const pauses = { limit: 9, sleep: async () => {}, random: () => 1 };
const turn = () => new Promise<void>(resolve => setImmediate(resolve));

/** A replica that holds the sessions of two MCP clients. */
function setUp() {
  const completionNotices = new CompletionWaiters({
    client: { read: async () => declined },
    waitingReads: new WaitingReads(pauses),
    ...pauses,
    now: () => 0,
    onError: () => {},
  });
  let added: (sessionId: string, elicitation: WatchedElicitation) => void = () => {};
  const known = new Map<string, WatchedElicitation[]>();
  const shared = {
    async add(sessionId: string, elicitation: WatchedElicitation) {
      known.set(sessionId, [...(known.get(sessionId) ?? []), elicitation]);
      added(sessionId, elicitation);
    },
    list: async (sessionId: string) => known.get(sessionId) ?? [],
    subscribe(listener: typeof added) {
      added = listener;
    },
  };
  const replica = createSessionReplica(shared, { completionNotices, delay: async () => {} });
  const notified: string[] = [];
  const session = (sessionId: string) => ({
    sessionId,
    closed: new AbortController().signal,
    notifyComplete: async (id: string) => void notified.push(`${sessionId} ${id}`),
  });
  return { replica, completionNotices, notified, session };
}

test('S13: a completion notice goes only to the waiting MCP session of the replica', async () => {
  const { replica, notified, session } = setUp();
  const [bob, alice] = [session('bob'), session('alice')];
  await replica.resume(bob);
  await replica.resume(alice);
  await replica.promise(alice, declined);
  await turn();
  expect(notified).toEqual([`alice ${declined.elicitationId}`]);
});

test('S13: two MCP sessions that wait for one elicitation are notified once each', async () => {
  const { completionNotices, notified, session } = setUp();
  const [alice, bob] = [session('alice'), session('bob')];
  for (const waiting of [alice, bob, alice]) await completionNotices.watch(waiting, declined)?.ended;
  expect(notified).toEqual([`alice ${declined.elicitationId}`, `bob ${declined.elicitationId}`]);
});
