import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractStores, CROWD, crowd, type MakeStores } from './contract-stores.ts';
import { AMPLE, MINUTE, operation, secretDigest } from './samples.ts';

const HOUR = 60 * MINUTE;
const leaseMs = MINUTE;
const mcpServerId = 'issue-tracker';

/** The Idempotency-Key contract (draft-ietf-httpapi-idempotency-key-header-07 section 2). */
export function describeIdempotencyStore(name: string, makeStores: MakeStores): void {
  describe(`${name}: idempotency`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    const attempt = (digest: string, fingerprint = 'body-1', reservation = operation()) => ({
      mcpServerId,
      digest,
      fingerprint,
      reservation,
      leaseMs,
      quota: AMPLE,
    });

    test('the first attempt goes on with its own reservation', async () => {
      const first = attempt(secretDigest());
      expect(await stores.idempotency.begin(first)).toEqual({ result: 'begun', reservation: first.reservation });
    });

    test('a second attempt meanwhile is told to wait; the holder itself may repeat', async () => {
      const digest = secretDigest();
      const first = attempt(digest);
      await stores.idempotency.begin(first);
      stores.clock.advance(1_000);
      const waiting = { result: 'in_flight', retryAfterMs: leaseMs - 1_000 };
      expect(await stores.idempotency.begin(attempt(digest))).toEqual(waiting);
      expect(await stores.idempotency.begin(first)).toEqual({ result: 'begun', reservation: first.reservation });
    });

    test('another body under the same key is a mismatch, in flight and afterwards', async () => {
      const digest = secretDigest();
      await stores.idempotency.begin(attempt(digest));
      expect(await stores.idempotency.begin(attempt(digest, 'body-2'))).toEqual({ result: 'mismatch' });
      await stores.idempotency.finish({
        mcpServerId,
        digest,
        fingerprint: 'body-1',
        response: 'answer',
        retentionMs: 24 * HOUR,
      });
      expect(await stores.idempotency.begin(attempt(digest, 'body-2'))).toEqual({ result: 'mismatch' });
    });

    test('the answer is replayed for a day at least', async () => {
      const digest = secretDigest();
      await stores.idempotency.begin(attempt(digest));
      await stores.idempotency.finish({
        mcpServerId,
        digest,
        fingerprint: 'body-1',
        response: 'answer',
        retentionMs: 1,
      });
      const replay = { result: 'replay', response: 'answer' };
      expect(await stores.idempotency.begin(attempt(digest))).toEqual(replay);
      stores.clock.advance(24 * HOUR - 1);
      expect(await stores.idempotency.begin(attempt(digest))).toEqual(replay);
      stores.clock.advance(1);
      expect(await stores.idempotency.begin(attempt(digest))).toMatchObject({ result: 'begun' });
    });

    test('a reservation whose holder died is handed on as it is, to one attempt', async () => {
      const digest = secretDigest();
      const first = attempt(digest);
      await stores.idempotency.begin(first);
      stores.clock.advance(leaseMs);
      const results = await crowd(() => stores.idempotency.begin(attempt(digest)));
      expect(results.filter(({ result }) => result === 'begun')).toEqual([
        { result: 'begun', reservation: first.reservation },
      ]);
      expect(results.filter(({ result }) => result === 'in_flight')).toHaveLength(CROWD - 1);
    });

    test('only the holder of the fingerprint finishes or abandons', async () => {
      const digest = secretDigest();
      await stores.idempotency.begin(attempt(digest));
      await stores.idempotency.finish({
        mcpServerId,
        digest,
        fingerprint: 'body-2',
        response: 'forged',
        retentionMs: 24 * HOUR,
      });
      await stores.idempotency.abandon({ mcpServerId, digest, fingerprint: 'body-2' });
      expect(await stores.idempotency.begin(attempt(digest))).toMatchObject({ result: 'in_flight' });
    });

    test('the first answer stays', async () => {
      const digest = secretDigest();
      const finish = (response: string) =>
        stores.idempotency.finish({ mcpServerId, digest, fingerprint: 'body-1', response, retentionMs: 24 * HOUR });
      await stores.idempotency.begin(attempt(digest));
      await finish('first');
      await finish('second');
      await stores.idempotency.abandon({ mcpServerId, digest, fingerprint: 'body-1' });
      expect(await stores.idempotency.begin(attempt(digest))).toEqual({ result: 'replay', response: 'first' });
    });

    test('an abandoned key is free for any body', async () => {
      const digest = secretDigest();
      await stores.idempotency.begin(attempt(digest));
      await stores.idempotency.abandon({ mcpServerId, digest, fingerprint: 'body-1' });
      expect(await stores.idempotency.begin(attempt(digest, 'body-2'))).toMatchObject({ result: 'begun' });
    });

    test('of many attempts at once, exactly one begins', async () => {
      const digest = secretDigest();
      const results = await crowd(() => stores.idempotency.begin(attempt(digest)));
      expect(results.filter(({ result }) => result === 'begun')).toHaveLength(1);
      expect(results.filter(({ result }) => result === 'in_flight')).toHaveLength(CROWD - 1);
    });
  });
}
