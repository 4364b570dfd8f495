import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import type { NewCredential } from './credential.ts';
import type { Elicitation } from './elicitation.ts';
import type { ElicitationStore } from './elicitation-store.ts';
import { credentialIdOf, newElicitationId, shardOf, systemEntropy } from './ids.ts';
import { answer, answered, approval, asked, credentialFor, person, type Sample, shown } from './testing/kind-bench.ts';
import { alice, bob, mcpServer, signedIn, TTL_MS } from './testing/samples.ts';
import { createServiceBench } from './testing/service-bench.ts';
import { storeWith } from './testing/store-with.ts';

function createBench(wrap: (elicitations: ElicitationStore) => ElicitationStore = it => it) {
  const clock = createFakeClock();
  const stores = createSqliteStores({ path: ':memory:', now: clock.now });
  return createServiceBench({ ...stores, elicitations: wrap(stores.elicitations) }, clock);
}
type Bench = ReturnType<typeof createBench>;

const typed = ['form', 'once', 'lasting'] as const satisfies Sample[];
const unknownId = newElicitationId(shardOf(alice), systemEntropy);
const result = (sample: Sample, of: Elicitation) =>
  sample === 'lasting' ? { credential: credentialFor(of) } : { sealed: 'sealed result' };
const submit = ({ service }: Bench, sample: Sample, of: Elicitation, change: object = {}, visitor = person) =>
  service.submit(of.elicitationId, visitor, { shown: shown(sample), ...result(sample, of), ...change });

async function expectUnchanged(bench: Bench, before: Elicitation, call: () => Promise<unknown>, refusal: object) {
  const announced = (await bench.allAnnounced()).length;
  const audits = await bench.audited(() => expect(call()).rejects.toMatchObject(refusal));
  expect(audits.filter(({ type }) => type !== 'wrong_person')).toEqual([]);
  expect(await bench.allAnnounced()).toHaveLength(announced);
  expect(await bench.service.find(before.elicitationId)).toEqual(before);
  expect(await bench.stores.credentials.list(alice)).toEqual([]);
}

