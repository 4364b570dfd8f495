import { SHARDS, type Shard } from '@postern/elicitation';
import { DEPLOYMENT_ID } from '@postern/store-redis/profile';
import { offered } from '../platform/store/network.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { openStore, recordIn } from './open-store.ts';
import { deploymentsIn, type InspectedShards, inspected, redisStatus } from './redis-status.ts';

/**
 * `postern redis accept-loss`: begins a new epoch in the shards without one, with `--all` in every shard. Changes nothing else. Running
 * replicas resume within seconds.
 */
async function redisAcceptLoss(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  const { all = false, yes = false } = p.values;
  const say = (text: string) => (p.json ? io.err : io.out)(text);
  await using store = await openStore(p.configPath, io);
  const { epochs } = offered(store.network);
  const found = await inspected(epochs);
  const deployment = deploymentOf(p.values.deployment, store.config.redis.deployment, found);
  const missing = SHARDS.filter(shard => found.get(shard)?.epoch === undefined);
  const foreign = SHARDS.filter(shard => isForeign(found, shard, deployment));
  say(`Deployment ${deployment}: ${missing.length} of ${SHARDS.length} shards without data.\n`);
  if (foreign.length > 0) {
    const strangers = [...deploymentsIn(found)].filter(each => each !== undefined && each !== deployment);
    say(`${foreign.length} shards belong to another deployment: ${strangers.join(', ')}.\n`);
    if (!all)
      throw new CliError(
        'This looks like the Redis of another deployment. Check redis.url, redis.prefix and redis.deployment. To take over its ' +
          'shards anyway, add --all.',
      );
  }
  const shards = all ? SHARDS : missing;
  const applies = yes && !p.dryRun && shards.length > 0;
  if (applies) {
    const epoch = Math.max(Date.now(), ...[...found.values()].map(({ epoch: known }) => (known?.epoch ?? 0) + 1));
    await recordIn(store)(actor, { event: 'redis.loss_accepted', deployment, shards: shards.length });
    await epochs.begin({ deployment, epoch }, shards, { replaces: all });
  }
  if (p.json) io.out(`${JSON.stringify({ dryRun: !applies, deployment, shards: shards.length })}\n`);
  else if (shards.length === 0) io.out('Nothing to accept.\n');
  else if (applies) io.out(`Accepted in ${shards.length} shards. Replicas become ready within seconds.\n`);
  else
    io.out(
      `Would begin a new epoch in ${shards.length} shards. Their elicitations, connections and one-time values stay lost, and used ` +
        'requests may succeed again. Add --yes to apply.\n',
    );
  // Without --dry-run, the operator may have expected it to apply.
  return applies || p.dryRun || shards.length === 0 ? exitCodes.ok : exitCodes.failure;
}

/** @throws CliError if the deployment is unknown or contradictory */
function deploymentOf(given: string | undefined, configured: string | undefined, found: InspectedShards): string {
  if (given !== undefined && !DEPLOYMENT_ID.test(given))
    throw new CliError('--deployment is not a deployment id (dp_…).');
  if (given !== undefined && configured !== undefined && given !== configured)
    throw new CliError(`--deployment is ${given}, but redis.deployment is ${configured}.`);
  const known = [...deploymentsIn(found)].flatMap(each => each ?? []);
  const deployment = given ?? configured ?? (known.length === 1 ? known[0] : undefined);
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

export const redisCommands: readonly Command[] = [
  {
    name: 'redis status',
    about: 'check that Redis has the data of this deployment',
    json: 'document',
    changes: false,
    failure: 'a shard has no data, or belongs to another deployment',
    run: redisStatus,
  },
  {
    name: 'redis accept-loss',
    about: 'resume with a Redis that has lost data which cannot be restored',
    options: {
      yes: 'apply; without it, the command only says what it would do',
      all: 'in every shard, also of another deployment or after a restored backup',
      deployment: true,
      ...whoAndWhy,
    },
    json: 'document',
    changes: true,
    failure: '`--yes` or `--all` is needed',
    run: redisAcceptLoss,
  },
];
