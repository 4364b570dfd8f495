import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  type Connection,
  type ConnectionId,
  newOperationId,
  newRevocationId,
  type SealedRecord,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { createKeyRing, createVault, kidOf, type Vault } from '@postern/vault';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createClientRegistrations } from '../authorization/client-metadata.ts';
import { createLogger } from '../platform/logger.ts';
import { samplePseudonyms } from '../testing/sample-config.ts';
import { sealContextOf, takeCensus, totalOf } from './rewrap.ts';
import { startRewrapper } from './rewrapper.ts';
import { connectionContext } from './seal-contexts.ts';

const { ask, complete, connectionFor, created, engage, moved, somebody } = samples;
const operation = () => newOperationId(systemEntropy);

const CONNECTIONS = 400;
const REVOCATIONS = 40;
/** The replica dies after about half of the values. */
const DIES_AT = 200;

const keys = { old: randomBytes(32), new: randomBytes(32) };
const vaultOf = (...kids: (keyof typeof keys)[]): Vault =>
  createVault(createKeyRing(kids.map(kid => ({ kid, key: keys[kid] }))));

const tokensSchema = z.object({ accessToken: z.string() });
const tokensOf = (connectionId: ConnectionId, generation: number) =>
  JSON.stringify({ accessToken: `${connectionId} ${generation}` });

