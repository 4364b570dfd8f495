import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import type { NewConnection } from './connection.ts';
import { type ElicitationStatus, failureCodes, retryReasons } from './elicitation.ts';
import { connectionIdOf, digestOf, newElicitationId, shardIn, shardOf, systemEntropy } from './ids.ts';
import { alice, bob, connectionFor, mcpServer, oneTime, signedIn } from './testing/samples.ts';
import { ATTEMPT, createServiceBench } from './testing/service-bench.ts';

function createBench() {
  const clock = createFakeClock();
  return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
}

type Bench = ReturnType<typeof createBench>;
type Elicitation = Awaited<ReturnType<Bench['at']>>;
type Verb = 'retry' | 'hold' | 'complete' | 'fail';
const verbs: Record<Verb, (bench: Bench, of: Elicitation, attempt: string) => Promise<Elicitation>> = {
  retry: ({ service }, { elicitationId: id }, attempt) => service.retry(id, attempt, 'provider_denied'),
  hold: ({ service }, { elicitationId: id }, attempt) => service.hold(id, attempt, oneTime(id, 'verification')),
  complete: ({ service }, of, attempt) => service.complete(of.elicitationId, attempt, connectionFor(of)),
  fail: ({ service }, { elicitationId: id }, attempt) => service.fail(id, attempt, 'wrong_account'),
};
const names = Object.keys(verbs) as Verb[];

/** The result of each verb with the attempt in progress. All other statuses have ended or have no attempt. */
const outcomes: Record<Verb, Record<'active' | 'verifying', string>> = {
  retry: { active: 'pending', verifying: 'illegal_transition' },
  hold: { active: 'verifying', verifying: 'illegal_transition' },
  complete: { active: 'completed', verifying: 'completed' },
  fail: { active: 'failed', verifying: 'failed' },
};
const audit: Record<Verb, object> = {
  retry: { type: 'returned', retryReason: 'provider_denied' },
  hold: { type: 'held' },
  complete: { type: 'completed' },
  fail: { type: 'failed', failure: 'wrong_account' },
};

/** Expects a refusal with the code, and no trace in records, events or audit lines. */
async function expectRefused(bench: Bench, of: Elicitation, call: () => Promise<unknown>, expected: object) {
  const announced = (await bench.allAnnounced()).length;
  const { connectionId } = connectionFor(of);
  const connection = await bench.stores.connections.read(connectionId);
  const audits = await bench.audited(() => expect(call()).rejects.toMatchObject(expected));
  expect(audits).toEqual([]);
  expect(await bench.allAnnounced()).toHaveLength(announced);
  expect(await bench.service.find(of.elicitationId)).toEqual(of);
  expect(await bench.stores.connections.read(connectionId)).toEqual(connection);
  expect(await bench.stores.oneTime.read(shardIn(of.elicitationId), digestOf('verification'))).toBeUndefined();
}

const cells = names.flatMap(verb =>
  (['active', 'verifying'] as const).map(status => ({ verb, status, outcome: outcomes[verb][status] })),
);

