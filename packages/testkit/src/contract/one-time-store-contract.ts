import {
  type OneTimeRecord,
  type OneTimeStore,
  SHARDS,
  type Shard,
  shardIn,
  shardOfDigest,
} from '@postern/elicitation';
import { expect, test } from 'vitest';
import { CROWD, crowd, suite } from './contract-stores.ts';
import { ask, created, engage, MINUTE, moved, oneTimeFor, secretDigest, somebody } from './samples.ts';

export const describeOneTimeStore = suite('one-time records', stores => {
  async function put(ttlMs = 5 * MINUTE): Promise<{ readonly shard: Shard; readonly record: OneTimeRecord }> {
    const elicitation = await created(stores.elicitations, ask(somebody()));
    const record = oneTimeFor(elicitation.elicitationId);
    await moved(stores.elicitations, elicitation, { ...engage, putOneTime: { record, ttlMs } });
    return { shard: shardIn(elicitation.elicitationId), record };
  }

  test('reading does not consume a record, and it is consumed once', async () => {
    const { shard, record } = await put();
    expect(await stores.oneTime.read(shard, record.digest)).toEqual(record);
    expect(await stores.oneTime.consume(shard, record.digest)).toEqual({ result: 'taken', record });
    const { sealed: _, ...known } = record;
    expect(await stores.oneTime.consume(shard, record.digest)).toEqual({ result: 'spent', record: known });
    expect(await stores.oneTime.read(shard, record.digest)).toBeUndefined();
  });

  test('reports an unknown digest as unknown, also in another shard', async () => {
    const { shard, record } = await put();
    const elsewhere = (shard === '00' ? '01' : '00') as Shard;
    expect(await stores.oneTime.consume(shard, secretDigest())).toEqual({ result: 'unknown' });
    expect(await stores.oneTime.consume(elsewhere, record.digest)).toEqual({ result: 'unknown' });
    expect(await stores.oneTime.read(shard, secretDigest())).toBeUndefined();
  });

  test('expires after its lifetime', async () => {
    const { shard, record } = await put(MINUTE);
    stores.clock.advance(MINUTE - 1);
    expect(await stores.oneTime.read(shard, record.digest)).toBeDefined();
    stores.clock.advance(1);
    expect(await stores.oneTime.read(shard, record.digest)).toBeUndefined();
    expect(await stores.oneTime.consume(shard, record.digest)).toEqual({ result: 'unknown' });
  });

  test('a taken record is reported as spent for at least ten minutes', async () => {
    const { shard, record } = await put(MINUTE);
    await stores.oneTime.consume(shard, record.digest);
    stores.clock.advance(10 * MINUTE - 1);
    expect(await stores.oneTime.consume(shard, record.digest)).toMatchObject({ result: 'spent' });
    stores.clock.advance(1);
    expect(await stores.oneTime.consume(shard, record.digest)).toEqual({ result: 'unknown' });
  });

  test('a taken record is reported as spent for the rest of a longer lifetime', async () => {
    const { shard, record } = await put(60 * MINUTE);
    await stores.oneTime.consume(shard, record.digest);
    stores.clock.advance(60 * MINUTE - 1);
    expect(await stores.oneTime.consume(shard, record.digest)).toMatchObject({ result: 'spent' });
  });

  test('exactly one of many concurrent callers consumes a record', async () => {
    const { shard, record } = await put();
    const results = await crowd(() => stores.oneTime.consume(shard, record.digest));
    expect(results.filter(({ result }) => result === 'taken')).toEqual([{ result: 'taken', record }]);
    expect(results.filter(({ result }) => result === 'spent')).toHaveLength(CROWD - 1);
  });

  test('exactly one of many concurrent claims succeeds, and none afterwards', async () => {
    const digest = secretDigest();
    const results = await crowd(() => stores.oneTime.claim(digest, 10 * MINUTE));
    expect(results.filter(Boolean)).toHaveLength(1);
    expect(await stores.oneTime.claim(digest, 10 * MINUTE)).toBe(false);
    expect(await stores.oneTime.claim(secretDigest(), 10 * MINUTE)).toBe(true);
  });

  test('exactly one of many concurrent callers spends a value, and none afterwards', async () => {
    const value = { kind: 'login', digest: secretDigest(), expiresAt: stores.clock.now() + 10 * MINUTE } as const;
    const results = await crowd(() => stores.oneTime.spend(value));
    expect(results.filter(Boolean)).toHaveLength(1);
    stores.clock.advance(9 * MINUTE);
    expect(await stores.oneTime.spend(value)).toBe(false);
    expect(await stores.oneTime.spend({ ...value, digest: secretDigest() })).toBe(true);
  });

  test('S207: remembers a fixed number of used values, accepts none twice, and a flood of one kind costs no other', async () => {
    const now = stores.clock.now();
    // One of 256 digests is of the first shard: a counter finds it faster than new randomness.
    const random = secretDigest().slice(8);
    let tried = 0;
    function value(nth: number): Parameters<OneTimeStore['spend']>[0] {
      let digest = '';
      do {
        tried += 1;
        digest = `${String(tried).padStart(8, '0')}${random}`;
      } while (shardOfDigest(digest) !== SHARDS[0]);
      return { kind: 'ticket.flooded', digest, expiresAt: now + 5 * MINUTE + nth };
    }
    const first = value(0);
    expect(await stores.oneTime.spend(first)).toBe(true);
    const flood = Array.from({ length: 600 }, (_, nth) => value(nth + 1));
    for (const one of flood) expect(await stores.oneTime.spend(one)).toBe(true);
    for (const one of [first, ...flood.slice(0, 5), ...flood.slice(-5)])
      expect(await stores.oneTime.spend(one)).toBe(false);
    // As old as one that is forgotten: it might be that one.
    expect(await stores.oneTime.spend(value(1))).toBe(false);
    expect(await stores.oneTime.spend(value(700))).toBe(true);
    expect(await stores.oneTime.spend({ ...value(1), kind: 'ticket.other' })).toBe(true);
  });
});
