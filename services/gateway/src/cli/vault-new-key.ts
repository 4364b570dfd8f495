import { randomBytes } from 'node:crypto';
import { type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { checkedKid, writeKeyFile } from './write-key-file.ts';

/** `postern vault new-key`: 256 random bits, in a file that only its owner reads. */
export function vaultNewKey(
  p: { readonly kid: string | undefined; readonly out: string | undefined },
  io: CliIo,
): ExitCode {
  const kid = checkedKid(p.kid ?? `key-${new Date().toISOString().slice(0, 10)}`);
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