describe('S11 the attempt in progress', () => {
  test.each(cells)('$verb of a $status elicitation: $outcome', async ({ verb, status, outcome }) => {
    const bench = createBench();
    const before = await bench.at(status);
    if (outcome === 'illegal_transition')
      return expectRefused(bench, before, () => verbs[verb](bench, before, ATTEMPT), { code: outcome });
    const { elicitationId, mcpServerId, subject } = before;
    const audits = await bench.audited(async () => {
      const after = await verbs[verb](bench, before, ATTEMPT);
      expect(after).toMatchObject({ status: outcome, version: before.version + 1 });
      expect(await bench.service.find(elicitationId)).toEqual(after);
    });
    expect(audits).toEqual([{ ...audit[verb], elicitationId, mcpServerId, subject }]);
    expect(await bench.announced(before)).toHaveLength(before.version + 1);
    expect((await bench.announced(before)).at(-1)).toBe(`elicitation.${outcome}`);
  });

  const ended = ['completed', 'failed', 'declined', 'cancelled', 'expired'] as const satisfies ElicitationStatus[];
  test.each(names.flatMap(verb => ended.map(status => ({ verb, status }))))(
    '$verb of a $status one is refused',
    async ({ verb, status }) => {
      const bench = createBench();
      const before = await bench.at(status);
      const refusal = { code: 'already_ended', status };
      await expectRefused(bench, before, () => verbs[verb](bench, before, ATTEMPT), refusal);
    },
  );

  test.each(names)('%s of a pending elicitation is refused: the user has not agreed', async verb => {
    const bench = createBench();
    const before = await bench.at('pending');
    await expectRefused(bench, before, () => verbs[verb](bench, before, ATTEMPT), { code: 'illegal_transition' });
  });

  test.each(names)('%s finds no unknown elicitation', async verb => {
    const bench = createBench();
    const elicitation = await bench.pending();
    const unknown = { ...elicitation, elicitationId: newElicitationId(shardOf(alice), systemEntropy) };
    await expect(verbs[verb](bench, unknown, ATTEMPT)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a stale attempt', () => {
  test.each(names)('%s of an attempt that never began is refused, while active and while verifying', async verb => {
    for (const status of ['active', 'verifying'] as const) {
      const bench = createBench();
      const before = await bench.at(status);
      for (const attempt of [digestOf('another'), '', ATTEMPT.toLowerCase()])
        await expectRefused(bench, before, () => verbs[verb](bench, before, attempt), { code: 'illegal_transition' });
    }
  });

  test.each(names)('%s of an attempt that a newer acceptance has replaced is refused', async verb => {
    const bench = createBench();
    const { elicitationId: id } = await bench.at('active');
    const newer = await bench.service.accept(id, signedIn(alice), oneTime(id, 'newer'), ['repo']);
    await expectRefused(bench, newer, () => verbs[verb](bench, newer, ATTEMPT), { code: 'illegal_transition' });
  });

  test.each(names)(
    '%s of the attempt whose response is being verified is refused: only the verifier decides',
    async verb => {
      const bench = createBench();
      const held = await bench.at('verifying');
      const started = digestOf('started');
      await expectRefused(bench, held, () => verbs[verb](bench, held, started), { code: 'illegal_transition' });
    },
  );

  test.each(names)('%s of the attempt of another elicitation is refused', async verb => {
    const bench = createBench();
    const mine = await bench.at('active');
    const other = await bench.pending(mcpServer(), { subject: bob });
    await bench.service.accept(other.elicitationId, signedIn(bob), oneTime(other.elicitationId, 'of bob'), ['repo']);
    await expectRefused(bench, mine, () => verbs[verb](bench, mine, digestOf('of bob')), {
      code: 'illegal_transition',
    });
  });
});

describe('in time', () => {
  test.each(names)('%s one millisecond before expiry counts', async verb => {
    const bench = createBench();
    const before = await bench.at('active');
    bench.clock.set(before.expiresAt - 1);
    expect(await verbs[verb](bench, before, ATTEMPT)).toMatchObject({ status: outcomes[verb].active });
  });

  test.each(names)(
    '%s after expiry finds the elicitation expired, stores nothing, and audits the expiry',
    async verb => {
      const bench = createBench();
      const before = await bench.at('active');
      bench.clock.set(before.expiresAt);
      const audits = await bench.audited(async () => {
        const refusal = { code: 'already_ended', status: 'expired' };
        await expect(verbs[verb](bench, before, ATTEMPT)).rejects.toMatchObject(refusal);
      });
      expect(audits.map(({ type }) => type)).toEqual(['expired']);
      expect(await bench.stores.connections.read(connectionFor(before).connectionId)).toBeUndefined();
    },
  );

  test('completing a verification after expiry finds it failed, and stores nothing', async () => {
    const bench = createBench();
    const before = await bench.at('verifying');
    bench.clock.set(before.expiresAt);
    const audits = await bench.audited(async () => {
      const refusal = { code: 'already_ended', status: 'failed' };
      await expect(verbs.complete(bench, before, ATTEMPT)).rejects.toMatchObject(refusal);
    });
    expect(audits).toMatchObject([{ type: 'failed', failure: 'verification_expired' }]);
    expect(await bench.stores.connections.read(connectionFor(before).connectionId)).toBeUndefined();
  });

  test('a failed verification counts even after expiry', async () => {
    const bench = createBench();
    const before = await bench.at('verifying');
    bench.clock.set(before.expiresAt + 1);
    const failed = await bench.service.fail(before.elicitationId, ATTEMPT, 'wrong_person');
    expect(failed).toMatchObject({ status: 'failed', failure: 'wrong_person' });
  });
});

describe('the record after an attempt', () => {
  test.each(retryReasons)('retry: %s', async retryReason => {
    const bench = createBench();
    const { elicitationId } = await bench.at('active');
    const returned = await bench.service.retry(elicitationId, ATTEMPT, retryReason);
    expect(returned).toMatchObject({ status: 'pending', retryReason });
    expect(returned).not.toHaveProperty('attempt');
  });

  test.each(failureCodes)('fail: %s', async failure => {
    const bench = createBench();
    const { elicitationId } = await bench.at('active');
    const failed = await bench.service.fail(elicitationId, ATTEMPT, failure);
    expect(failed).toMatchObject({ status: 'failed', failure, endedAt: bench.clock.now() });
  });

  test('hold stores the verification in the same commit', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.at('active');
    const verification = oneTime(id, 'verification');
    const held = await bench.service.hold(id, ATTEMPT, verification);
    expect(held).toMatchObject({ status: 'verifying', attempt: verification.record.digest });
    expect(await bench.stores.oneTime.read(shardIn(id), verification.record.digest)).toEqual(verification.record);
  });

  test('complete stores the connection in the same commit, and the outcome names it without its tokens', async () => {
    const bench = createBench();
    const active = await bench.at('active');
    const connection = connectionFor(active, { scopes: ['other', 'repo'], account: { id: '583231', name: 'octocat' } });
    const completed = await bench.service.complete(active.elicitationId, ATTEMPT, connection);
    const { connectionId, provider, scopes } = connection;
    expect(completed).toMatchObject({ outcome: { kind: 'authorization', connectionId, provider, scopes } });
    expect(await bench.stores.connections.read(connectionId)).toMatchObject({ ...connection, generation: 1 });
    expect(JSON.stringify([completed, await bench.allAnnounced(), bench.audits])).not.toContain(
      connection.sealedTokens,
    );
  });
});

describe('I6 a connection for another request is refused, and nothing is written', () => {
  const owned = { owner: 'issue-tracker', provider: 'github' };
  const resource = 'https://api.example.com';
  const foreign: { what: string; change: Partial<NewConnection> }[] = [
    { what: 'another person', change: { subject: bob, connectionId: connectionIdOf({ ...owned, subject: bob }) } },
    { what: 'another person under the id of this one', change: { subject: bob } },
    { what: 'the id of another person', change: { connectionId: connectionIdOf({ ...owned, subject: bob }) } },
    {
      what: 'another provider',
      change: {
        provider: 'gitlab',
        connectionId: connectionIdOf({ ...owned, provider: 'gitlab', subject: alice }),
      },
    },
    {
      what: 'another resource',
      change: { resource, connectionId: connectionIdOf({ ...owned, subject: alice, resource }) },
    },
    { what: 'another owner than its id says', change: { owner: 'calendar' } },
    { what: 'fewer scopes than were asked for', change: { scopes: [] } },
    { what: 'other scopes than were asked for', change: { scopes: ['admin'] } },
    { what: 'another elicitation', change: { elicitationId: newElicitationId(shardOf(alice), systemEntropy) } },
  ];

  test.each(foreign)('$what', async ({ change }) => {
    const bench = createBench();
    const active = await bench.at('active');
    const connection = connectionFor(active, change);
    const call = () => bench.service.complete(active.elicitationId, ATTEMPT, connection);
    await expectRefused(bench, active, call, { name: 'TypeError' });
    expect(await bench.stores.connections.read(connection.connectionId)).toBeUndefined();
  });
});

test('I4 exactly one of many concurrent completions stores its token set', async () => {
  const bench = createBench();
  const active = await bench.at('active');
  const calls = await Promise.allSettled(Array.from({ length: 50 }, () => verbs.complete(bench, active, ATTEMPT)));
  expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await bench.stores.connections.read(connectionFor(active).connectionId)).toMatchObject({ generation: 1 });
  expect(bench.audits.filter(({ type }) => type === 'completed')).toHaveLength(1);
  expect(await bench.announced(active)).toEqual(['elicitation.pending', 'elicitation.active', 'elicitation.completed']);
});
