import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import type { ElicitationStatus } from './elicitation.ts';
import { digestOf, newElicitationId, shardIn, shardOf, systemEntropy } from './ids.ts';
import { alice, bob, mcpServer, oneTime, signedIn } from './testing/samples.ts';
import { createServiceBench } from './testing/service-bench.ts';

function createBench() {
  const clock = createFakeClock();
  return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
}

const person = signedIn(alice);
const terminal = ['completed', 'failed', 'declined', 'cancelled', 'expired'] as const;
const unknownId = newElicitationId(shardOf(alice), systemEntropy);

type Bench = ReturnType<typeof createBench>;
type Verb = 'accept' | 'decline' | 'cancel';
const verbs: Record<Verb, (bench: Bench, id: `el_${string}`) => Promise<unknown>> = {
  accept: ({ service }, id) => service.accept(id, person, oneTime(id, 'newest'), ['repo']),
  decline: ({ service }, id) => service.decline(id, person),
  cancel: ({ service }, id) => service.cancel(mcpServer(), id),
};

/** The result of each verb by status: a status, or the code of the refusal. */
const outcomes: Record<Verb, Record<ElicitationStatus, string>> = {
  accept: {
    pending: 'active',
    active: 'active',
    verifying: 'illegal_transition',
    completed: 'already_ended',
    failed: 'already_ended',
    declined: 'already_ended',
    cancelled: 'already_ended',
    expired: 'already_ended',
  },
  decline: {
    pending: 'declined',
    active: 'declined',
    verifying: 'illegal_transition',
    completed: 'already_ended',
    failed: 'already_ended',
    declined: 'declined',
    cancelled: 'already_ended',
    expired: 'already_ended',
  },
  cancel: {
    pending: 'cancelled',
    active: 'cancelled',
    verifying: 'illegal_transition',
    completed: 'already_ended',
    failed: 'already_ended',
    declined: 'already_ended',
    cancelled: 'cancelled',
    expired: 'already_ended',
  },
};
const cells = (Object.keys(outcomes) as Verb[]).flatMap(verb =>
  (Object.keys(outcomes[verb]) as ElicitationStatus[]).map(status => ({
    verb,
    status,
    outcome: outcomes[verb][status],
  })),
);

describe('S11 decisions in every status', () => {
  test.each(cells)('$verb of a $status elicitation: $outcome', async ({ verb, status, outcome }) => {
    const bench = createBench();
    const before = await bench.at(status);
    const announced = (await bench.announced(before)).length;
    let isRefused = false;
    const audits = await bench.audited(async () => {
      const result = await verbs[verb](bench, before.elicitationId).catch((error: { code: string }) => {
        isRefused = true;
        return error.code;
      });
      expect(isRefused ? result : (result as { status: string }).status).toBe(outcome);
    });
    const after = await bench.service.find(before.elicitationId);
    // A refusal and a repeat leave no trace in the record, the events or the audit log.
    const isEffective = !isRefused && !(status === outcome && status !== 'active');
    if (isEffective) {
      expect(after).toMatchObject({ status: outcome, version: before.version + 1 });
      expect(audits).toEqual([
        {
          type: { accept: 'accepted', decline: 'declined', cancel: 'cancelled' }[verb],
          elicitationId: before.elicitationId,
          mcpServerId: 'issue-tracker',
          subject: alice,
        },
      ]);
    } else {
      expect(after).toEqual(before);
      expect(audits).toEqual([]);
    }
    expect(await bench.announced(before)).toHaveLength(announced + (isEffective ? 1 : 0));
  });

  test.each(terminal)('the refusal names the end: %s', async status => {
    const bench = createBench();
    const { elicitationId } = await bench.at(status);
    await expect(verbs.accept(bench, elicitationId)).rejects.toMatchObject({ code: 'already_ended', status });
  });

  test.each(Object.keys(verbs) as Verb[])('%s finds no unknown elicitation', async verb => {
    const bench = createBench();
    await expect(verbs[verb](bench, unknownId)).rejects.toMatchObject({ code: 'not_found' });
    expect(bench.audits).toEqual([]);
  });

  test.each(Object.keys(verbs) as Verb[])('%s after expiry reports that the elicitation has expired', async verb => {
    for (const status of ['pending', 'active'] as const) {
      const bench = createBench();
      const { elicitationId, expiresAt } = await bench.at(status);
      bench.clock.set(expiresAt);
      const audits = await bench.audited(async () => {
        await expect(verbs[verb](bench, elicitationId)).rejects.toMatchObject({
          code: 'already_ended',
          status: 'expired',
        });
      });
      expect(audits.map(({ type }) => type)).toEqual(['expired']);
      expect(await bench.service.find(elicitationId)).toMatchObject({ status: 'expired', endedAt: expiresAt });
    }
  });

  test.each(Object.keys(verbs) as Verb[])('%s one millisecond before expiry counts', async verb => {
    const bench = createBench();
    const { elicitationId, expiresAt } = await bench.pending();
    bench.clock.set(expiresAt - 1);
    await expect(verbs[verb](bench, elicitationId)).resolves.toMatchObject({ version: 2 });
  });
});

