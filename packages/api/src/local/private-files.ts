import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  type Stats,
} from 'node:fs';
import path from 'node:path';
import { LocalError } from './messages.ts';
import type { System } from './system.ts';

const LARGEST_FILE_BYTES = 4_096;

/**
 * Whether only this user can change what is there. Windows has no such modes: there, what is in the profile of the user belongs to him.
 */
export function isOwn(stats: Pick<Stats, 'uid'>, place: string, system: System): boolean {
  if (system.platform !== 'win32') return stats.uid === system.uid;
  const { home, env } = system;
  const local = env['LOCALAPPDATA'] ?? '';
  const profile = [home, ...(path.win32.isAbsolute(local) ? [local] : [])];
  // The way to another drive or to a share is absolute.
  return profile
    .map(folder => path.win32.relative(folder, place))
    .some(way => !/^\.\.(?:[\\/]|$)/.test(way) && !path.win32.isAbsolute(way));
}

/** Whether other users may open a file, by its mode. On Windows, the folder decides, and modes say nothing. */
export const isOpenToOthers = ({ mode }: Pick<Stats, 'mode'>, { platform }: Pick<System, 'platform'>): boolean =>
  platform !== 'win32' && (mode & 0o077) !== 0;

/** Why other users could reach into a folder. Undefined if none can. */
export function folderFault(
  folder: string,
  stats: Stats,
  system: Pick<System, 'platform' | 'uid'>,
): string | undefined {
  if (stats.isSymbolicLink()) return `${folder} is a symbolic link. Use the folder that it leads to.`;
  if (!stats.isDirectory()) return `${folder} is not a folder.`;
  if (system.platform !== 'win32' && stats.uid !== system.uid) return `${folder} belongs to another user.`;
  if (isOpenToOthers(stats, system)) return `Other users may open ${folder}. Run chmod 700 on it.`;
  return undefined;
}

/** Creates a private folder, or checks that an existing one is so. @throws LocalError `not_private` */
export function claimFolder(folder: string, system: Pick<System, 'platform' | 'uid'>): void {
  try {
    // The umask may only take away permissions, but a folder above may have a default access control list.
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(folder, 0o700);
  } catch (error) {
    throw unusable(folder, error);
  }
  assertPrivate(folder, system);
}

/** @throws LocalError `not_private` */
export function assertPrivate(folder: string, system: Pick<System, 'platform' | 'uid'>): void {
  const stats = listed(folder);
  const fault = stats === undefined ? `${folder} is not there.` : folderFault(folder, stats, system);
  if (fault !== undefined) throw new LocalError('not_private', fault);
}

/** What is there, without following a link. Undefined if nothing is. @throws LocalError `not_private` */
export function listed(place: string): Stats | undefined {
  try {
    return lstatSync(place, { throwIfNoEntry: false });
  } catch (error) {
    throw unusable(place, error);
  }
}

/** What the operating system refuses, such as a folder above that belongs to another user. */
export function unusable(place: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  return new LocalError('not_private', `${place} cannot be used (${String(error.code)}).`);
}

/** Reads a small file that only this user may read. Undefined if there is none. @throws LocalError `not_private` */
export function readPrivateFile(file: string, system: System): string | undefined {
  const found = listed(file);
  if (found === undefined) return undefined;
  if (!found.isFile()) throw new LocalError('not_private', `${file}: not a file.`);
  // Windows has neither flag.
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  let opened: number;
  try {
    opened = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    throw unusable(file, error);
  }
  try {
    const stats = fstatSync(opened);
    if (system.platform !== 'win32' && (stats.uid !== system.uid || isOpenToOthers(stats, system)))
      throw new LocalError(
        'not_private',
        `${file}: must be a file that only its owner, this user, may read; run chmod 600.`,
      );
    if (stats.size > LARGEST_FILE_BYTES) throw new LocalError('not_private', `${file}: not written by the gateway.`);
    return readFileSync(opened, 'utf8');
  } finally {
    closeSync(opened);
  }
}
