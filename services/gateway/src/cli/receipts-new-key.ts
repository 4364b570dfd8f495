import { newReceiptKey } from '@postern/payment';
import { type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { checkedKid, writeKeyFile } from './write-key-file.ts';

/** `postern receipts new-key`: an Ed25519 key, in a file that only its owner reads. */
export async function receiptsNewKey(
  p: { readonly kid: string | undefined; readonly out: string | undefined },
  io: CliIo,
): Promise<ExitCode> {
  const { kid: thumbprint, key } = await newReceiptKey();
  const kid = checkedKid(p.kid ?? thumbprint);
  const path = writeKeyFile(p.out ?? `${kid}.jwk`, JSON.stringify(key));
  io.out(
    [
      `Key "${kid}" is in ${path}, readable by you alone.`,
      'Add it to receipts.keys in second place on all replicas, so that verifiers learn of it, and move it to the first place',
      'afterwards. Keep the old one, or its public half, for as long as receipts signed with it are to be verified:',
      '',
      '  receipts:',
      '    keys:',
      '      - { kid: <current>, key: … }',
      `      - { kid: ${kid}, key: '\${file:${path}}' }`,
      '',
    ].join('\n'),
  );
  return exitCodes.fine;
}