describe('S03 only the subject decides', () => {
  test.each(['accept', 'decline'] as const)('%s by another person is refused and invalidates nothing', async verb => {
    for (const status of ['pending', 'active', 'verifying', ...terminal] as const) {
      const bench = createBench();
      const before = await bench.at(status);
      const { elicitationId: id } = before;
      const stranger = signedIn(bob);
      const audits = await bench.audited(async () => {
        const call =
          verb === 'accept'
            ? bench.service.accept(id, stranger, oneTime(id, 'stolen'), ['repo'])
            : bench.service.decline(id, stranger);
        // Another person does not even learn that it has ended.
        await expect(call).rejects.toMatchObject({ code: 'wrong_person' });
      });
      expect(audits).toEqual([
        { type: 'wrong_person', elicitationId: id, mcpServerId: 'issue-tracker', subject: alice, visitor: bob },
      ]);
      expect(await bench.service.find(id)).toEqual(before);
      expect(await bench.stores.oneTime.read(shardIn(id), digestOf('stolen'))).toBeUndefined();
    }
  });

  test.each([
    { mode: 'login', visitor: person, may: true },
    { mode: 'login', visitor: signedIn(alice, 'issue-tracker'), may: false },
    { mode: 'external', visitor: signedIn(alice, 'issue-tracker'), may: true },
    { mode: 'external', visitor: signedIn(alice, 'calendar'), may: false },
    { mode: 'external', visitor: person, may: false },
    { mode: 'loopback', visitor: { kind: 'loopback' }, may: true },
    { mode: 'loopback', visitor: person, may: false },
    { mode: 'login', visitor: { kind: 'loopback' }, may: false },
  ] as const)('in mode $mode, $visitor may decide: $may', async ({ mode, visitor, may }) => {
    for (const verb of ['accept', 'decline'] as const) {
      const bench = createBench();
      const { elicitationId: id } = await bench.pending(mcpServer({ identityMode: mode }));
      const call =
        verb === 'accept'
          ? bench.service.accept(id, visitor, oneTime(id, 'a'), ['repo'])
          : bench.service.decline(id, visitor);
      if (may) await expect(call).resolves.toMatchObject({ version: 2 });
      else await expect(call).rejects.toMatchObject({ code: 'wrong_person' });
    }
  });

  test('I6 cancelling the elicitation of another MCP server finds nothing, whatever its status', async () => {
    for (const status of ['pending', 'active', 'verifying', ...terminal] as const) {
      const bench = createBench();
      const before = await bench.at(status);
      const call = bench.service.cancel(mcpServer({ mcpServerId: 'calendar' }), before.elicitationId);
      await expect(call).rejects.toMatchObject({ code: 'not_found' });
      expect(await bench.service.find(before.elicitationId)).toEqual(before);
    }
  });
});

