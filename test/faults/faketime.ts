import { faketimeLibrary } from './needs.ts';

/**
 * Returns the environment of a process whose time of day has this offset, such as `+10m` or `-10m` (libfaketime). The monotonic clock,
 * which drives event loop and timers, stays correct, as it does when an administrator or NTP sets a wrong time.
 * @throws if libfaketime is not installed
 */
export function faketimeEnv(offset: string): Readonly<Record<string, string>> {
  const library = faketimeLibrary();
  if (library === undefined) throw new Error('libfaketime is not installed');
  return { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** Like `faketimeEnv`, with the offset in a file, so that it can change at run time. */
export function faketimeFileEnv(path: string): Readonly<Record<string, string>> {
  const { FAKETIME: _, ...env } = faketimeEnv('+0');
  return { ...env, FAKETIME_TIMESTAMP_FILE: path, FAKETIME_NO_CACHE: '1' };
}
