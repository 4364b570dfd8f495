import { setTimeout as delay } from 'node:timers/promises';
import type { ListedReplica } from '@postern/elicitation';
import { CliError, type CliIo, createProgress, type ExitCode, exitCodes } from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { openStore, recordIn } from './open-store.ts';
import { operationCommand, tableWith } from './operation-command.ts';

/** How often the command looks at the replica that it drains, in ms. */
const POLL_MS = 500;

/** `postern drain`: orders a replica to drain, and waits until it has. */
async function drain(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  const [named = ''] = p.args;
  await using store = await openStore(p.configPath, io);
  const { replicas } = store.stores;
  const listed = await replicas.list();
  const { replicaId, instance, isOrderedToDrain } = oneOf(listed, named);
  const isLast = !listed.some(each => each.replicaId !== replicaId && !each.isOrderedToDrain);
  const refusal = () =>
    new CliError(`${instance} is the last replica that serves. Start another one first, or add --yes to stop serving.`);
  if (isLast && !isOrderedToDrain && p.values.yes !== true) throw refusal();
  if (p.dryRun) {
    io.out(
      p.json
        ? `${JSON.stringify({ dryRun: true, replicaId, instance })}\n`
        : `Would drain ${instance} (${replicaId}).\n`,
    );
    return exitCodes.ok;
  }
  if (!isOrderedToDrain) await recordIn(store)(actor, { event: 'replica.drain_ordered', replicaId, replica: instance });
  const result = await replicas.drain(replicaId, { evenLast: p.values.yes === true });
  if (result === 'last') throw refusal();
  if (result === 'unknown') throw new CliError(`${instance} has stopped.`);
  const progress = createProgress(io);
  for (;;) {
    const found = (await replicas.list()).find(each => each.replicaId === replicaId);
    if (found === undefined || found.status === 'drained') {
      progress.end();
      const status = found?.status ?? 'stopped';
      if (p.json) io.out(`${JSON.stringify({ dryRun: false, replicaId, instance, status })}\n`);
      else io.out(status === 'stopped' ? `${instance} has stopped.\n` : `${instance} is drained. Stop its process.\n`);
      return exitCodes.ok;
    }
    progress.count(`${found.status}: ${found.requests} requests`, found.requests);
    if (io.signal.aborted) {
      progress.end();
      io.err('The replica continues to drain. Repeat the command to wait for it.\n');
      return exitCodes.interrupted;
    }
    await delay(POLL_MS, undefined, { signal: io.signal }).catch(() => undefined);
  }
}

/** Finds a replica by its id, its instance or its host name. @throws CliError */
function oneOf(listed: readonly ListedReplica[], named: string): ListedReplica {
  const found = listed.filter(
    ({ replicaId, instance }) => [replicaId, instance].includes(named) || instance.startsWith(`${named}:`),
  );
  const [replica, ...more] = found;
  if (replica === undefined) throw new CliError('There is no such replica. See postern replicas.');
  if (more.length > 0) throw new CliError(`${found.length} replicas have this name. Use the id, see postern replicas.`);
  return replica;
}

export const replicasCommands: readonly Command[] = [
  operationCommand({
    operation: 'listReplicas',
    name: 'replicas',
    about: 'list the running replicas, with their status and requests in flight',
    json: ({ items }) => ({ replicas: items }),
    text: ({ items }) =>
      `${tableWith(
        [
          ['replica', of => of.replicaId],
          ['instance', of => of.instance],
          ['version', of => of.version],
          ['started', of => of.startedAt],
          ['status', of => (of.status === 'serving' && of.isOrderedToDrain ? 'ordered to drain' : of.status)],
          ['requests', of => of.requests],
        ],
        items,
      )}\n`,
    failure: 'no replica runs',
    isFault: ({ items }) => items.length === 0,
  }),
  {
    name: 'drain',
    parameters: ['<replica>'],
    about: 'take a replica out of service, by id or host name, and wait until it can be stopped',
    options: { ...whoAndWhy, yes: 'also the last replica that serves' },
    json: 'document',
    changes: true,
    failure: 'it is the last that serves, or unknown',
    canBeInterrupted: true,
    run: drain,
  },
];
