import { type RewrapReport, rewrapAll, type SealedCensus, takeCensus, totalOf } from '../sealing/rewrap.ts';
import { type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openStore } from './open-store.ts';
import { isSound, removableKeys, warn } from './vault-status.ts';

/** Values re-wrapped concurrently. */
const BATCH = 32;

/**
 * `postern vault rewrap`: can be interrupted at any time and run again. Exits with 1 if values remain under another key than the current
 * one.
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
    `Re-wrapping ${todo} values under "${current}". Every replica must have this key configured; a replica without it cannot ` +
      'open re-wrapped values.\n',
  );
  const progress = createProgress(io, todo);
  progress.at(0);
  const report = await rewrapAll({
    records,
    vault,
    batch: BATCH,
    shouldContinue: ({ rewrapped }) => {
      progress.at(Math.min(rewrapped, todo));
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

const WIDTH = 30;
/** Without a terminal, prints a line per step, in percent. */
const PLAIN_STEP = 10;

/** Shows progress: a bar on a terminal, otherwise a few plain lines. */
function createProgress(io: Pick<CliIo, 'err' | 'isTerminal'>, total: number) {
  let shown = -1;
  return {
    at(done: number): void {
      const percent = total === 0 ? 100 : Math.min(100, Math.floor((done / total) * 100));
      const step = io.isTerminal ? percent : Math.floor(percent / PLAIN_STEP) * PLAIN_STEP;
      if (step === shown) return;
      shown = step;
      const filled = Math.round((percent / 100) * WIDTH);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
      if (io.isTerminal) io.err(`\r${bar} ${String(percent).padStart(3)} %  ${done} of ${total}`);
      else io.err(`${percent} %  ${done} of ${total}\n`);
    },
    /** Ends the line of the bar. */
    end(): void {
      if (io.isTerminal && shown >= 0) io.err('\n');
    },
  };
}
