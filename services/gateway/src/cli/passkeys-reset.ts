import type { Subject } from '@postern/elicitation';
import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import { announcementsOf } from '../platform/audit/pseudonyms.ts';
import { auditByOperator } from './audit-commands.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openStore } from './open-store.ts';

/**
 * `postern passkeys reset`: removes every passkey of a user who has lost all of them, in every identity mode. Exits with 1 if there is
 * none.
 */
export async function passkeysReset(
  p: { readonly configPath: string; readonly subject: Subject },
  io: CliIo,
): Promise<ExitCode> {
  const { subject } = p;
  await using store = await openStore(p.configPath, io);
  const signedIn = { identityMode: 'login', mcpServerId: '', subject } as const;
  const others = store.config.mcpServers.flatMap(({ id, identity }) =>
    identity.mode === 'login' ? [] : [{ identityMode: identity.mode, mcpServerId: id, subject }],
  );
  let removed = 0;
  const announcedAs = announcementsOf(store.config, store.pseudonym)(subject);
  for (const holder of [signedIn, ...others])
    removed += await store.stores.passkeys.reset(passkeyOwnerOf(holder), announcedAs);
  if (removed === 0) throw new CliError('This user has no passkey. Check issuer and subject: both must match exactly.');
  await auditByOperator(
    store,
    { event: 'passkey.reset', subject: store.pseudonym(subject), removed },
    'passkeys reset',
  );
  io.out(
    `Removed ${removed === 1 ? '1 passkey' : `${removed} passkeys`} of ${store.pseudonym(subject)}. The next one can approve payments 24 hours ` +
      'after it was added.\n',
  );
  return exitCodes.ok;
}
