import { stat } from 'node:fs/promises';
import { periodic } from '../periodic.ts';

export interface FileWatch extends AsyncDisposable {
  /** Takes the files as they are now for known, and starts the watch. Call it before you read them, each time. */
  begin(): Promise<void>;
}

/** Interval between two looks at the files, in ms. */
const INTERVAL_MS = 1_000;

/**
 * Calls `onChange` after a file has changed and then stayed the same for an interval. Half-written files are not read. Polls, because
 * file notifications miss common cases: editors replace the file, Kubernetes swaps a symbolic link to a directory, and network file
 * systems send no notifications.
 * @param files returns the paths to watch, which may change with the content of a file. A file may be missing.
 */
export function watchFiles(p: {
  readonly files: () => Iterable<string>;
  readonly onChange: () => void;
  readonly intervalMs?: number;
}): FileWatch {
  /** Only `begin` sets the first one: a read of our own could end after the caller has read the files, and hide a change. */
  let known: string | undefined;
  /** A state that differs from the known one, seen once. */
  let unsettled: string | undefined;

  async function look(): Promise<void> {
    if (known === undefined) return;
    const seen = await stateOf(p.files());
    if (seen === known) unsettled = undefined;
    else if (seen !== unsettled) unsettled = seen;
    else {
      known = seen;
      unsettled = undefined;
      p.onChange();
    }
  }

  const looking = periodic({ every: p.intervalMs ?? INTERVAL_MS, run: look });
  return {
    async begin() {
      known = await stateOf(p.files());
      unsettled = undefined;
    },
    [Symbol.asyncDispose]: looking.stop,
  };
}

/** Changes with the content, and when another file takes the path. Follows symbolic links. */
async function stateOf(paths: Iterable<string>): Promise<string> {
  const states = [...new Set(paths)].sort().map(async path => {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      return [path, dev, ino, size, mtimeNs, ctimeNs].join(' ');
    } catch (error) {
      return `${path} ${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'}`;
    }
  });
  return (await Promise.all(states)).join('\n');
}
