import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import type { Charge, Elicitation } from './elicitation.ts';
import { approve, expectUnchanged, unknownId } from './testing/approval-bench.ts';
import { answered, approval, asked, chargeAt, charging, person, requests, shown } from './testing/kind-bench.ts';
import { alice, bob, mcpServer, oneTime, signedIn, TTL_MS } from './testing/samples.ts';
import { createServiceBench } from './testing/service-bench.ts';

function createBench() {
  const clock = createFakeClock();
  return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
}
type Bench = ReturnType<typeof createBench>;

async function charged({ service }: Bench, { elicitationId }: Elicitation) {
  const found = await service.find(elicitationId);
  if (found?.status !== 'active') throw new Error('Not charging.');
  return found;
}

describe('approve', () => {
  test.each(['confirmation', 'approval'] as const)(
    'an approval ends a %s in one commit, audited once',
    async sample => {
      const bench = createBench();
      const before = await asked(bench, sample);
      const { elicitationId, mcpServerId, subject } = before;
      const audits = await bench.audited(async () => {
        const { kind, digest } = requests[sample];
        const processor = sample === 'approval' ? { processor: 'none' } : {};
        expect(await approve(bench, before, sample)).toMatchObject({
          status: 'completed',
          version: 2,
          outcome: { kind, digest, approval, ...processor },
        });
      });
      expect(audits).toEqual([{ type: 'approved', method: 'passkey', elicitationId, mcpServerId, subject }]);
      expect(await bench.announced(before)).toEqual(['elicitation.pending', 'elicitation.completed']);
    },
  );

  test('an approved payment at a processor is charging, under an attempt id that cannot be guessed', async () => {
    const bench = createBench();
    const before = await asked(bench, 'payment');
    const audits = await bench.audited(async () => {
      const approved = await approve(bench, before, 'payment');
      expect(approved).toMatchObject({ status: 'active', approval, attempt: expect.stringMatching(/^[\w-]{22}$/) });
      expect(approved).not.toHaveProperty('charge');
    });
    expect(audits.map(({ type }) => type)).toEqual(['approved']);
    const other = await charging(createBench());
    expect(other.attempt).not.toBe((await charged(bench, before)).attempt);
  });

  test.each(['payment', 'approval', 'confirmation'] as const)(
    'S36 refuses an approval of other content than the request, before and after the end: %s',
    async sample => {
      const bench = createBench();
      const before = await asked(bench, sample);
      const forged = (digest: string) => () =>
        bench.service.approve(before.elicitationId, person, { shown: digest, approval });
      const digests = ['', 'x', shown('once'), shown(sample).toLowerCase(), `${shown(sample)} `];
      for (const digest of digests) await expectUnchanged(bench, before, forged(digest), { code: 'request_changed' });
      const after = await approve(bench, before, sample);
      for (const digest of digests) await expectUnchanged(bench, after, forged(digest), { code: 'request_changed' });
    },
  );

  test.each(['payment', 'approval', 'confirmation'] as const)(
    'T31 double click, reload and second tab get the committed record: %s',
    async sample => {
      const bench = createBench();
      const first = await approve(bench, await asked(bench, sample), sample);
      const audits = await bench.audited(async () => {
        expect(await approve(bench, first, sample)).toEqual(first);
        bench.clock.set(first.expiresAt + TTL_MS);
        expect(await approve(bench, first, sample)).toEqual(first);
      });
      expect(audits).toEqual([]);
      expect(await bench.announced(first)).toHaveLength(first.version);
    },
  );

  test('an approval of a payment that was paid meanwhile returns the stored record', async () => {
    const bench = createBench();
    const paid = await answered(bench, 'payment');
    expect(await approve(bench, paid, 'payment')).toEqual(paid);
  });

  test.each(['payment', 'approval', 'confirmation'] as const)(
    'S37 L6 commits one of 50 concurrent approvals: %s',
    async sample => {
      const bench = createBench();
      const before = await asked(bench, sample);
      const audits = await bench.audited(async () => {
        const answers = await Promise.all(Array.from({ length: 50 }, () => approve(bench, before, sample)));
        expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1);
      });
      expect(audits.map(({ type }) => type)).toEqual(['approved']);
      expect(await bench.announced(before)).toHaveLength(2);
    },
  );

  test.each(['payment', 'approval', 'confirmation'] as const)(
    'an approval by another person changes nothing: %s',
    async sample => {
      const bench = createBench();
      const before = await asked(bench, sample);
      const strangers = [signedIn(bob), signedIn(alice, 'calendar'), { kind: 'loopback' } as const];
      for (const stranger of strangers) {
        const call = () => bench.service.approve(before.elicitationId, stranger, { shown: shown(sample), approval });
        await expectUnchanged(bench, before, call, { code: 'wrong_person' });
      }
      const after = await approve(bench, before, sample);
      await expectUnchanged(bench, after, () => approve(bench, after, sample, signedIn(bob)), { code: 'wrong_person' });
    },
  );

  test.each(['declined', 'cancelled', 'expired'] as const)('refuses an approval of a %s elicitation', async status => {
    const bench = createBench();
    const before = await asked(bench, 'confirmation');
    const { elicitationId: id } = before;
    if (status === 'declined') await bench.service.decline(id, person);
    if (status === 'cancelled') await bench.service.cancel(mcpServer(), id);
    if (status === 'expired') bench.clock.set(before.expiresAt);
    await expect(approve(bench, before, 'confirmation')).rejects.toMatchObject({ code: 'already_ended', status });
    expect(await bench.service.find(id)).toMatchObject({ status });
  });

  test('refuses an approval of a kind without approval, and finds no unknown elicitation', async () => {
    for (const sample of ['form', 'once', 'lasting'] as const) {
      const bench = createBench();
      const before = await asked(bench, sample);
      await expectUnchanged(bench, before, () => approve(bench, before, sample), { code: 'illegal_transition' });
    }
    const bench = createBench();
    const before = await bench.pending();
    await expectUnchanged(bench, before, () => approve(bench, before, 'payment'), { code: 'illegal_transition' });
    const call = bench.service.approve(unknownId, person, { shown: '', approval });
    await expect(call).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each(['payment', 'confirmation', 'form', 'once'] as const)(
    'only an approval or a submission completes a %s',
    async sample => {
      const bench = createBench();
      const before = await asked(bench, sample);
      const call = () => bench.service.accept(before.elicitationId, person, oneTime(before.elicitationId, 'x'), []);
      await expectUnchanged(bench, before, call, { code: 'illegal_transition' });
    },
  );
});

describe('while charging', () => {
  const attempts: {
    verb: string;
    call: (bench: Bench, id: Elicitation['elicitationId'], attempt: string) => Promise<unknown>;
  }[] = [
    { verb: 'decline', call: ({ service }, id) => service.decline(id, person) },
    { verb: 'cancel', call: ({ service }, id) => service.cancel(mcpServer(), id) },
    { verb: 'expire', call: ({ service }, id) => service.expire(id) },
    { verb: 'accept', call: ({ service }, id) => service.accept(id, person, oneTime(id, 'x'), []) },
    { verb: 'retry', call: ({ service }, id, attempt) => service.retry(id, attempt, 'start_again') },
  ];
  test.each(attempts)('$verb is refused while charging, before and after expiry', async ({ call }) => {
    const bench = createBench();
    const before = await charging(bench);
    const run = () => call(bench, before.elicitationId, before.attempt);
    await expectUnchanged(bench, before, run, { code: 'payment_in_progress' });
    bench.clock.set(before.expiresAt + 1);
    await expectUnchanged(bench, before, run, { code: 'payment_in_progress' });
  });

  test('refuses fail, hold and complete of a payment', async () => {
    const bench = createBench();
    const before = await charging(bench);
    const { elicitationId: id, attempt } = before;
    for (const call of [
      () => bench.service.fail(id, attempt, 'provider_refused'),
      () => bench.service.hold(id, attempt, oneTime(id, 'x')),
    ])
      await expectUnchanged(bench, before, call, { code: 'illegal_transition' });
  });

  describe('recordCharge', () => {
    const note = ({ service }: Bench, { elicitationId }: Elicitation, attempt: string, charge: Charge = chargeAt) =>
      service.recordCharge(elicitationId, attempt, charge);

    test('recording a charge keeps the approval, and repeating it changes nothing', async () => {
      const bench = createBench();
      const before = await charging(bench);
      bench.clock.set(before.expiresAt + 1);
      const audits = await bench.audited(async () => {
        const noted = await note(bench, before, before.attempt);
        expect(noted).toEqual({ ...before, version: 3, charge: chargeAt });
        expect(await note(bench, before, before.attempt)).toEqual(noted);
        expect(await note(bench, before, before.attempt, { ...chargeAt, url: 'https://other.example.com' })).toEqual(
          noted,
        );
      });
      expect(audits.map(({ type }) => type)).toEqual(['charged']);
    });

    test('refuses another charge, a stale attempt and an elicitation that is not charging', async () => {
      const bench = createBench();
      const before = await charging(bench);
      const noted = await note(bench, before, before.attempt);
      const illegal = { code: 'illegal_transition' };
      const other = { ...chargeAt, reference: 'cs_2' };
      await expectUnchanged(bench, noted, () => note(bench, noted, before.attempt, other), illegal);
      await expectUnchanged(bench, noted, () => note(bench, noted, 'another'), illegal);
      const form = await asked(bench, 'form');
      await expectUnchanged(bench, form, () => note(bench, form, ''), illegal);
    });

    test('commits one of 50 concurrent charges', async () => {
      const bench = createBench();
      const before = await charging(bench);
      const noted = await Promise.all(Array.from({ length: 50 }, () => note(bench, before, before.attempt)));
      expect(new Set(noted.map(({ version }) => version))).toEqual(new Set([3]));
      expect(bench.audits.filter(({ type }) => type === 'charged')).toHaveLength(1);
    });
  });
});
