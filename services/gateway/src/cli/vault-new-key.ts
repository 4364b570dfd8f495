import { randomBytes } from 'node:crypto';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { writeKeyFile } from './write-key-file.ts';

/** `postern vault new-key`: 256 random bits, in a file that only its owner reads. */
export function vaultNewKey(
  p: { readonly kid: string | undefined; readonly out: string | undefined },
  io: CliIo,
): ExitCode {
  const kid = p.kid ?? `key-${new Date().toISOString().slice(0, 10)}`;
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(kid)) throw new CliError('A kid is 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-".');
  const path = writeKeyFile(p.out ?? `${kid}.key`, randomBytes(32).toString('base64'));
  io.out(
    [
      `Key "${kid}" is in ${path}, readable by you alone. Keep a copy apart from the backups of Redis.`,
      'Add it to vault.keys in second place on all replicas, and move it to the first place afterwards:',
      '',
      '  vault:',
      '    keys:',
      '      - { kid: <current>, key: … }',
      `      - { kid: ${kid}, key: '\${file:${path}}' }`,
      '',
    ].join('\n'),
  );
  return exitCodes.fine;
}