describe('accept', () => {
  test('accept stores the transaction in the same commit', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const transaction = oneTime(id, 'first');
    expect(await bench.service.accept(id, person, transaction, ['repo'])).toMatchObject({
      attempt: transaction.record.digest,
    });
    expect(await bench.stores.oneTime.read(shardIn(id), transaction.record.digest)).toEqual(transaction.record);
    bench.clock.advance(transaction.ttlMs);
    expect(await bench.stores.oneTime.read(shardIn(id), transaction.record.digest)).toBeUndefined();
  });

  test('a second acceptance replaces the attempt, which can no longer end the elicitation', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    await bench.service.accept(id, person, oneTime(id, 'first'), ['repo']);
    const second = await bench.service.accept(id, person, oneTime(id, 'second'), ['repo']);
    expect(second).toMatchObject({ status: 'active', attempt: digestOf('second'), version: 3 });
    expect(await bench.announced(second)).toEqual(['elicitation.pending', 'elicitation.active', 'elicitation.active']);
    const stale = bench.service.fail(id, digestOf('first'), 'provider_refused');
    await expect(stale).rejects.toMatchObject({ code: 'illegal_transition' });
    expect(await bench.service.find(id)).toEqual(second);
  });

  test('refuses an acceptance of fewer scopes than now requested, and changes nothing', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const request = { kind: 'authorization', provider: 'github', scopes: ['admin'] } as const;
    await bench.issue(mcpServer(), { request });
    const before = await bench.service.find(id);
    const audits = await bench.audited(async () => {
      for (const agreed of [['repo'], ['admin'], []]) {
        const call = bench.service.accept(id, person, oneTime(id, 'first'), agreed);
        await expect(call).rejects.toMatchObject({ code: 'request_changed' });
      }
    });
    expect(audits).toEqual([]);
    expect(await bench.service.find(id)).toEqual(before);
    expect(await bench.stores.oneTime.read(shardIn(id), digestOf('first'))).toBeUndefined();
    const accepted = await bench.service.accept(id, person, oneTime(id, 'first'), ['admin', 'repo']);
    expect(accepted).toMatchObject({ status: 'active', request: { scopes: ['admin', 'repo'] } });
  });

  test('after a retry, accepting begins a new attempt without the earlier retry reason', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    await bench.service.accept(id, person, oneTime(id, 'first'), ['repo']);
    expect(await bench.service.retry(id, digestOf('first'), 'provider_denied')).toMatchObject({
      retryReason: 'provider_denied',
    });
    const again = await bench.service.accept(id, person, oneTime(id, 'second'), ['repo']);
    expect(again).not.toHaveProperty('retryReason');
  });
});

describe('from a record that the caller has read', () => {
  test('declines from an earlier record although it has changed since', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const read = await bench.service.find(id);
    if (read === undefined) throw new TypeError('no record');
    await bench.service.accept(id, person, oneTime(id, 'attempt'), ['repo']);
    expect(await bench.service.decline(read, person)).toMatchObject({ status: 'declined' });
    expect(await bench.service.find(id)).toMatchObject({ status: 'declined' });
  });

  test('refuses to decline an elicitation that has ended since, and writes nothing', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const read = await bench.service.find(id);
    if (read === undefined) throw new TypeError('no record');
    const ended = await bench.service.cancel(mcpServer(), id);
    await expect(bench.service.decline(read, person)).rejects.toMatchObject({ code: 'already_ended' });
    expect(await bench.service.find(id)).toEqual(ended);
  });
});

describe('concurrent decisions', () => {
  test('concurrent accept, decline and cancel reach, audit and announce exactly one end', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const calls = Array.from({ length: 5 }, () => [
      bench.service.decline(id, person),
      bench.service.cancel(mcpServer(), id),
      bench.service.accept(id, person, oneTime(id, 'attempt'), ['repo']),
    ]).flat();
    await Promise.allSettled(calls);
    const ends = bench.audits.filter(({ type }) => type === 'declined' || type === 'cancelled');
    expect(ends).toHaveLength(1);
    const end = await bench.service.find(id);
    expect(end?.status).toBe(ends[0]?.type);
    expect((await bench.announced({ elicitationId: id })).at(-1)).toBe(`elicitation.${end?.status}`);
    expect(await bench.announced({ elicitationId: id })).toHaveLength(end?.version ?? 0);
  });
});
