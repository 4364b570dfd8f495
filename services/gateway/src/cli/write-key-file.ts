import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError } from './cli-io.ts';

/** A name that a configuration takes. @throws CliError */
export function checkedKid(kid: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(kid)) throw new CliError('A kid is 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-".');
  return kid;
}

/**
 * A key is never shown: terminals, their scroll-back and the logs of CI keep what they are shown. Nor is one written over another.
 * @returns the absolute path
 * @throws CliError
 */
export function writeKeyFile(file: string, key: string): string {
  const path = resolve(file);
  try {
    writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw new CliError(
      code === 'EEXIST' ? `${path} exists already; nothing was written.` : `${path} cannot be written.`,
    );
  }
  return path;
}
