import {
  type CreateElicitation,
  type Elicitation,
  SHARDS,
  type StorageQuota,
  shardOfDigest,
} from '@postern/elicitation';
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
/** As much for each shard: new asks take seven eighths of it. */
const perShard = (share: StorageQuota): StorageQuota => ({
  records: share.records * SHARDS.length,
  bytes: share.bytes * SHARDS.length,
});
const FEW = perShard({ records: 16, bytes: 1e9 });
const MOST_ASKS = 14;
const overQuota = { result: 'over_quota', retryAfterMs: expect.any(Number) };

/** The quota of an MCP server for everything that is stored for it until it expires. */
export function describeQuota(name: string, makeStores: MakeStores): void {
  describe(`${name}: quota of an MCP server`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    /** An MCP server that nothing is stored for, and asks of one person: they lie in one shard. */
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

    test('S73: refuses new asks at seven eighths of the share, writes nothing, and leaves other MCP servers alone', async () => {
      const { fill, next, person } = tenant();
      await fill();
      const refused = next();
      const retryAfterMs = nextHour(stores.clock.now() + TTL_MS + DAY) - stores.clock.now();
      expect(await stores.elicitations.create(refused)).toEqual({ result: 'over_quota', retryAfterMs });
      expect(await stores.elicitations.read(refused.elicitation.elicitationId)).toBeUndefined();
      await tenant(FEW, person).make();
    });

    test('S73: of many asks at once, as many are accepted as there is room for', async () => {
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

    test('S73: counts what has ended until it is forgotten', async () => {
      const { fill, next } = tenant();
      for (const elicitation of await fill()) await moved(stores.elicitations, elicitation, cancel);
      stores.clock.advance(DAY - HOUR);
      expect(await stores.elicitations.create(next())).toEqual(overQuota);
      stores.clock.advance(2 * HOUR);
      expect(await stores.elicitations.create(next())).toMatchObject({ result: 'created' });
    });

    test('counts an elicitation once, however often it moves', async () => {
      const { make, next } = tenant();
      let elicitation = await make();
      const retry: Move = { events: ['retry'], next: { status: 'pending', trouble: 'provider_denied' } };
      for (let n = 0; n < 10; n += 1) elicitation = await moved(stores.elicitations, elicitation, engage, retry);
      for (let n = 1; n < MOST_ASKS; n += 1) await make();
      expect(await stores.elicitations.create(next())).toEqual(overQuota);
    });

    test('S73: counts one-time records, refuses those that find no room, and commits every end', async () => {
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

    test('S73: refuses a result that finds no room, whose elicitation stays as it was', async () => {
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

    test('S73: refuses a move that makes the record outgrow its charge where there is no room for it', async () => {
      const { of, person } = tenant(perShard({ records: 1e9, bytes: 65_536 }));
      const pending = await created(stores.elicitations, of(askFor('confirmation', person)));
      const grown: Move = { events: ['engage'], next: { status: 'active', attempt: 'x'.repeat(65_536) } };
      expect(await attempted(pending, grown)).toEqual(overQuota);
      expect(await attempted(pending, cancel)).toMatchObject({ result: 'applied' });
    });

    test('S73: counts a payment for as long as nobody knows whether it was made', async () => {
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

    /** Keys of one shard. */
    function idempotency(quota = FEW) {
      const { mcpServerId } = tenant();
      const shard = shardOfDigest(secretDigest());
      const attempt = () => {
        let digest = secretDigest();
        while (shardOfDigest(digest) !== shard) digest = secretDigest();
        return { mcpServerId, digest, fingerprint: 'body', reservation: operation(), leaseMs: MINUTE, quota };
      };
      const fill = async () => {
        const made = Array.from({ length: MOST_ASKS }, attempt);
        for (const each of made) expect(await stores.idempotency.begin(each)).toMatchObject({ result: 'begun' });
        return made;
      };
      return { attempt, fill };
    }

    test('S73: counts the answers to idempotent requests until they are forgotten', async () => {
      const { attempt, fill } = idempotency();
      const made = await fill();
      for (const each of made) await stores.idempotency.finish({ ...each, response: 'answer', retentionMs: DAY });
      expect(await stores.idempotency.begin(attempt())).toEqual(overQuota);
      for (const each of made)
        expect(await stores.idempotency.begin(each)).toEqual({ result: 'replay', response: 'answer' });
      stores.clock.advance(DAY - HOUR);
      expect(await stores.idempotency.begin(attempt())).toEqual(overQuota);
      stores.clock.advance(2 * HOUR);
      expect(await stores.idempotency.begin(attempt())).toMatchObject({ result: 'begun' });
    });

    test('an abandoned key is counted no longer', async () => {
      const { attempt, fill } = idempotency();
      const [first] = await fill();
      if (first === undefined) throw new Error('Expected a reservation.');
      expect(await stores.idempotency.begin(attempt())).toEqual(overQuota);
      await stores.idempotency.abandon(first);
      expect(await stores.idempotency.begin(attempt())).toMatchObject({ result: 'begun' });
    });

    test('a reservation is counted for the longest answer, and the answer for what it is', async () => {
      const { attempt } = idempotency(perShard({ records: 1e9, bytes: 16_384 }));
      for (let n = 0; n < 6; n += 1) {
        const each = attempt();
        expect(await stores.idempotency.begin(each)).toMatchObject({ result: 'begun' });
        await stores.idempotency.finish({ ...each, response: 'answer', retentionMs: DAY });
      }
      const results = await Promise.all(Array.from({ length: 4 }, () => stores.idempotency.begin(attempt())));
      expect(results.filter(({ result }) => result === 'begun')).toHaveLength(2);
    });
  });
}
