import { type Elicitation, shardIn, type TransitionElicitation } from '@postern/elicitation';
import { CROWD, kindSamples, samples } from '@postern/testkit/contract';
import { startRedis, startRedisCluster } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisAddress, type RedisStores } from './index.ts';

const { created, moved, operation, somebody } = samples;
const { answer, approve, askFor, charge } = kindSamples;

const redis = await startRedis();
const cluster = await startRedisCluster();
afterAll(() => Promise.all([redis[Symbol.asyncDispose](), cluster[Symbol.asyncDispose]()]));

const addresses: readonly (readonly [string, RedisAddress])[] = [
  ['Redis', { url: redis.url }],
  ['Redis Cluster', { nodes: cluster.urls.slice(0, 1) }],
];
const REPLICAS = 3;

/** Several replicas with separate connections: a commit of one holds for all. */
describe.each(addresses)('%s: concurrent replicas', (_, address) => {
  let replicas: readonly [RedisStores, ...RedisStores[]];
  beforeAll(async () => {
    const open = () => createRedisStores({ ...address, prefix: 'replicas' });
    replicas = [await open(), ...(await Promise.all(Array.from({ length: REPLICAS - 1 }, open)))];
  });
  afterAll(() => Promise.all(replicas.map(stores => stores.close())));

  const replica = (nth: number): RedisStores => replicas[nth % REPLICAS] ?? replicas[0];
  const everywhere = <T>(call: (stores: RedisStores, nth: number) => Promise<T>) =>
    Promise.all(Array.from({ length: CROWD }, (_, nth) => call(replica(nth), nth)));
  const counted = (results: readonly { readonly result: string }[], result: string) =>
    results.filter(each => each.result === result).length;
  const pending = (sample: kindSamples.Sample) => created(replica(0).elicitations, askFor(sample, somebody()));
  const announced = async ({ elicitationId }: Elicitation) =>
    (await replica(1).events.read(shardIn(elicitationId), { limit: 10_000 })).filter(
      ({ event }) => event.elicitationId === elicitationId,
    );

  async function raced(current: Elicitation, moves: readonly samples.Move[]): Promise<Elicitation> {
    const results = await everywhere((stores, nth) => {
      const move = moves[nth % moves.length] as Omit<TransitionElicitation, 'current' | 'operationId'>;
      return stores.elicitations.transition({ current, operationId: operation(), ...move });
    });
    expect([counted(results, 'applied'), counted(results, 'conflict')]).toEqual([1, CROWD - 1]);
    const stored = await replica(2).elicitations.read(current.elicitationId);
    if (stored === undefined) throw new Error('It is gone.');
    expect(await announced(current)).toHaveLength(stored.version);
    return stored;
  }

  test('commits one of 50 approvals, and one of 50 responses of the processor', async () => {
    const charging = await raced(await pending('payment'), [approve]);
    expect(charging).toMatchObject({ status: 'active', version: 2 });
    const charged = await raced(charging, [charge]);
    expect(await raced(charged, [answer(charged)])).toMatchObject({ status: 'completed', version: 4 });
    expect(await raced(await pending('approval'), [answer(await pending('approval'))])).toMatchObject({ version: 2 });
  });

  test('a repeated request finds the charging payment on every replica', async () => {
    const charging = await moved(replica(0).elicitations, await pending('payment'), approve);
    const results = await everywhere(stores => stores.elicitations.create(askFor('payment', charging.subject)));
    expect(new Set(results.map(each => each.result === 'open' && each.elicitationId))).toEqual(
      new Set([charging.elicitationId]),
    );
  });

  test('one of 50 redemptions gets the result', async () => {
    const form = await pending('form');
    const { elicitationId } = await moved(replica(0).elicitations, form, answer(form));
    const results = await everywhere((stores, nth) =>
      stores.elicitations.redeem({ elicitationId, redemption: `name-${nth}` }),
    );
    expect([counted(results, 'redeemed'), counted(results, 'spent')]).toEqual([1, CROWD - 1]);
    expect(results.filter(each => each.result === 'redeemed' && each.isFirst && each.sealed)).toHaveLength(1);
  });

  test('one of 50 assertions with the same counter counts, and of 50 passkeys the maximum number is added', async () => {
    const subject = somebody();
    const passkey = { subject, publicKey: 'pQEC', signCount: 1, transports: [], backedUp: false, label: 'Key' };
    const added = await everywhere(stores => stores.passkeys.add({ ...passkey, passkeyId: operation() }, 5));
    expect(added.filter(result => result === 'added')).toHaveLength(5);
    const [first] = await replica(1).passkeys.list(subject);
    if (first === undefined) throw new Error('Expected a passkey.');
    const { passkeyId } = first;
    const used = await everywhere(stores => stores.passkeys.use({ subject, passkeyId, signCount: 2, backedUp: false }));
    expect(used.filter(result => result === 'used')).toHaveLength(1);
    expect(used.filter(result => result === 'stale')).toHaveLength(CROWD - 1);
  });
});
