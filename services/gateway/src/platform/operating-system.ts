import { closeSync, openSync } from 'node:fs';

/** What differs between operating systems. Tests pass their own. */
interface OperatingSystem {
  readonly platform: NodeJS.Platform;
  /** Whether this process has a terminal, as a service does not. A process whose terminal was closed has none either. */
  readonly hasTerminal: () => boolean;
}

const thisSystem: OperatingSystem = {
  platform: process.platform,
  hasTerminal() {
    try {
      closeSync(openSync('/dev/tty', 'r'));
      return true;
    } catch {
      return false;
    }
  },
};

/** Signals that end the process, or reload its configuration. Windows delivers no SIGTERM, and SIGBREAK (Ctrl-Break) is its own. */
export const PROCESS_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGBREAK'] as const satisfies readonly NodeJS.Signals[];

/**
 * Returns whether the terminal of this process was closed since this call. The system then sends SIGHUP, and so do operators who want a
 * reload, but only the first should stop the process. On Windows, only the system sends it, and ends the process seconds later.
 */
export function watchTerminal({ platform, hasTerminal } = thisSystem): () => boolean {
  if (platform === 'win32') return () => true;
  const hadTerminal = hasTerminal();
  return () => hadTerminal && !hasTerminal();
}

/** How an operator makes the gateway load a file that it does not watch: "The gateway loads it …". */
export const reloadAdvice = ({ platform }: Pick<OperatingSystem, 'platform'> = thisSystem): string =>
  platform === 'win32' ? 'at its next start' : 'on SIGHUP';
