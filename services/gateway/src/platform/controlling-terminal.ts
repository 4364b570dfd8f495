import { closeSync, openSync } from 'node:fs';

/** Whether this process has a terminal, as a service does not. A process whose terminal was closed has none either. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns whether the terminal of this process was closed since this call. The system then sends SIGHUP, and so do operators who want a
 * reload, but only the first should stop the process.
 */
export function watchTerminal(): () => boolean {
  const hadTerminal = hasTerminal();
  return () => hadTerminal && !hasTerminal();
}
