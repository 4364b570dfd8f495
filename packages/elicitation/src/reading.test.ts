import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Elicitation, IdentityMode } from './elicitation.ts';
import { newElicitationId, shardOf, systemEntropy } from './ids.ts';
import type { Visitor } from './same-person-check.ts';
import { open } from './testing/open.ts';
import { alice, bob, ISSUER, MINUTE, mcpServer, oneTime, signedIn, TTL_MS } from './testing/samples.ts';
import { createServiceBench } from './testing/service-bench.ts';

function createBench() {
  const clock = createFakeClock();
  return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
}

const unknownId = newElicitationId(shardOf(alice), systemEntropy);
const calendar = mcpServer({ mcpServerId: 'calendar' });

/** The whole content of a response, to compare two of them. */
async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) expect.fail('Expected a refusal.');
  return { ...error, name: error.name, message: error.message, cause: error.cause };
}

describe('read', () => {
  test.each(['pending', 'active', 'verifying', 'completed', 'failed', 'declined', 'cancelled', 'expired'] as const)(
    'read returns the current status: %s',
    async status => {
      const bench = createBench();
      const elicitation = await bench.at(status);
      expect(elicitation.status).toBe(status);
      expect(await bench.service.read(mcpServer(), elicitation.elicitationId)).toEqual(elicitation);
    },
  );

  test('I6 read treats the id of another MCP server like an unknown id', async () => {
    const { service, pending } = createBench();
    const { elicitationId } = await pending();
    const foreign = await refusal(service.read(calendar, elicitationId));
    expect(foreign).toMatchObject({ code: 'not_found' });
    expect(foreign).toEqual(await refusal(service.read(calendar, unknownId)));
  });

  test('an elicitation is unknown after its retention', async () => {
    const bench = createBench();
    const { elicitationId } = await bench.at('declined');
    bench.clock.advance(24 * 60 * MINUTE - 1);
    expect(await bench.service.read(mcpServer(), elicitationId)).toMatchObject({ status: 'declined' });
    bench.clock.advance(1);
    await expect(bench.service.read(mcpServer(), elicitationId)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('wait', () => {
  // The notifier of the SQLite stores waits on timers, so here the fake timers are the clock.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: Date.UTC(2026, 0, 1) });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function createTimedBench() {
    const stores = createSqliteStores({ path: ':memory:', now: Date.now });
    const bench = createServiceBench(stores, { now: Date.now, set: epochMs => vi.setSystemTime(epochMs) });
    /** Starts waiting; `answer` stays undefined for as long as it waits. */
    function waiting(elicitation: Elicitation, timeoutMs: number, signal?: AbortSignal) {
      const observed: { answer: Elicitation | undefined } = { answer: undefined };
      void bench.service.wait(mcpServer(), elicitation.elicitationId, timeoutMs, signal).then(answer => {
        observed.answer = answer;
      });
      return observed;
    }
    const loseWakeUps = () => void vi.spyOn(stores.notifier, 'wake').mockImplementation(() => undefined);
    return { ...bench, waiting, loseWakeUps };
  }
  const settle = () => vi.advanceTimersByTimeAsync(0);

  test.each(['completed', 'failed', 'declined', 'cancelled', 'expired'] as const)(
    'wait returns immediately if the status is %s',
    async status => {
      const { at, waiting } = createTimedBench();
      const ended = await at(status);
      const observed = waiting(ended, MINUTE);
      await settle();
      expect(observed.answer).toEqual(ended);
    },
  );

  test('wait returns when the status becomes terminal, and not before', async () => {
    const { service, pending, waiting } = createTimedBench();
    const elicitation = await pending();
    const { elicitationId: id } = elicitation;
    const observed = waiting(elicitation, MINUTE);
    await settle();
    await service.accept(id, signedIn(alice), oneTime(id, 'attempt'), ['repo']);
    await settle();
    expect(observed.answer).toBeUndefined();
    const declined = await service.decline(id, signedIn(alice));
    await settle();
    expect(observed.answer).toEqual(declined);
  });

  test('wait returns the current status at the timeout, however often it was woken', async () => {
    const { service, pending, waiting } = createTimedBench();
    const elicitation = await pending();
    const { elicitationId: id } = elicitation;
    const observed = waiting(elicitation, MINUTE);
    await vi.advanceTimersByTimeAsync(MINUTE / 2);
    const active = await service.accept(id, signedIn(alice), oneTime(id, 'attempt'), ['repo']);
    await vi.advanceTimersByTimeAsync(MINUTE / 2 - 1);
    expect(observed.answer).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(observed.answer).toEqual(active);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a lost wake-up costs some seconds, not the whole wait', async () => {
    const { service, pending, waiting, loseWakeUps } = createTimedBench();
    const elicitation = await pending();
    const observed = waiting(elicitation, MINUTE);
    await settle();
    loseWakeUps();
    const declined = await service.decline(elicitation.elicitationId, signedIn(alice));
    await settle();
    expect(observed.answer).toBeUndefined();
    await vi.advanceTimersByTimeAsync(MINUTE / 2);
    expect(observed.answer).toEqual(declined);
  });

  test('wait without a timeout only reads', async () => {
    const { pending, waiting } = createTimedBench();
    const elicitation = await pending();
    const observed = waiting(elicitation, 0);
    await settle();
    expect(observed.answer).toEqual(elicitation);
  });

  test('wait ends when the caller disconnects, before or during it, and leaves no timer', async () => {
    const { pending, waiting } = createTimedBench();
    const elicitation = await pending();
    const gone = waiting(elicitation, MINUTE, AbortSignal.abort());
    const leaving = new AbortController();
    const observed = waiting(elicitation, MINUTE, leaving.signal);
    await settle();
    expect(gone.answer).toEqual(elicitation);
    expect(observed.answer).toBeUndefined();
    leaving.abort();
    await settle();
    expect(observed.answer).toEqual(elicitation);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a change between reading and waiting is not lost', async () => {
    const stores = createSqliteStores({ path: ':memory:', now: Date.now });
    let afterRead = async () => {};
    const elicitations = Object.assign(Object.create(stores.elicitations) as typeof stores.elicitations, {
      create: stores.elicitations.create.bind(stores.elicitations),
      transition: stores.elicitations.transition.bind(stores.elicitations),
      read: async (id: `el_${string}`) => {
        const found = await stores.elicitations.read(id);
        await afterRead();
        return found;
      },
    });
    const { service, pending } = createServiceBench({ ...stores, elicitations }, { now: Date.now, set() {} });
    const { elicitationId: id } = await pending();
    afterRead = async () => {
      afterRead = async () => {};
      await service.cancel(mcpServer(), id);
    };
    let answer: Elicitation | undefined;
    void service.wait(mcpServer(), id, MINUTE).then(found => {
      answer = found;
    });
    await settle();
    expect(answer).toMatchObject({ status: 'cancelled' });
  });

  test('all concurrent waiters get the result', async () => {
    const { service, pending, waiting } = createTimedBench();
    const elicitation = await pending();
    const observed = Array.from({ length: 50 }, () => waiting(elicitation, MINUTE));
    await settle();
    const cancelled = await service.cancel(mcpServer(), elicitation.elicitationId);
    await settle();
    expect(observed.map(({ answer }) => answer)).toEqual(observed.map(() => cancelled));
  });

  test('wait throws NotFoundError if the elicitation is deleted meanwhile', async () => {
    const { service, pending } = createTimedBench();
    const { elicitationId } = await pending();
    const watching = service.wait(mcpServer(), elicitationId, 48 * 60 * MINUTE).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(48 * 60 * MINUTE);
    expect(await watching).toMatchObject({ code: 'not_found' });
  });

  test('I6 wait treats the id of another MCP server like an unknown id, immediately', async () => {
    const { service, pending } = createTimedBench();
    const { elicitationId } = await pending();
    const foreign = await refusal(service.wait(calendar, elicitationId, MINUTE));
    expect(foreign).toMatchObject({ code: 'not_found' });
    expect(foreign).toEqual(await refusal(service.wait(calendar, unknownId, MINUTE)));
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('S03 open', () => {
  const loopback: Visitor = { kind: 'loopback' };
  const people: { mode: IdentityMode; welcome: Visitor; strangers: Visitor[] }[] = [
    {
      mode: 'login',
      welcome: signedIn(alice),
      strangers: [
        signedIn(bob),
        signedIn({ ...alice, issuer: `${ISSUER}/other` }),
        signedIn(alice, 'issue-tracker'),
        loopback,
      ],
    },
    {
      mode: 'external',
      welcome: signedIn(alice, 'issue-tracker'),
      strangers: [signedIn(bob, 'issue-tracker'), signedIn(alice, 'calendar'), signedIn(alice), loopback],
    },
    { mode: 'loopback', welcome: loopback, strangers: [signedIn(alice), signedIn(alice, 'issue-tracker')] },
  ];

  test.each(people)('$mode: find shows an elicitation only to its subject', async ({ mode, welcome, strangers }) => {
    const bench = createBench();
    const elicitation = await bench.pending(mcpServer({ identityMode: mode }));
    const { elicitationId, mcpServerId, subject } = elicitation;
    expect(await open(bench.service, elicitationId, welcome)).toEqual(elicitation);
    for (const stranger of strangers) {
      const audits = await bench.audited(async () => {
        await expect(open(bench.service, elicitationId, stranger)).rejects.toMatchObject({ code: 'wrong_person' });
      });
      const visitor = stranger.kind === 'signed_in' ? { visitor: stranger.subject } : {};
      expect(audits).toEqual([{ type: 'wrong_person', elicitationId, mcpServerId, subject, ...visitor }]);
    }
    expect(await bench.service.find(elicitationId)).toEqual(elicitation);
  });

  test('find changes nothing, whatever the status', async () => {
    for (const status of ['pending', 'active', 'verifying', 'declined'] as const) {
      const bench = createBench();
      const elicitation = await bench.at(status);
      const announced = (await bench.allAnnounced()).length;
      bench.clock.advance(TTL_MS * 2);
      const audits = await bench.audited(async () => {
        expect(await open(bench.service, elicitation.elicitationId, signedIn(alice))).toEqual(elicitation);
      });
      expect(audits).toEqual([]);
      expect(await bench.allAnnounced()).toHaveLength(announced);
    }
  });

  test('find returns nothing for an unknown id', async () => {
    const { service } = createBench();
    await expect(open(service, unknownId, signedIn(alice))).rejects.toMatchObject({ code: 'not_found' });
    expect(await service.find(unknownId)).toBeUndefined();
  });

  test('checkSamePerson alone decides the same', async () => {
    const bench = createBench();
    const elicitation = await bench.pending();
    expect(bench.service.assertSamePerson(elicitation, signedIn(alice))).toBeUndefined();
    expect(() => bench.service.assertSamePerson(elicitation, signedIn(bob))).toThrow(
      expect.objectContaining({ code: 'wrong_person' }),
    );
    expect(bench.audits.at(-1)).toMatchObject({ type: 'wrong_person', subject: alice, visitor: bob });
  });
});

describe('listOpen', () => {
  const everyone = ['issue-tracker', 'calendar', 'desktop'];
  const createBench = () => {
    const clock = createFakeClock();
    return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
  };

  test('lists the open elicitations of the visitor at all MCP servers, oldest first, and no others', async () => {
    const bench = createBench();
    const first = await bench.at('active');
    bench.clock.advance(1);
    const second = await bench.pending(mcpServer({ mcpServerId: 'calendar' }));
    await bench.pending(mcpServer(), { subject: bob });
    expect(await bench.service.listOpen(signedIn(alice), everyone)).toEqual([first, second]);
    await bench.service.cancel(mcpServer(), first.elicitationId);
    expect(await bench.service.listOpen(signedIn(alice), everyone)).toEqual([second]);
    bench.clock.set(second.expiresAt);
    expect(await bench.service.listOpen(signedIn(alice), everyone)).toEqual([]);
  });

  test('lists only what the visitor may open: an application vouches for its own elicitations, sign-in for the others', async () => {
    const bench = createBench();
    const byLogin = await bench.pending();
    const external = mcpServer({ mcpServerId: 'calendar', identityMode: 'external' });
    const vouched = await bench.pending(external);
    await bench.pending(mcpServer({ mcpServerId: 'desktop', identityMode: 'loopback' }));
    const audits = await bench.audited(async () => {
      expect(await bench.service.listOpen(signedIn(alice), everyone)).toEqual([byLogin]);
      expect(await bench.service.listOpen(signedIn(alice, 'calendar'), everyone)).toEqual([vouched]);
      expect(await bench.service.listOpen(signedIn(alice, 'issue-tracker'), everyone)).toEqual([]);
    });
    expect(audits).toEqual([]);
  });
});