/** S51 and P10: keys are rotated under load. */
describe('rotation under load', () => {
  let redis: RedisServer;
  let stores: RedisStores;
  beforeAll(async () => {
    redis = await startRedis();
    // No command timeout: a busy machine slows Redis down.
    stores = await createRedisStores({ url: redis.url, commandTimeoutMs: 100_000 });
  });
  afterAll(async () => {
    await stores.close();
    await redis[Symbol.asyncDispose]();
  });

  async function connect(): Promise<ConnectionId> {
    const subject = somebody();
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(subject)), engage);
    const connection = connectionFor(subject, active.elicitationId);
    const { connectionId } = connection;
    const sealedTokens = await vaultOf('old').seal(tokensOf(connectionId, 1), connectionContext(connection));
    await moved(stores.elicitations, active, { ...complete(active), putConnection: { ...connection, sealedTokens } });
    return connectionId;
  }

  async function disconnect(connectionId: ConnectionId): Promise<void> {
    const connection = await stored(connectionId);
    const revocationId = newRevocationId(shardOf(connection.subject), systemEntropy);
    await stores.connections.remove({ connectionId, revocationId });
  }

  async function stored(connectionId: ConnectionId): Promise<Connection> {
    const connection = await stores.connections.read(connectionId);
    if (connection === undefined) throw new Error('The connection is gone.');
    return connection;
  }

  /** One of the values is a client registration of the gateway. */
  const REGISTRATION = 'digest-of-a-registration';
  const openedAny = (vault: Vault, record: SealedRecord) => vault.open(record.sealed, sealContextOf(record));

  const opened = async (vault: Vault, record: Parameters<typeof connectionContext>[0], sealed: string) =>
    tokensSchema.parse(JSON.parse(await vault.open(sealed, connectionContext(record)))).accessToken;

  async function everything(): Promise<SealedRecord[]> {
    const found: SealedRecord[] = [];
    for await (const step of stores.sealedRecords.walk()) found.push(...step.records);
    return found;
  }

  const counts = async (vault: Vault) =>
    new Map(
      (await takeCensus({ records: stores.sealedRecords, vault })).keys.map(use => [use.kid, totalOf(use.counts)]),
    );

  test('no read fails, no refresh is lost, a killed replica is followed by another, and the old key can be removed', async () => {
    const connectionIds = await Promise.all(Array.from({ length: CONNECTIONS }, connect));
    const leaving = connectionIds.splice(0, REVOCATIONS);
    const leavingLater = leaving.splice(REVOCATIONS / 2);
    await Promise.all(leaving.map(disconnect));
    await createClientRegistrations({ stores, vault: vaultOf('old') }).putIfAbsent(REGISTRATION, 'the registration');
    expect(await counts(vaultOf('new', 'old'))).toEqual(
      new Map([
        ['new', 0],
        ['old', CONNECTIONS + 1],
      ]),
    );

    // A rolling deployment: all replicas have both keys, some still seal with the old one.
    const rolledOut = vaultOf('new', 'old');
    const replicas = [rolledOut, rolledOut, vaultOf('old', 'new')];
    const load = startLoad(connectionIds, replicas);

    const dying = spawn(process.execPath, [
      fileURLToPath(new URL('../testing/rewrap-and-die.ts', import.meta.url)),
      redis.url,
      String(DIES_AT),
      JSON.stringify((['new', 'old'] as const).map(kid => ({ kid, key: keys[kid].toString('base64') }))),
    ]);
    const [code, signal] = await once(dying, 'exit');
    expect([code, signal]).toEqual([null, 'SIGKILL']);

    // Half way: values under both keys exist, and all of them open with the two keys.
    const halfWay = await counts(rolledOut);
    expect(halfWay.get('old')).toBeGreaterThan(0);
    expect(halfWay.get('new')).toBeGreaterThan(0);
    for (const record of await everything()) await openedAny(rolledOut, record);

    // The rest of the deployment. A user disconnects while the next replica takes over.
    replicas.splice(0, replicas.length, rolledOut);
    await load.settled();
    const log = new Map<string, unknown>();
    const finished = Promise.withResolvers<void>();
    const rewrapper = startRewrapper({
      stores,
      vault: rolledOut,
      logger: createLogger({ level: 'info', destination: linesTo(log, finished.resolve) }),
      pseudonym: samplePseudonyms,
      retryMs: 5,
      stepPauseMs: 1,
    });
    await Promise.all(leavingLater.map(disconnect));
    await finished.promise;
    await rewrapper.stop();
    const { reads, refreshes, failures } = await load.stop();

    expect(failures).toEqual([]);
    expect(reads).toBeGreaterThan(CONNECTIONS);
    expect(refreshes.size).toBeGreaterThan(0);
    expect(log.get('vault.keys_removable')).toMatchObject({ old: ['old'] });
    expect(log.has('vault.key_lost')).toBe(false);
    expect(await counts(vaultOf('new'))).toEqual(new Map([['new', CONNECTIONS + 1]]));

    // Without the old key all values open, with their last content.
    const withoutOld = vaultOf('new');
    for (const connectionId of connectionIds) {
      const connection = await stored(connectionId);
      expect(connection.generation).toBe(refreshes.get(connectionId) ?? 1);
      expect(await opened(withoutOld, connection, connection.sealedTokens)).toBe(
        `${connectionId} ${connection.generation}`,
      );
    }
    const registrations = createClientRegistrations({ stores, vault: withoutOld });
    expect(await registrations.read(REGISTRATION)).toBe('the registration');
    const records = await everything();
    for (const record of records) await openedAny(withoutOld, record);
    expect(records.filter(({ kind }) => kind === 'revocation')).toHaveLength(REVOCATIONS);
    expect(records.map(({ sealed }) => kidOf(sealed)).filter(kid => kid !== 'new')).toEqual([]);
  });

  /** Readers and writers without pauses. `settled` waits for the calls that began before it. */
  function startLoad(connectionIds: readonly ConnectionId[], replicas: readonly Vault[]) {
    let isOver = false;
    let reads = 0;
    let turn = 0;
    const refreshes = new Map<ConnectionId, number>();
    const failures: unknown[] = [];
    let underway = new Set<Promise<void>>();

    const next = <T>(list: readonly T[]): T => {
      turn += 1;
      const chosen = list[(turn * 7919) % list.length];
      if (chosen === undefined) throw new Error('Nothing to choose from.');
      return chosen;
    };
    async function read(): Promise<void> {
      const connection = await stored(next(connectionIds));
      const token = await opened(next(replicas), connection, connection.sealedTokens);
      expect(token).toBe(`${connection.connectionId} ${connection.generation}`);
      reads += 1;
    }
    async function refresh(): Promise<void> {
      const connectionId = next(connectionIds);
      const current = await stored(connectionId);
      const generation = current.generation + 1;
      const sealedTokens = await next(replicas).seal(tokensOf(connectionId, generation), connectionContext(current));
      const change = await stores.connections.finishRefresh({
        current,
        tokens: { sealedTokens, scopes: current.scopes, refreshable: true },
        operationId: operation(),
      });
      if (change.result !== 'stored') return;
      refreshes.set(connectionId, Math.max(generation, refreshes.get(connectionId) ?? 0));
    }
    async function repeat(work: () => Promise<void>): Promise<void> {
      while (!isOver) {
        const call = work().catch((error: unknown) => void failures.push(error));
        underway.add(call);
        await call;
        underway.delete(call);
      }
    }
    const loops = [read, read, read, refresh, refresh].map(repeat);
    return {
      async settled() {
        const before = underway;
        underway = new Set();
        await Promise.all(before);
      },
      async stop() {
        isOver = true;
        await Promise.all(loops);
        return { reads, refreshes, failures };
      },
    };
  }
});

/** Collects log lines by event. Calls `onRemovable` when a line says that old keys are no longer needed. */
function linesTo(log: Map<string, unknown>, onRemovable: () => void): Writable {
  return new Writable({
    write(chunk: Buffer, _, done) {
      for (const line of chunk.toString().split('\n').filter(Boolean)) {
        const entry = z.looseObject({ event: z.string() }).parse(JSON.parse(line));
        log.set(entry.event, entry);
        if (entry.event === 'vault.keys_removable') onRemovable();
      }
      done();
    },
  });
}
