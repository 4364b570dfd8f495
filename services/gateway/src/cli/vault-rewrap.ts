import { type RewrapReport, rewrapAll, type SealedCensus, takeCensus, totalOf } from '../rewrap.ts';
import { type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openStore } from './open-store.ts';
import { createProgress } from './progress.ts';
import { isSound, removableKeys, warn } from './vault-status.ts';

/** Opened and sealed at once. */
const BATCH = 32;

/**
 * `postern vault rewrap`. What is done stays done, so it can be stopped at any time and run again. Ends with 1 when values
 * remain under other keys than the current one.
 */
export async function vaultRewrap(
  p: { readonly configPath: string; readonly json: boolean },
  io: CliIo,
): Promise<ExitCode> {
  await using store = await openStore(p.configPath, io);
  const { vault } = store;
  const records = store.stores.sealedRecords;
  const before = await takeCensus({ records, vault });
  const todo = sum(before, 'old');
  const [current] = vault.kids;
  io.err(
    `Bringing ${todo} values under "${current}". Every replica of the gateway must have this key configured by now; one that ` +
      'has not cannot open what is re-wrapped.\n',
  );
  const progress = createProgress(io, todo);
  progress.at(0);
  const report = await rewrapAll({
    records,
    vault,
    batch: BATCH,
    goOn: ({ rewrapped }) => {
      progress.at(Math.min(rewrapped, todo));
      return !io.signal.aborted;
    },
  });
  progress.end();
  const after = await takeCensus({ records, vault });
  const result = resultOf(report, after);
  io.out(
    p.json
      ? `${JSON.stringify({ result, rewrapped: report.rewrapped, overtaken: report.overtaken, ...after })}\n`
      : textOf(report, after),
  );
  warn(after, io);
  for (const { kind, id } of report.damaged) io.err(`DAMAGED ${kind} ${id}: it does not open.\n`);
  if (result === 'stopped') return exitCodes.interrupted;
  return result === 'done' ? exitCodes.fine : exitCodes.trouble;
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
  const lines = [`Re-wrapped ${report.rewrapped} values; ${report.overtaken} were renewed or removed meanwhile.`];
  if (report.result === 'stopped') lines.push('Stopped. What is done stays done; run it again to go on.');
  if (report.result === 'unsettled')
    lines.push(
      'Values keep arriving under an old key: a replica still seals with it. Put the new key first everywhere.',
    );
  if (report.result === 'done')
    lines.push(...removableKeys(after).map(({ kid }) => `Old key "${kid}" is removable: 0 values.`));
  for (const { kid, role, counts } of after.keys) {
    if (role === 'old' && totalOf(counts) > 0)
      lines.push(`Old key "${kid}" is still needed: ${totalOf(counts)} values.`);
  }
  return `${lines.join('\n')}\n`;
}
