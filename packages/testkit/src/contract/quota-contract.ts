import { type CreateElicitation, type Elicitation, SHARDS, type StorageQuota, shardOf } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractStores, crowd, type MakeStores } from './contract-stores.ts';
import { answer, approve, askFor } from './kind-samples.ts';
import {
  ask,
  cancel,
  created,
  engage,
  from,
  MINUTE,
  type Move,
  moved,
  oneTimeFor,
  operation,
  secretDigest,
  somebody,
  TTL_MS,
} from './samples.ts';

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The quota that gives each shard this share. New requests may use seven eighths of it. */
const perShard = (share: StorageQuota): StorageQuota => ({
  records: share.records * SHARDS.length,
  bytes: share.bytes * SHARDS.length,
});
const FEW = perShard({ records: 16, bytes: 1e9 });
const MOST_ASKS = 14;
const overQuota = { result: 'over_quota', retryAfterMs: expect.any(Number) };

/** The quota of an MCP server for all records until they expire. */
export function describeQuota(name: string, makeStores: MakeStores): void {
  describe(`${name}: quota of an MCP server`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    /** An MCP server without stored records, and requests for one user, which are in one shard. */
    function tenant(quota = FEW, person = somebody()) {
      const mcpServerId = `tenant-${operation()}`;
      const of = (request: CreateElicitation) =>
        from(mcpServerId, { ...request, coalescingDigest: secretDigest(), quota });
      const next = () => of(ask(person));
      const make = () => created(stores.elicitations, next());
      const fill = async () => {
        const made: Elicitation[] = [];
        while (made.length < MOST_ASKS) made.push(await make());
        return made;
      };
      return { mcpServerId, of, next, make, fill, person };
    }
    const attempted = (current: Elicitation, move: Move) =>
      stores.elicitations.transition({ current, operationId: operation(), ...move });
    const nextHour = (time: number) => Math.ceil(time / HOUR) * HOUR;

    test('S73: refuses new requests at seven eighths of the share, writes nothing, and does not affect other MCP servers', async () => {
      const { fill, next, person } = tenant();
      await fill();
      const refused = next();
      const retryAfterMs = nextHour(stores.clock.now() + TTL_MS + DAY) - stores.clock.now();
      expect(await stores.elicitations.create(refused)).toEqual({ result: 'over_quota', retryAfterMs });
      expect(await stores.elicitations.read(refused.elicitation.elicitationId)).toBeUndefined();
      await tenant(FEW, person).make();
    });

    test('S73: accepts as many concurrent requests as fit the quota', async () => {
      const { next } = tenant();
      const results = await crowd(() => stores.elicitations.create(next()));
      expect(results.filter(({ result }) => result === 'created')).toHaveLength(MOST_ASKS);
    });

    test('S73: counts bytes too', async () => {
      const { of, person } = tenant(perShard({ records: 1e9, bytes: 65_536 }));
      const big = () => {
        const request = ask(person);
        return of({ ...request, elicitation: { ...request.elicitation, message: 'x'.repeat(8_192) } });
      };
      let accepted = 0;
      while ((await stores.elicitations.create(big())).result === 'created') accepted += 1;
      expect(accepted).toBeGreaterThanOrEqual(3);
      expect(accepted).toBeLessThanOrEqual(6);
    });

    test('S73: counts ended elicitations until they are removed', async () => {
      const { fill, next } = tenant();
      for (const elicitation of await fill()) await moved(stores.elicitations, elicitation, cancel);
      stores.clock.advance(DAY - HOUR);
      expect(await stores.elicitations.create(next())).toEqual(overQuota);
      stores.clock.advance(2 * HOUR);
      expect(await stores.elicitations.create(next())).toMatchObject({ result: 'created' });
    });

    test('counts an elicitation once, whatever the number of transitions', async () => {
      const { make, next } = tenant();
      let elicitation = await make();
      const retry: Move = { events: ['retry'], next: { status: 'pending', retryReason: 'provider_denied' } };
      for (let n = 0; n < 10; n += 1) elicitation = await moved(stores.elicitations, elicitation, engage, retry);
      for (let n = 1; n < MOST_ASKS; n += 1) await make();
      expect(await stores.elicitations.create(next())).toEqual(overQuota);
    });

    test('S73: counts one-time records, refuses those beyond the quota, and commits every end', async () => {
      const { fill } = tenant();
      const asked = await fill();
      const begin = (current: Elicitation) => {
        const record = oneTimeFor(current.elicitationId);
        return attempted(current, { ...engage, putOneTime: { record, ttlMs: MINUTE } });
      };
      const results = await Promise.all(asked.slice(0, 3).map(begin));
      expect(results.map(({ result }) => result).sort()).toEqual(['applied', 'applied', 'over_quota']);
      for (const { elicitationId } of asked) {
        const current = await stores.elicitations.read(elicitationId);
        if (current === undefined) throw new Error('Expected an elicitation.');
        expect(await attempted(current, cancel)).toMatchObject({ result: 'applied' });
      }
    });

    test('S73: refuses a result beyond the quota, and leaves its elicitation unchanged', async () => {
      const { of, person } = tenant(perShard({ records: 1e9, bytes: 65_536 }));
      const active = await moved(
        stores.elicitations,
        await created(stores.elicitations, of(askFor('form', person))),
        engage,
      );
      const answered = answer(active);
      const large = { ...answered, putResult: { sealed: 'x'.repeat(65_536) } };
      expect(await attempted(active, large)).toEqual(overQuota);
      expect(await stores.elicitations.read(active.elicitationId)).toEqual(active);
      expect(await attempted(active, answered)).toMatchObject({ result: 'applied' });
    });

    test('S73: refuses a transition whose larger record exceeds the quota', async () => {
      const { of, person } = tenant(perShard({ records: 1e9, bytes: 65_536 }));
      const pending = await created(stores.elicitations, of(askFor('confirmation', person)));
      const grown: Move = { events: ['engage'], next: { status: 'active', attempt: 'x'.repeat(65_536) } };
      expect(await attempted(pending, grown)).toEqual(overQuota);
      expect(await attempted(pending, cancel)).toMatchObject({ result: 'applied' });
    });

    test('S73: counts a payment while its outcome is unknown', async () => {
      const { of, person, next, make } = tenant(perShard({ records: 8, bytes: 1e9 }));
      const charging = await moved(
        stores.elicitations,
        await created(stores.elicitations, of(askFor('payment', person))),
        approve,
      );
      for (let n = 1; n < 7; n += 1) await make();
      stores.clock.advance(3 * DAY);
      for (let n = 1; n < 7; n += 1) await make();
      expect(await stores.elicitations.create(next())).toEqual(overQuota);
      await moved(stores.elicitations, charging, {
        events: ['fail'],
        next: { status: 'failed', failure: 'processor_refused' },
      });
      stores.clock.advance(3 * DAY);
      for (let n = 0; n < 7; n += 1) await make();
    });

    /** Stores a response under an idempotency key of the same user. */
    const putBy = ({ mcpServerId, person }: ReturnType<typeof tenant>, quota = FEW, digest = secretDigest()) =>
      stores.idempotency.put({
        ...{ digest, fingerprint: 'body', response: 'answer', shard: shardOf(person), mcpServerId, quota },
      });
    const withKey = (request: CreateElicitation, digest = secretDigest()) => ({
      ...request,
      idempotencyKey: { digest, fingerprint: 'body' },
    });

    test('S73: counts an idempotency key in addition to its elicitation', async () => {
      const { next } = tenant();
      for (let n = 0; n < MOST_ASKS / 2; n += 1) await created(stores.elicitations, withKey(next()));
      const refused = withKey(next());
      expect(await stores.elicitations.create(refused)).toEqual(overQuota);
      stores.clock.advance(DAY + HOUR);
      expect(await stores.elicitations.create(refused)).toMatchObject({ result: 'created' });
    });

    test('S73: refuses a request whose idempotency key exceeds the quota, and still replays repeats', async () => {
      const { make, next } = tenant();
      const first = withKey(next());
      const elicitation = await created(stores.elicitations, first);
      for (let n = 2; n < MOST_ASKS - 1; n += 1) await make();
      expect(await stores.elicitations.create(withKey(next()))).toEqual(overQuota);
      const again = withKey(next(), first.idempotencyKey.digest);
      expect(await stores.elicitations.create(again)).toEqual({ result: 'repeated', elicitation });
      await make();
    });

    test('S73: counts the responses to idempotent requests until they are removed', async () => {
      const owner = tenant();
      const digests = Array.from({ length: MOST_ASKS }, secretDigest);
      for (const digest of digests) expect(await putBy(owner, FEW, digest)).toEqual({ result: 'stored' });
      expect(await putBy(owner)).toEqual(overQuota);
      for (const digest of digests) expect(await putBy(owner, FEW, digest)).toEqual({ result: 'exists' });
      stores.clock.advance(DAY - HOUR);
      expect(await putBy(owner)).toEqual(overQuota);
      stores.clock.advance(2 * HOUR);
      expect(await putBy(owner)).toEqual({ result: 'stored' });
    });
  });
}
