import { type Elicitation, shardIn } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { askOf, createKeys } from './keys.ts';

const { ask, cancel, created, engage, expire, MINUTE, moved, retry, somebody, TTL_MS } = samples;
const { answer, approve, askFor, charge, notFinished } = kindSamples;

const RETENTION = 120 * MINUTE;
const DAY = 24 * 60 * MINUTE;
const keys = createKeys('postern');

/** The records in Redis, and their lifetimes, while the user may have paid or a result is not redeemed. */
describe('held requests', () => {
  const clock = createFakeClock();
  let redis: RedisServer;
  let stores: RedisStores;
  let operator: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    operator = new Redis(redis.url);
    stores = await createRedisStores({ url: redis.url, retentionMs: RETENTION, now: clock.now });
  });
  afterAll(async () => {
    operator.disconnect();
    await stores.close();
    await redis[Symbol.asyncDispose]();
  });

  const pending = (sample: kindSamples.Sample, person = somebody()) =>
    created(stores.elicitations, askFor(sample, person));
  const at = async (...moves: samples.Move[]) => moved(stores.elicitations, await pending('payment'), ...moves);
  const again = async ({ subject }: Elicitation, sample: kindSamples.Sample = 'payment') =>
    (await stores.elicitations.create(askFor(sample, subject))).result;
  /** Returns those of the given elicitations that are due. Others of this file may be in the same shard. */
  const due = async (...asked: readonly Elicitation[]) => {
    const lists = await Promise.all(asked.map(one => stores.elicitations.due(shardIn(one.elicitationId), 1_000)));
    return asked.map(one => one.elicitationId).filter((id, at) => lists[at]?.includes(id));
  };

  /** Its entries in all indexes of its shard. */
  async function indexed({ elicitationId, subject }: Elicitation, sample: kindSamples.Sample = 'payment') {
    const shard = shardIn(elicitationId);
    const ask = askOf(askFor(sample, subject).coalescingDigest);
    return {
      open: (await operator.hget(keys.open(shard), ask)) === elicitationId,
      due: await operator.zscore(keys.due(shard), elicitationId),
      held: await operator.zscore(keys.held(shard), `${ask} ${elicitationId}`),
    };
  }
  const expectLifetime = async (key: string, ms: number) => {
    const left = await operator.pttl(key);
    expect(left).toBeLessThanOrEqual(ms);
    expect(left).toBeGreaterThan(ms - MINUTE);
  };

  test('a charging payment does not expire until it ends or reopens', async () => {
    const charging = await at(approve);
    const key = keys.elicitation(charging.elicitationId);
    expect(await operator.pttl(key)).toBe(-1);
    expect(await indexed(charging)).toEqual({ open: true, due: String(charging.expiresAt), held: 'inf' });
    const charged = await moved(stores.elicitations, charging, charge);
    expect(await operator.pttl(key)).toBe(-1);
    await stores.elicitations.postpone(charged.elicitationId, MINUTE);
    expect(await operator.pttl(key)).toBe(-1);
    const back = await moved(stores.elicitations, charged, notFinished);
    await expectLifetime(key, TTL_MS + RETENTION);
    expect(await indexed(back)).toEqual({ open: true, due: String(back.expiresAt), held: null });
    const declined = await moved(stores.elicitations, back, approve, samples.decline);
    await expectLifetime(key, RETENTION);
    expect(await indexed(declined)).toEqual({ open: false, due: null, held: null });
  });

  test('a charging payment survives a pause in sweeping that is longer than any record lifetime', async () => {
    const person = somebody();
    const charging = await moved(stores.elicitations, await pending('payment', person), approve);
    const abandoned = await pending('form', person);
    clock.set(charging.expiresAt + RETENTION + DAY);
    expect(await due(charging)).toEqual([charging.elicitationId]);
    expect(await indexed(abandoned, 'form')).toEqual({ open: false, due: null, held: null });
    expect(await again(charging)).toBe('open');
    await stores.elicitations.postpone(charging.elicitationId, MINUTE);
    expect(await due(charging)).toEqual([]);
    clock.advance(MINUTE);
    expect(await due(charging)).toEqual([charging.elicitationId]);
    expect(await stores.elicitations.read(charging.elicitationId)).toEqual(charging);
    expect(await moved(stores.elicitations, charging, answer(charging))).toMatchObject({ status: 'completed' });
    expect(await again(charging)).toBe('open');
  });

  test('postponing never makes a payment due before its expiry, and changes only charging payments', async () => {
    const charging = await at(approve);
    await stores.elicitations.postpone(charging.elicitationId, 0);
    expect(await indexed(charging)).toMatchObject({ due: String(charging.expiresAt) });
    const back = await moved(stores.elicitations, charging, notFinished);
    await stores.elicitations.postpone(back.elicitationId, DAY);
    expect(await indexed(back)).toMatchObject({ due: String(back.expiresAt) });
    clock.set(back.expiresAt);
    await moved(stores.elicitations, back, expire);
    await stores.elicitations.postpone(back.elicitationId, DAY);
    expect(await indexed(back)).toMatchObject({ due: null });
  });

  test('a result is in the shard of its elicitation and expires with it', async () => {
    const form = await pending('form');
    const { elicitationId, subject } = form;
    expect(await operator.exists(keys.result(elicitationId))).toBe(0);
    await moved(stores.elicitations, form, answer(form));
    for (const key of [keys.elicitation(elicitationId), keys.result(elicitationId)])
      await expectLifetime(key, RETENTION);
    expect(await operator.hgetall(keys.result(elicitationId))).toEqual({
      record: JSON.stringify({
        layout: 1,
        mcpServerId: 'issue-tracker',
        subject,
        kind: 'form',
        sealedResult: 'sealed-result',
      }),
    });
    expect(JSON.stringify(await operator.hgetall(keys.elicitation(elicitationId)))).not.toContain('sealed-result');
    await stores.elicitations.redeem({ elicitationId, redemption: 'one' });
    await expectLifetime(keys.result(elicitationId), RETENTION);
  });

  test('a completed request is held for the retention, and the sweep frees it if it was not redeemed', async () => {
    const form = await pending('form');
    const completed = await moved(stores.elicitations, form, answer(form));
    const until = clock.now() + RETENTION;
    expect(await indexed(completed, 'form')).toEqual({ open: true, due: null, held: String(until) });
    clock.set(until - 1);
    expect(await due(completed)).toEqual([]);
    expect(await again(completed, 'form')).toBe('open');
    clock.set(until);
    expect(await due(completed)).toEqual([]);
    expect(await indexed(completed, 'form')).toEqual({ open: false, due: null, held: null });
  });

  test('after the retention a result can be neither found nor redeemed, swept or not', async () => {
    const form = await pending('form');
    const { elicitationId } = await moved(stores.elicitations, form, answer(form));
    clock.advance(RETENTION - 1);
    expect(await stores.elicitations.redeem({ elicitationId, redemption: 'one' })).toMatchObject({ isFirst: true });
    clock.advance(1);
    expect(await stores.elicitations.redeem({ elicitationId, redemption: 'one' })).toEqual({ result: 'missing' });

    const other = await pending('form');
    await moved(stores.elicitations, other, answer(other));
    clock.advance(RETENTION);
    expect(await again(other, 'form')).toBe('created');
    const redemption = { elicitationId: other.elicitationId, redemption: 'one' };
    expect(await stores.elicitations.redeem(redemption)).toEqual({ result: 'missing' });
  });

  test('redeeming removes all index entries', async () => {
    const form = await pending('form');
    const completed = await moved(stores.elicitations, form, answer(form));
    await stores.elicitations.redeem({ elicitationId: form.elicitationId, redemption: 'one' });
    expect(await indexed(completed, 'form')).toEqual({ open: false, due: null, held: null });
  });

  test('sweeping frees no request that was repeated since', async () => {
    const form = await pending('form');
    const completed = await moved(stores.elicitations, form, answer(form));
    clock.advance(RETENTION);
    const next = await pending('form', form.subject);
    expect(await due(completed, next)).toEqual([]);
    expect(await indexed(completed, 'form')).toMatchObject({ held: null });
    expect(await indexed(next, 'form')).toEqual({ open: true, due: String(next.expiresAt), held: null });
    expect(await again(next, 'form')).toBe('open');
  });

  test('a lasting credential and an authorization hold no request', async () => {
    const lasting = await pending('lasting');
    await moved(stores.elicitations, lasting, answer(lasting));
    expect(await indexed(lasting, 'lasting')).toEqual({ open: false, due: null, held: null });
    const key = keys.elicitation(lasting.elicitationId);
    expect(await operator.hexists(key, 'redeemed')).toBe(0);
    expect(await operator.exists(keys.result(lasting.elicitationId))).toBe(0);
  });

  /** A field that continues the record. */
  const isPiece = (field: string) => /^r\d$/.test(field);

  test('a transition leaves no piece of an earlier longer or shorter record', async () => {
    const start = await created(stores.elicitations, ask(somebody()));
    const pieces = async () => (await operator.hkeys(keys.elicitation(start.elicitationId))).filter(isPiece).length;
    const few = await pieces();
    expect(few).toBeGreaterThan(0);
    const missing = Array.from({ length: 60 }, (_, at) => `scope-${at}`);
    const retried = { ...retry, next: { status: 'pending', retryReason: 'fewer_scopes', missing } } as const;
    const long = await moved(stores.elicitations, await moved(stores.elicitations, start, engage), retried);
    expect(await pieces()).toBe(0);
    expect(await stores.elicitations.read(start.elicitationId)).toEqual(long);
    const short = await moved(stores.elicitations, long, engage);
    expect(await pieces()).toBeGreaterThanOrEqual(few);
    expect(await stores.elicitations.read(start.elicitationId)).toEqual(short);
    const ended = await moved(stores.elicitations, short, cancel);
    expect(await stores.elicitations.read(start.elicitationId)).toEqual(ended);
  });

  test('a live elicitation of any kind has no more fields than an authorization', async () => {
    const lived = ['status', 'version', 'createdAt', 'expiresAt', 'origin', 'q', 'record'].sort();
    for (const sample of Object.keys(kindSamples.requests) as kindSamples.Sample[]) {
      const { elicitationId } = await pending(sample);
      const fields = await operator.hkeys(keys.elicitation(elicitationId));
      expect(fields.filter(field => !isPiece(field)).sort()).toEqual(lived);
      expect(await operator.pttl(keys.elicitation(elicitationId))).toBeGreaterThan(0);
    }
  });

  test('cancelling before an approval frees the request', async () => {
    const payment = await at(cancel);
    expect(await indexed(payment)).toEqual({ open: false, due: null, held: null });
  });
});
