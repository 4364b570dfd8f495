import type { Shard } from '@postern/elicitation';
import type { InspectedShard } from './redis-epochs.ts';

/** Format of a deployment id. The configuration checks it too. */
export const DEPLOYMENT_ID = /^dp_[A-Za-z0-9_-]{8,64}$/;

/** Shards with lost or foreign data. At least one list is not empty. */
export interface DataLoss {
  /** The expected deployment; undefined if unknown. */
  readonly deployment: string | undefined;
  /** Shards without an epoch: an empty Redis, or a Cluster node that has lost its slots. */
  readonly missing: readonly Shard[];
  /** Shards of other deployments. */
  readonly foreign: readonly Shard[];
  /** Shards with an epoch before the known one: Redis was restored to a time before an accepted loss. */
  readonly older: readonly Shard[];
  /** The other deployments that were found. */
  readonly strangers: readonly string[];
}

/**
 * Compares the found epochs with the known ones. If no deployment is known, a single found deployment becomes the known one.
 * @param found the shards that answered
 */
export function dataLossIn(
  found: ReadonlyMap<Shard, Pick<InspectedShard, 'epoch'>>,
  known: { readonly deployment: string | undefined; readonly epochs: ReadonlyMap<Shard, number> },
): DataLoss | undefined {
  const deployments = new Set([...found.values()].flatMap(({ epoch }) => epoch?.deployment ?? []));
  const deployment = known.deployment ?? (deployments.size === 1 ? [...deployments][0] : undefined);
  const missing: Shard[] = [];
  const foreign: Shard[] = [];
  const older: Shard[] = [];
  for (const [shard, { epoch }] of found) {
    if (epoch === undefined) missing.push(shard);
    else if (epoch.deployment !== deployment) foreign.push(shard);
    else if (epoch.epoch < (known.epochs.get(shard) ?? 0)) older.push(shard);
  }
  if (missing.length + foreign.length + older.length === 0) return undefined;
  const strangers = [...deployments].filter(each => each !== deployment);
  return { deployment, missing, foreign, older, strangers };
}
