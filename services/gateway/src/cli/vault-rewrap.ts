import { type RewrapReport, rewrapAll, type SealedCensus, takeCensus, totalOf } from '../sealing/rewrap.ts';
import { type CliIo, createProgress, type ExitCode, exitCodes } from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { openStore, recordIn } from './open-store.ts';
import { isSound, removableKeys, vaultStatus, warn } from './vault-status.ts';

/** Values re-wrapped concurrently. */
const BATCH = 32;

/**
 * `postern vault rewrap`: can be interrupted at any time and run again. Exits with 1 if values remain under another key than the current
 * one.
 */
async function vaultRewrap(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  await using store = await openStore(p.configPath, io);
  const { vault } = store;
  const records = store.stores.sealedRecords;
  const before = await takeCensus({ records, vault });
  const todo = sum(before, 'old');
  const [current] = vault.kids;
  if (p.dryRun) {
    io.out(
      p.json
        ? `${JSON.stringify({ dryRun: true, ...before })}\n`
        : `Would re-wrap ${todo} values under "${current}".\n`,
    );
    warn(before, io);
    return isSound(before) ? exitCodes.ok : exitCodes.failure;
  }
  await recordIn(store)(actor, { event: 'admin.rewrap_started', kid: current, values: todo });
  io.err(
    `Re-wrapping ${todo} values under "${current}". Every replica must have this key configured; a replica without it cannot ` +
      'open re-wrapped values.\n',
  );
  const progress = createProgress(io);
  progress.at(0, todo);
  const report = await rewrapAll({
    records,
    vault,
    batch: BATCH,
    shouldContinue: ({ rewrapped }) => {
      progress.at(Math.min(rewrapped, todo), todo);
      return !io.signal.aborted;
    },
  });
  progress.end();
  const after = await takeCensus({ records, vault });
  const result = resultOf(report, after);
  io.out(
    p.json
      ? `${JSON.stringify({ result, rewrapped: report.rewrapped, overtaken: report.superseded, ...after })}\n`
      : textOf(report, after),
  );
  warn(after, io);
  for (const { kind, id } of report.damaged) io.err(`DAMAGED ${kind} ${id}: does not open.\n`);
  if (result === 'stopped') return exitCodes.interrupted;
  return result === 'done' ? exitCodes.ok : exitCodes.failure;
}

type Result = 'done' | 'stopped' | 'unsettled' | 'incomplete';

function resultOf(report: RewrapReport, after: SealedCensus): Result {
  if (report.result !== 'done') return report.result;
  const isClean = isSound(after) && report.damaged.length === 0 && sum(after, 'old') === 0;
  return isClean ? 'done' : 'incomplete';
}

const sum = ({ keys }: SealedCensus, role: string): number =>
  keys.filter(key => key.role === role).reduce((total, { counts }) => total + totalOf(counts), 0);

function textOf(report: RewrapReport, after: SealedCensus): string {
  const lines = [`Re-wrapped ${report.rewrapped} values; ${report.superseded} were replaced or removed meanwhile.`];
  if (report.result === 'stopped') lines.push('Stopped. Run the command again to continue.');
  if (report.result === 'unsettled')
    lines.push(
      'New values still appear under an old key, because a replica seals with it. Put the new key first on all replicas.',
    );
  if (report.result === 'done')
    lines.push(...removableKeys(after).map(({ kid }) => `Old key "${kid}" can be removed: 0 values.`));
  for (const { kid, role, counts } of after.keys) {
    if (role === 'old' && totalOf(counts) > 0)
      lines.push(`Old key "${kid}" is still needed: ${totalOf(counts)} values.`);
  }
  return `${lines.join('\n')}\n`;
}

export const vaultCommands: readonly Command[] = [
  {
    name: 'vault status',
    about: 'list the keys in use and the number of stored values under each',
    json: 'document',
    changes: false,
    failure: 'values name no key, or one that is not configured',
    run: vaultStatus,
  },
  {
    name: 'vault rewrap',
    about: 're-wrap every stored value under the current key',
    options: whoAndWhy,
    json: 'document',
    changes: true,
    failure: 'values remain under another key, or do not open',
    canBeInterrupted: true,
    run: vaultRewrap,
  },
];
