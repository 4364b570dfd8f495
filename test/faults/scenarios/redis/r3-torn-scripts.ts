import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { connectionIdOf, type Elicitation, type ElicitationId, shardIn } from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { dumpRedisNow } from '../../../support/redis-dump.ts';
import { HANG_MS } from '../../hang.ts';
import type { Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';

const { ask, complete, created, engage, moved, somebody } = samples;
const PREFIX = 'postern';
/** So long that no command times out on a busy machine. */
const patient = { commandTimeoutMs: HANG_MS, startTimeoutMs: HANG_MS };

/**
 * A kill during a write leaves an append-only file that may end at any byte. For many ends within the effects of one script, the
 * scenario starts Redis on the truncated file.
 */
const tornFile: Scenario = {
  item: 'R3',
  name: 'a script has all of its effects or none if the append-only file ends in the middle of it',
  async run(run) {
    const redis = run.stack.use(
      await startRedis({ args: ['--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0'] }),
    );
    const stores = run.stack.use(await createRedisStores({ url: redis.url, prefix: PREFIX }));
    const [, directory = ''] = (await redis.ask('CONFIG', 'GET', 'dir')).split('\n');
    const file = join('appendonlydir', 'appendonly.aof.1.incr.aof');

    // The script with the most effects: status, tokens, connection index, open index, event.
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);
    const before = { size: (await stat(join(directory, file))).size, dump: await dumpRedisNow(redis.url, PREFIX) };
    await moved(stores.elicitations, active, complete(active));
    const after = { size: (await stat(join(directory, file))).size, dump: await dumpRedisNow(redis.url, PREFIX) };
    assert.notDeepEqual(before.dump, after.dump);
    await redis.kill();

    const ends = [before.size, after.size - 1, after.size];
    while (ends.length < (run.isLong ? 40 : 8)) ends.push(run.random.between(before.size + 1, after.size - 1));
    let whole = 0;
    for (const end of ends) {
      run.history.record({ who: 'harness', what: 'fault', fault: 'torn_file', target: String(end - before.size) });
      const found = await dumpOf(directory, file, end);
      const isAfter = isDeepStrictEqual(found, after.dump);
      if (!isAfter) assert.deepEqual(found, before.dump, `a file that ends ${end - before.size} bytes into the script`);
      assert.equal(isAfter, end === after.size);
      whole += isAfter ? 1 : 0;
    }
    run.measure('files', ends.length, '');
    run.measure('with all effects', whole, '');
  },
};

async function dumpOf(directory: string, file: string, size: number): Promise<Record<string, unknown>> {
  const copy = await mkdtemp(join(tmpdir(), 'postern-torn-'));
  try {
    await cp(directory, copy, { recursive: true });
    await truncate(join(copy, file), size);
    await using redis = await startRedis({ args: ['--dir', copy, '--aof-load-truncated', 'yes'] });
    return await dumpRedisNow(redis.url, PREFIX);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** An elicitation as its callers know it. */
interface Known {
  elicitationId: ElicitationId;
  acknowledged: number;
  attempted: number;
}

const killedUnderLoad: Scenario = {
  item: 'R3',
  name: 'killed repeatedly while scripts run: status, connection and events stay consistent',
  async run(run) {
    // With everysec Redis may acknowledge before it writes; this scenario is about written data.
    const redis = run.stack.use(await startRedis({ args: ['--appendfsync', 'always'] }));
    const stores = run.stack.use(await createRedisStores({ url: redis.url, ...patient }));
    const known: Known[] = [];
    const rounds = run.isLong ? 30 : 4;
    for (let round = 0; round < rounds; round += 1) {
      const killed = new AbortController();
      const load = Promise.all(Array.from({ length: 32 }, () => flowsUntilKilled(stores, known, killed.signal)));
      const begun = known.length;
      await until('flows under way', () => known.length > begun + run.random.between(20, 400));
      run.history.record({ who: 'harness', what: 'fault', fault: 'kill', target: 'redis' });
      killed.abort();
      await redis.kill();
      await redis.restart();
      await load;
      await until('the stores to be connected', async () => {
        await stores.ping();
        return true;
      });
      await expectWhole(stores, known);
    }
    run.measure('kills', rounds, '');
    run.measure('elicitations', known.length, '');
  },
};

async function flowsUntilKilled(stores: RedisStores, known: Known[], killed: AbortSignal): Promise<void> {
  while (!killed.aborted) {
    const request = ask(somebody());
    const own: Known = { elicitationId: request.elicitation.elicitationId, acknowledged: 0, attempted: 1 };
    known.push(own);
    try {
      let current: Elicitation = await created(stores.elicitations, request);
      own.acknowledged = 1;
      for (const move of [engage, complete(current)]) {
        own.attempted += 1;
        current = await moved(stores.elicitations, current, move);
        own.acknowledged += 1;
      }
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, 'store_unavailable');
      // The first flows of a round may use the connection that the previous kill broke.
      await delay(10);
    }
  }
}

/** Every elicitation has the events of its versions, and the connection that its completion created. */
async function expectWhole(stores: RedisStores, known: readonly Known[]): Promise<void> {
  const events = new Map<string, number>();
  for (const shard of new Set(known.map(({ elicitationId }) => shardIn(elicitationId))))
    for (const { event } of await stores.events.read(shard, { limit: 10_000 }))
      events.set(event.elicitationId, (events.get(event.elicitationId) ?? 0) + 1);
  for (const { elicitationId, acknowledged, attempted } of known) {
    const elicitation = await stores.elicitations.read(elicitationId);
    const version = elicitation?.version ?? 0;
    assert.ok(version >= acknowledged && version <= attempted, `${acknowledged} <= ${version} <= ${attempted}`);
    assert.equal(events.get(elicitationId) ?? 0, version, 'an event for each version');
    const isCompleted = elicitation?.status === 'completed';
    assert.equal(isCompleted, version === 3);
    if (elicitation === undefined) continue;
    const connectionId = connectionIdOf({ owner: 'issue-tracker', subject: elicitation.subject, provider: 'github' });
    assert.equal((await stores.connections.read(connectionId)) !== undefined, isCompleted);
  }
}

export const tornScripts: readonly Scenario[] = [tornFile, killedUnderLoad];
