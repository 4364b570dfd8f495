import { SHARDS, type Shard } from '@postern/elicitation';
import { DEPLOYMENT_ID } from '@postern/store-redis';
import { auditByOperator } from './audit-commands.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openStore } from './open-store.ts';
import { deploymentsIn, type InspectedShards, inspected } from './redis-status.ts';

interface AcceptLoss {
  readonly configPath: string;
  /** Also shards that have an epoch. */
  readonly all: boolean;
  readonly yes: boolean;
  readonly deployment: string | undefined;
}

/**
 * `postern redis accept-loss`: begins a new epoch in the shards without one, with `--all` in every shard. Changes nothing else. Running
 * replicas resume within seconds.
 */
export async function redisAcceptLoss(p: AcceptLoss, io: CliIo): Promise<ExitCode> {
  await using store = await openStore(p.configPath, io);
  const { epochs } = store.stores;
  const found = await inspected(epochs);
  const deployment = deploymentOf(p, store.config.redis.deployment, found);
  const missing = SHARDS.filter(shard => found.get(shard)?.epoch === undefined);
  const foreign = SHARDS.filter(shard => isForeign(found, shard, deployment));
  io.out(`Deployment ${deployment}: ${missing.length} of ${SHARDS.length} shards without data.\n`);
  if (foreign.length > 0) {
    const strangers = [...deploymentsIn(found)].filter(each => each !== undefined && each !== deployment);
    io.out(`${foreign.length} shards belong to another deployment: ${strangers.join(', ')}.\n`);
    if (!p.all)
      throw new CliError(
        'This looks like the Redis of another deployment. Check redis.url, redis.prefix and redis.deployment. To take over its ' +
          'shards anyway, add --all.',
      );
  }
  const shards = p.all ? SHARDS : missing;
  if (shards.length === 0) {
    io.out('Nothing to accept.\n');
    return exitCodes.ok;
  }
  if (!p.yes) {
    io.out(
      `Would begin a new epoch in ${shards.length} shards. Their elicitations, connections and one-time values stay lost, and used ` +
        'requests may succeed again. Add --yes to apply.\n',
    );
    return exitCodes.failure;
  }
  const epoch = Math.max(Date.now(), ...[...found.values()].map(({ epoch: known }) => (known?.epoch ?? 0) + 1));
  await epochs.begin({ deployment, epoch }, shards, { replaces: p.all });
  const accepted = { event: 'redis.loss_accepted', deployment, shards: shards.length };
  await auditByOperator(store, accepted, 'loss accepted');
  io.out(`Accepted in ${shards.length} shards. Replicas become ready within seconds.\n`);
  return exitCodes.ok;
}

/** @throws CliError if the deployment is unknown or contradictory */
function deploymentOf(p: AcceptLoss, configured: string | undefined, found: InspectedShards): string {
  if (p.deployment !== undefined && !DEPLOYMENT_ID.test(p.deployment))
    throw new CliError('--deployment is not a deployment id (dp_…).');
  if (p.deployment !== undefined && configured !== undefined && p.deployment !== configured)
    throw new CliError(`--deployment is ${p.deployment}, but redis.deployment is ${configured}.`);
  const known = [...deploymentsIn(found)].flatMap(each => each ?? []);
  const deployment = p.deployment ?? configured ?? (known.length === 1 ? known[0] : undefined);
  if (deployment === undefined)
    throw new CliError(
      `Redis names ${known.length === 0 ? 'no deployment' : `several deployments (${known.join(', ')})`}, and redis.deployment is ` +
        'not set. Add --deployment with the id from the log line redis.data_lost.',
    );
  return deployment;
}

function isForeign(found: InspectedShards, shard: Shard, deployment: string): boolean {
  const epoch = found.get(shard)?.epoch;
  return epoch !== undefined && epoch.deployment !== deployment;
}
