import { SHARDS } from '@postern/elicitation';
import type { RedisEpochs } from '@postern/store-redis';
import { offered } from '../platform/store/network.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, tableOf } from './cli-io.ts';
import type { Invocation } from './command.ts';
import { openStore } from './open-store.ts';

export type InspectedShards = Awaited<ReturnType<RedisEpochs['inspect']>>;

/** Number of shards with the same epoch, or without one. */
interface EpochCensus {
  readonly deployment: string | undefined;
  readonly since: string | undefined;
  readonly shards: number;
}

/** `postern redis status`: exits with 1 unless all shards belong to this deployment. */
export async function redisStatus(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using store = await openStore(p.configPath, io);
  const configured = store.config.redis.deployment;
  const found = await inspected(offered(store.network).epochs);
  const epochs = censusOf(found);
  if (p.json) io.out(`${JSON.stringify({ configured, epochs })}\n`);
  else
    io.out(
      `redis.deployment: ${configured ?? 'not set'}\n${tableOf(
        ['deployment', 'since', 'shards'],
        epochs.map(({ deployment, since, shards }) => [deployment ?? '(none)', since ?? '', String(shards)]),
      )}\n`,
    );
  // As a gateway judges at its start, which founds an empty Redis, however.
  const { dataLossIn } = await import('@postern/store-redis');
  const loss = dataLossIn(found, { deployment: configured, epochs: new Map() });
  return loss === undefined ? exitCodes.ok : exitCodes.failure;
}

/** Inspects all shards. @throws CliError if some do not respond */
export async function inspected(epochs: RedisEpochs): Promise<InspectedShards> {
  const found = await epochs.inspect();
  if (found.size < SHARDS.length)
    throw new CliError(`${SHARDS.length - found.size} shards do not respond. Repair Redis first.`);
  return found;
}

/** Undefined represents shards without an epoch. */
export function deploymentsIn(found: InspectedShards): ReadonlySet<string | undefined> {
  return new Set([...found.values()].map(({ epoch }) => epoch?.deployment));
}

function censusOf(found: InspectedShards): readonly EpochCensus[] {
  const all = [...found.values()].map(({ epoch }) => ({
    deployment: epoch?.deployment,
    since: epoch === undefined ? undefined : new Date(epoch.epoch).toISOString(),
  }));
  const groups = Map.groupBy(all, ({ deployment, since }) => `${deployment} ${since}`);
  return [...groups.values()].flatMap(group => (group[0] === undefined ? [] : [{ ...group[0], shards: group.length }]));
}