describe('submit', () => {
  test.each(typed)(
    'a submission ends a %s in one commit, audited once, and the record contains nothing typed',
    async sample => {
      const bench = createBench();
      const before = await asked(bench, sample);
      const audits = await bench.audited(async () => {
        const end = await submit(bench, sample, before);
        expect(end).toMatchObject({ status: 'completed', version: 2, outcome: { kind: before.request.kind } });
        expect(JSON.stringify(end)).not.toContain('sealed');
      });
      expect(audits.map(({ type }) => type)).toEqual(['completed']);
      expect(JSON.stringify([bench.audits, await bench.allAnnounced()])).not.toContain('sealed');
      expect(await bench.announced(before)).toEqual(['elicitation.pending', 'elicitation.completed']);
    },
  );

  test('a lasting credential is stored in the same commit and named by the outcome', async () => {
    const bench = createBench();
    const before = await asked(bench, 'lasting');
    const { credentialId, ...credential } = credentialFor(before);
    expect(await submit(bench, 'lasting', before)).toMatchObject({ outcome: { name: 'acme-api', credentialId } });
    expect(await bench.stores.credentials.read(credentialId)).toMatchObject({ ...credential, generation: 1 });
  });

  test.each(typed)('refuses a submission for another request than the shown one: %s', async sample => {
    const bench = createBench();
    const before = await asked(bench, sample);
    for (const digest of ['', shown('payment'), `${shown(sample)} `])
      await expectUnchanged(bench, before, () => submit(bench, sample, before, { shown: digest }), {
        code: 'request_changed',
      });
  });

  test.each(typed)('double click, reload and second tab get the stored result: %s', async sample => {
    const bench = createBench();
    const end = await answered(bench, sample);
    const audits = await bench.audited(async () => {
      expect(await submit(bench, sample, end)).toEqual(end);
      bench.clock.set(end.expiresAt + TTL_MS);
      expect(await submit(bench, sample, end, { attempt: 'of another tab' })).toEqual(end);
    });
    expect(audits).toEqual([]);
  });

  test.each(typed)('stores one of 50 concurrent submissions: %s', async sample => {
    const bench = createBench();
    const before = await asked(bench, sample);
    const ends = await Promise.all(Array.from({ length: 50 }, () => submit(bench, sample, before)));
    expect(new Set(ends.map(end => JSON.stringify(end))).size).toBe(1);
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued', 'completed']);
    for (const credential of await bench.stores.credentials.list(alice)) expect(credential.generation).toBe(1);
  });

  test.each(typed)('a submission by another person changes nothing: %s', async sample => {
    const bench = createBench();
    const before = await asked(bench, sample);
    for (const stranger of [signedIn(bob), signedIn(alice, 'issue-tracker')])
      await expectUnchanged(bench, before, () => submit(bench, sample, before, {}, stranger), { code: 'wrong_person' });
  });

  test.each(typed)('refuses a submission after another end: %s', async sample => {
    const bench = createBench();
    const before = await asked(bench, sample);
    const ended = await bench.service.decline(before.elicitationId, person);
    await expectUnchanged(bench, ended, () => submit(bench, sample, ended), { code: 'already_ended' });
  });

  test.each(typed)(
    'a submission one millisecond before expiry counts; later the elicitation has expired: %s',
    async sample => {
      const early = createBench();
      const inTime = await asked(early, sample);
      early.clock.set(inTime.expiresAt - 1);
      expect(await submit(early, sample, inTime)).toMatchObject({ status: 'completed' });
      const late = createBench();
      const over = await asked(late, sample);
      late.clock.set(over.expiresAt);
      const refusal = { code: 'already_ended', status: 'expired' };
      await expect(submit(late, sample, over)).rejects.toMatchObject(refusal);
      expect(late.audits.map(({ type }) => type)).toEqual(['issued', 'expired']);
      expect(await late.stores.credentials.list(alice)).toEqual([]);
    },
  );

  test('a submission that races with expiry ends the elicitation once', async () => {
    let before: (() => void) | undefined;
    const bench = createBench(inner =>
      storeWith(inner, {
        transition: async request => {
          before?.();
          return inner.transition(request);
        },
      }),
    );
    const form = await asked(bench, 'form');
    bench.clock.set(form.expiresAt - 1);
    let nth = 0;
    before = () => {
      nth += 1;
      if (nth === 3) bench.clock.set(form.expiresAt);
    };
    // Two transitions come before `expiresAt`; the first one after it expires the elicitation.
    const calls = await Promise.allSettled([
      bench.service.expire(form.elicitationId),
      bench.service.expire(form.elicitationId),
      submit(bench, 'form', form),
      bench.service.expire(form.elicitationId),
      submit(bench, 'form', form),
    ]);
    const end = await bench.service.find(form.elicitationId);
    expect(end).toMatchObject({ status: 'expired', version: 2 });
    expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued', 'expired']);
  });

  test('refuses a submission of a kind without typed values, and finds no unknown elicitation', async () => {
    for (const sample of ['payment', 'approval', 'confirmation'] as const) {
      const bench = createBench();
      const before = await asked(bench, sample);
      await expectUnchanged(bench, before, () => submit(bench, sample, before), { code: 'illegal_transition' });
    }
    const { service } = createBench();
    const call = service.submit(unknownId, person, { shown: '', sealed: '' });
    await expect(call).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each(['form', 'once'] as const)(
    'a %s is never stored as a lasting credential, and a lasting credential never as a result',
    async sample => {
      const bench = createBench();
      const before = await asked(bench, sample);
      const asCredential = () =>
        bench.service.submit(before.elicitationId, person, { shown: shown(sample), credential: credentialFor(before) });
      await expectUnchanged(bench, before, asCredential, { name: 'TypeError' });
      const lasting = await asked(bench, 'lasting');
      const asResult = () =>
        bench.service.submit(lasting.elicitationId, person, { shown: shown('lasting'), sealed: 'sealed' });
      await expectUnchanged(bench, lasting, asResult, { name: 'TypeError' });
    },
  );

  const owned = { owner: 'issue-tracker', name: 'acme-api' };
  const foreign: { what: string; change: Partial<NewCredential> }[] = [
    { what: 'another person', change: { subject: bob, credentialId: credentialIdOf({ ...owned, subject: bob }) } },
    { what: 'another person under the id of this one', change: { subject: bob } },
    { what: 'the id of another person', change: { credentialId: credentialIdOf({ ...owned, subject: bob }) } },
    {
      what: 'another name',
      change: { name: 'other', credentialId: credentialIdOf({ ...owned, name: 'other', subject: alice }) },
    },
    { what: 'another owner than its id says', change: { owner: 'calendar' } },
    { what: 'fewer fields', change: { fields: ['key'] } },
    { what: 'other fields', change: { fields: ['region', 'key'] } },
    { what: 'another elicitation', change: { elicitationId: unknownId } },
  ];
  test.each(foreign)('I6 a credential of $what is refused, and nothing is written', async ({ change }) => {
    const bench = createBench();
    const before = await asked(bench, 'lasting');
    const credential = credentialFor(before, change);
    await expectUnchanged(bench, before, () => submit(bench, 'lasting', before, { credential }), { name: 'TypeError' });
  });
});

describe('a live check', () => {
  const begin = ({ service }: Bench, of: Elicitation, attempt: string, visitor = person) =>
    service.beginCheck(of.elicitationId, visitor, attempt);

  test.each(['once', 'lasting'] as const)('a live check that succeeds completes: %s', async sample => {
    const bench = createBench();
    const before = await asked(bench, sample);
    const audits = await bench.audited(async () => {
      expect(await begin(bench, before, 'check-1')).toMatchObject({ status: 'active', attempt: 'check-1', version: 2 });
      expect(await submit(bench, sample, before, { attempt: 'check-1' })).toMatchObject({
        status: 'completed',
        version: 3,
      });
    });
    expect(audits.map(({ type }) => type)).toEqual(['accepted', 'completed']);
  });

  test.each(['credential_rejected', 'check_unavailable'] as const)(
    'a live check that ends in %s lets the user type again',
    async retryReason => {
      const bench = createBench();
      const before = await asked(bench, 'once');
      await begin(bench, before, 'check-1');
      const back = await bench.service.retry(before.elicitationId, 'check-1', retryReason);
      expect(back).toMatchObject({ status: 'pending', retryReason });
      const stale = () => submit(bench, 'once', before, { attempt: 'check-1' });
      await expectUnchanged(bench, back, stale, { code: 'illegal_transition' });
      const again = await begin(bench, before, 'check-2');
      expect(again).toMatchObject({ status: 'active', attempt: 'check-2' });
      expect(again).not.toHaveProperty('retryReason');
    },
  );

  test('after a newer live check, neither success nor failure of the older one counts', async () => {
    const bench = createBench();
    const before = await asked(bench, 'lasting');
    await begin(bench, before, 'check-1');
    const newer = await begin(bench, before, 'check-2');
    expect(newer).toMatchObject({ attempt: 'check-2', version: 3 });
    const illegal = { code: 'illegal_transition' };
    await expectUnchanged(bench, newer, () => submit(bench, 'lasting', newer, { attempt: 'check-1' }), illegal);
    const failing = () => bench.service.retry(newer.elicitationId, 'check-1', 'credential_rejected');
    await expectUnchanged(bench, newer, failing, illegal);
  });

  test('a live check begun twice under one name is begun once', async () => {
    const bench = createBench();
    const before = await asked(bench, 'once');
    const first = await begin(bench, before, 'check-1');
    expect(await begin(bench, before, 'check-1')).toEqual(first);
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued', 'accepted']);
  });

  test('a dead live check does not prevent a submission without one', async () => {
    const bench = createBench();
    const before = await asked(bench, 'once');
    await begin(bench, before, 'check-1');
    expect(await submit(bench, 'once', before)).toMatchObject({ status: 'completed', version: 3 });
  });

  test('refuses a live check by another person, after another end, or of another kind', async () => {
    const bench = createBench();
    const before = await asked(bench, 'once');
    await expectUnchanged(bench, before, () => begin(bench, before, 'x', signedIn(bob)), { code: 'wrong_person' });
    const ended = await bench.service.cancel(mcpServer(), before.elicitationId);
    await expectUnchanged(bench, ended, () => begin(bench, ended, 'x'), { code: 'already_ended' });
    for (const sample of ['form', 'payment', 'confirmation'] as const) {
      const other = await asked(bench, sample);
      await expectUnchanged(bench, other, () => begin(bench, other, 'x'), { code: 'illegal_transition' });
    }
  });

  test('a live check returns the record if another tab has completed it', async () => {
    const bench = createBench();
    const end = await answered(bench, 'once');
    expect(await begin(bench, end, 'x')).toEqual(end);
  });

  test('a live check that ends after expiry does not count', async () => {
    const bench = createBench();
    const before = await asked(bench, 'once');
    await begin(bench, before, 'check-1');
    bench.clock.set(before.expiresAt);
    const refusal = { code: 'already_ended', status: 'expired' };
    await expect(submit(bench, 'once', before, { attempt: 'check-1' })).rejects.toMatchObject(refusal);
  });
});

test('approving and submitting do not mix', async () => {
  const bench = createBench();
  const form = await asked(bench, 'form');
  const call = () => bench.service.approve(form.elicitationId, person, { shown: shown('form'), approval });
  await expectUnchanged(bench, form, call, { code: 'illegal_transition' });
  expect(await answer(bench, form, 'form')).toMatchObject({ status: 'completed' });
});
