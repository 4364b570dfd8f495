import type { CliIo } from './cli-io.ts';

const WIDTH = 30;
/** Without a terminal, prints a line per step, in percent. */
const PLAIN_STEP = 10;
/** Without a terminal and without a known total, prints a line per so many items. */
const PLAIN_ITEMS = 1_000;

/** Shows progress on standard error: one line that is redrawn on a terminal, otherwise a few plain lines. */
export function createProgress(io: Pick<CliIo, 'err' | 'isTerminal'>) {
  let shown: number | undefined;
  return {
    /** Of a known total: a bar. */
    at(done: number, total: number): void {
      const percent = total === 0 ? 100 : Math.min(100, Math.floor((done / total) * 100));
      const step = io.isTerminal ? percent : Math.floor(percent / PLAIN_STEP) * PLAIN_STEP;
      if (step === shown) return;
      shown = step;
      const filled = Math.round((percent / 100) * WIDTH);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
      if (io.isTerminal) io.err(`\r${bar} ${String(percent).padStart(3)} %  ${done} of ${total}`);
      else io.err(`${percent} %  ${done} of ${total}\n`);
    },
    /** Without a known total: counts. */
    count(text: string, items: number): void {
      const step = io.isTerminal ? items : Math.floor(items / PLAIN_ITEMS);
      if (step === (shown ?? 0)) return;
      shown = step;
      io.err(io.isTerminal ? `\r${text}` : `${text}\n`);
    },
    /** Ends the redrawn line. */
    end(): void {
      if (io.isTerminal && shown !== undefined) io.err('\n');
    },
  };
}
