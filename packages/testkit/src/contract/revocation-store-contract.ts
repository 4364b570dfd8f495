import { type NewRevocation, newRevocationId, type Subject, shardIn, systemEntropy } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { crowd, suite } from './contract-stores.ts';
import { ask, MINUTE, shardFor, somebody } from './samples.ts';

const LEASE_MS = MINUTE;

export const describeRevocationStore = suite('revocations', stores => {
  function revocationOf(subject: Subject = somebody(), change: Partial<NewRevocation> = {}): NewRevocation {
    const { elicitationId } = ask(subject).elicitation;
    const revocationId = newRevocationId(shardFor(subject), systemEntropy);
    return {
      revocationId,
      owner: 'issue-tracker',
      subject,
      provider: 'github',
      elicitationId,
      sealedTokens: 'sealed-tokens',
      ...change,
    };
  }

  async function added(subject?: Subject, change?: Partial<NewRevocation>): Promise<NewRevocation> {
    const revocation = revocationOf(subject, change);
    await stores.revocations.add(revocation);
    return revocation;
  }

  /** Claims of this test only. Other tests may have users in the same shard. */
  async function claim(of: Subject, limit = 1_000) {
    const claimed = await stores.revocations.claim(shardFor(of), { limit, leaseMs: LEASE_MS });
    return claimed.filter(({ subject }) => subject.subject === of.subject);
  }

  test('a revocation is due immediately and is claimed with all its members', async () => {
    const person = somebody();
    const revocation = await added(person, { resource: 'https://api.example.com' });
    const plain = await added(person);
    const createdAt = stores.clock.now();
    const claimed = await claim(person);
    expect(claimed).toHaveLength(2);
    expect(claimed).toEqual(expect.arrayContaining([revocation, plain].map(of => ({ ...of, createdAt, attempts: 1 }))));
    expect(claimed.find(({ revocationId }) => revocationId === plain.revocationId)).not.toHaveProperty('resource');
  });

  test('adding a revocation again changes nothing', async () => {
    const revocation = await added();
    await claim(revocation.subject);
    await stores.revocations.add({ ...revocation, sealedTokens: 'others' });
    expect(await claim(revocation.subject)).toEqual([]);
    stores.clock.advance(LEASE_MS);
    expect(await claim(revocation.subject)).toMatchObject([{ sealedTokens: 'sealed-tokens', attempts: 2 }]);
  });

  test('one of many concurrent callers claims a revocation each time its lease expires', async () => {
    const { subject } = await added();
    for (const attempts of [1, 2]) {
      const claims = (await crowd(() => claim(subject))).flat();
      expect(claims).toMatchObject([{ attempts }]);
      stores.clock.advance(LEASE_MS - 1);
      expect(await claim(subject)).toEqual([]);
      stores.clock.advance(1);
    }
  });

  test('only one of many concurrent callers claims a revocation by its id', async () => {
    const { subject, revocationId } = await added();
    const claims = await crowd(() => stores.revocations.claimOne(revocationId, LEASE_MS));
    expect(claims.filter(found => found !== undefined)).toMatchObject([{ revocationId, attempts: 1 }]);
    expect(await claim(subject)).toEqual([]);
    stores.clock.advance(LEASE_MS);
    expect(await claim(subject)).toMatchObject([{ attempts: 2 }]);
    expect(await stores.revocations.claimOne(revocationId, LEASE_MS)).toBeUndefined();
  });

  test('claims the oldest due revocations first, up to the limit', async () => {
    const person = somebody();
    // Claims revocations that other tests have left in this shard.
    await stores.revocations.claim(shardFor(person), { limit: 1_000, leaseMs: 60 * MINUTE });
    const first = await added(person);
    stores.clock.advance(1);
    const second = await added(person);
    stores.clock.advance(1);
    const third = await added(person);
    stores.clock.advance(1);
    await stores.revocations.postpone(first.revocationId, 0);
    const shard = shardFor(person);
    const ids = async (limit: number) =>
      (await stores.revocations.claim(shard, { limit, leaseMs: LEASE_MS })).map(({ revocationId }) => revocationId);
    expect(await ids(1)).toEqual([second.revocationId]);
    // A claimed revocation does not count against the limit.
    expect(await ids(1)).toEqual([third.revocationId]);
    expect(await ids(10)).toEqual([first.revocationId]);
    expect(await ids(10)).toEqual([]);
  });

  test('a postponed revocation is not due before its time, but can be claimed by its id', async () => {
    const { subject, revocationId } = await added();
    await claim(subject);
    await stores.revocations.postpone(revocationId, 10 * MINUTE);
    stores.clock.advance(10 * MINUTE - 1);
    expect(await claim(subject)).toEqual([]);
    expect(await stores.revocations.claimOne(revocationId, LEASE_MS)).toMatchObject({ attempts: 2 });
    await stores.revocations.postpone(revocationId, MINUTE);
    stores.clock.advance(MINUTE);
    expect(await claim(subject)).toMatchObject([{ revocationId, attempts: 3 }]);
  });

  test('a finished revocation is removed; finishing or postponing it again is harmless', async () => {
    const revocation = await added();
    const { subject, revocationId } = revocation;
    await claim(subject);
    await stores.revocations.finish(revocation);
    await stores.revocations.finish(revocation);
    await stores.revocations.postpone(revocationId, 0);
    stores.clock.advance(LEASE_MS);
    expect(await claim(subject)).toEqual([]);
    expect(await stores.revocations.claimOne(revocationId, LEASE_MS)).toBeUndefined();
  });

  test('returns nothing for an unknown revocation', async () => {
    const { revocationId } = revocationOf();
    expect(await stores.revocations.claimOne(revocationId, LEASE_MS)).toBeUndefined();
    expect(await stores.revocations.claim(shardIn(revocationId), { limit: 0, leaseMs: LEASE_MS })).toEqual([]);
  });
});
