import type { CliIo } from './cli-io.ts';

const WIDTH = 30;
/** Without a terminal, a line for every so many percent. */
const PLAIN_STEP = 10;

/** Shows how far something has come: a bar that is redrawn on a terminal, a few plain lines elsewhere. */
export function createProgress(io: Pick<CliIo, 'err' | 'isTerminal'>, total: number) {
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
    /** Leaves the bar as it stands and begins a new line. */
    end(): void {
      if (io.isTerminal && shown >= 0) io.err('\n');
    },
  };
}
