import { faketimeLibrary } from './needs.ts';

/**
 * The environment of a process whose time of day is off by so much, such as `+10m` or `-10m` (libfaketime). The monotonic clock is left
 * alone: event loop and timers go by it, and a clock that an administrator or NTP puts wrong does not touch it.
 * @throws where libfaketime is not installed
 */
export function faketimeEnv(offset: string): Readonly<Record<string, string>> {
  const library = faketimeLibrary();
  if (library === undefined) throw new Error('libfaketime is not installed');
  return { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** As `faketimeEnv`, with the offset in a file, so that it can change while the process runs. */
export function faketimeFileEnv(path: string): Readonly<Record<string, string>> {
  const { FAKETIME: _, ...env } = faketimeEnv('+0');
  return { ...env, FAKETIME_TIMESTAMP_FILE: path, FAKETIME_NO_CACHE: '1' };
}
