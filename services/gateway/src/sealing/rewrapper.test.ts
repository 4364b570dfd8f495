import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import {
  newElicitationId,
  type SealedRecord,
  type Shard,
  StoreUnavailableError,
  systemEntropy,
} from '@postern/elicitation';
import { createKeyRing, createVault, type VaultKey } from '@postern/vault';
import { describe, expect, test, vi } from 'vitest';
import { createLogger } from '../platform/logger.ts';
import { samplePseudonyms } from '../testing/sample-config.ts';
import { type Rewrapper, type RewrapperOptions, startRewrapper } from './rewrapper.ts';
import { connectionContext } from './seal-contexts.ts';

const [old, current, lost]: VaultKey[] = ['old', 'current', 'lost'].map(kid => ({ kid, key: randomBytes(32) }));
if (old === undefined || current === undefined || lost === undefined) throw new Error('unreachable');
const vaultOf = (...keys: VaultKey[]) => createVault(createKeyRing(keys));

/** Longer than any test. */
const REST_MS = 3_600_000;

async function recordsUnder(by: VaultKey, count: number): Promise<SealedRecord[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const bound = {
        owner: 'tracker',
        subject: { issuer: 'https://id.example', subject: `user-${at}` },
        provider: 'forge',
        elicitationId: newElicitationId('7f' as Shard, systemEntropy),
      };
      const sealed = await vaultOf(by).seal('secret', connectionContext(bound));
      return { ...bound, kind: 'connection', id: `${by.kid}-${at}`, sealed };
    }),
  );
}

/** The stores of a rewrapper, in memory, with a lease that tests can give to another replica. */
function createWorld(initial: readonly SealedRecord[]) {
  const records = new Map(initial.map(record => [record.id, record]));
  const world = {
    records,
    holder: undefined as string | undefined,
    rest: 0,
    walks: 0,
    replacements: 0,
    isDown: false,
    events: [] as { event: string; [name: string]: unknown }[],
    onReplace: (): void => {},
    stores: {
      sealedRecords: {
        async *walk() {
          world.walks += 1;
          if (world.isDown) throw new StoreUnavailableError();
          for (const id of [...records.keys()]) {
            const record = records.get(id);
            yield { records: record === undefined ? [] : [record], unreadable: [] };
          }
        },
        async replace({ id }: Pick<SealedRecord, 'id'>, sealed: string) {
          const record = records.get(id);
          if (record === undefined) return false;
          records.set(id, { ...record, sealed });
          world.replacements += 1;
          world.onReplace();
          return true;
        },
      },
      leases: {
        async take({ holder, leaseMs }: { holder: string; leaseMs: number }) {
          if (world.holder !== undefined && world.holder !== holder) return false;
          world.holder = holder;
          world.rest = leaseMs;
          return true;
        },
        async release({ holder }: { holder: string }) {
          if (world.holder === holder) world.holder = undefined;
        },
      },
    } satisfies RewrapperOptions['stores'],
    start(vault = vaultOf(current as VaultKey, old as VaultKey)): Rewrapper {
      const destination = new Writable({
        write(chunk: Buffer, _, done) {
          world.events.push(JSON.parse(chunk.toString()));
          done();
        },
      });
      return startRewrapper({
        stores: world.stores,
        vault,
        logger: createLogger({ level: 'info', destination }),
        pseudonym: samplePseudonyms,
        retryMs: 1,
        stepPauseMs: 0,
        restMs: REST_MS,
      });
    },
    names: () => world.events.map(({ event }) => event),
  };
  return world;
}

describe('startRewrapper', () => {
  test('re-wraps, logs which keys are removable, and rests while it holds the lease', async () => {
    const world = createWorld(await recordsUnder(old, 20));
    await using _ = world.start();
    await vi.waitFor(() => expect(world.names()).toContain('vault.keys_removable'), { timeout: 100_000 });
    expect(world.events).toContainEqual(
      expect.objectContaining({ event: 'vault.rewrapped', audit: true, kid: 'current', rewrapped: 20, result: 'done' }),
    );
    await vi.waitFor(() => expect(world.rest).toBe(REST_MS), { timeout: 100_000 });
    expect(world.holder).toBeDefined();
  });

  test('waits while another replica holds the lease, and takes over when it is free', async () => {
    const world = createWorld(await recordsUnder(old, 3));
    world.holder = 'another';
    const take = vi.spyOn(world.stores.leases, 'take');
    await using _ = world.start();
    await vi.waitFor(() => expect(take.mock.calls.length).toBeGreaterThan(3), { timeout: 100_000 });
    expect(world.walks).toBe(0);
    world.holder = undefined;
    await vi.waitFor(() => expect(world.replacements).toBe(3), { timeout: 100_000 });
  });

  test('ends the round immediately if another replica has taken its lease', async () => {
    const world = createWorld(await recordsUnder(old, 50));
    world.onReplace = () => {
      world.holder = 'another';
    };
    await using _ = world.start();
    await vi.waitFor(() => expect(world.replacements).toBe(1), { timeout: 100_000 });
    await vi.waitFor(() => expect(world.names()).toContain('vault.rewrapped'), { timeout: 100_000 });
    expect(world.replacements).toBe(1);
    expect(world.holder).toBe('another');
  });

  test('writes nothing after a stop, and releases the lease', async () => {
    const world = createWorld(await recordsUnder(old, 50));
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    world.onReplace = resolve;
    const rewrapper = world.start();
    await begun;
    await rewrapper.stop();
    const { replacements } = world;
    expect(replacements).toBeLessThan(50);
    expect(world.holder).toBeUndefined();
    await new Promise(done => setImmediate(done));
    expect(world.replacements).toBe(replacements);
    await using _ = world.start();
    await vi.waitFor(() => expect(world.replacements).toBe(50), { timeout: 100_000 });
  });

  test('ends its rest on a stop, because the next replica may have a newer key', async () => {
    const world = createWorld([]);
    const rewrapper = world.start();
    await vi.waitFor(() => expect(world.rest).toBe(REST_MS), { timeout: 100_000 });
    await rewrapper.stop();
    expect(world.holder).toBeUndefined();
  });

  test('logs a failure of Redis and retries', async () => {
    const world = createWorld(await recordsUnder(old, 2));
    world.isDown = true;
    await using _ = world.start();
    await vi.waitFor(() => expect(world.names()).toContain('vault.rewrap_failed'), { timeout: 100_000 });
    world.isDown = false;
    await vi.waitFor(() => expect(world.replacements).toBe(2), { timeout: 100_000 });
  });

  test('logs a lost key as an error, and calls no old key removable', async () => {
    const world = createWorld([...(await recordsUnder(lost, 2)), ...(await recordsUnder(old, 1))]);
    await using _ = world.start(vaultOf(current, old));
    await vi.waitFor(() => expect(world.names()).toContain('vault.key_lost'), { timeout: 100_000 });
    expect(world.events.find(({ event }) => event === 'vault.key_lost')).toMatchObject({
      level: 'error',
      kid: 'lost',
      values: 2,
    });
  });

  test('writes nothing if only one key is configured', async () => {
    const world = createWorld(await recordsUnder(current, 2));
    await using _ = world.start(vaultOf(current));
    await vi.waitFor(() => expect(world.rest).toBe(REST_MS), { timeout: 100_000 });
    expect(world.replacements).toBe(0);
    expect(world.names()).toEqual([]);
  });
});
