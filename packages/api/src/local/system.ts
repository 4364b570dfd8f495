import { homedir, tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { LocalError } from './messages.ts';

/** What differs between systems and users. Tests pass their own. */
export interface System {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly tmpdir: string;
  /** Undefined on Windows. */
  readonly uid: number | undefined;
}

/** @param env replaces the environment of this process */
export const thisSystem = (env: System['env'] = process.env): System => ({
  platform: process.platform,
  env,
  tmpdir: tmpdir(),
  uid: process.getuid?.(),
  get home() {
    return homeAmong([homedir, () => userInfo().homedir]);
  },
});

/**
 * The first that is absolute: a relative one would be another folder for every working directory.
 * @param places throw for a user without one, such as those of some containers
 * @throws LocalError `no_home` @internal
 */
export function homeAmong(places: readonly (() => string)[]): string {
  for (const place of places) {
    try {
      const home = place();
      if (path.isAbsolute(home)) return home;
    } catch {}
  }
  throw new LocalError('no_home', 'This user has no home folder: set HOME or POSTERN_HOME to an absolute path.');
}
