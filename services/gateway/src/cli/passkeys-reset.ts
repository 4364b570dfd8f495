import type { Subject } from '@postern/elicitation';
import { passkeyHolderOf } from '../flows/passkey-holder.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openStore } from './open-store.ts';
import { auditByOperator } from './operator-audit.ts';

/**
 * `postern passkeys reset`. Removes every passkey of a person, for somebody who has lost all of them: those of their sign-in, and those of
 * each application that vouches for them. Ends with 1 where there is none.
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
  for (const holder of [signedIn, ...others]) removed += await store.stores.passkeys.reset(passkeyHolderOf(holder));
  if (removed === 0)
    throw new CliError('That person has no passkey here. Check issuer and subject: both are compared exactly.');
  await auditByOperator(
    store,
    { event: 'passkey.reset', subject: store.pseudonym(subject), removed },
    'passkeys reset',
  );
  io.out(
    `Removed ${removed === 1 ? '1 passkey' : `${removed} passkeys`} of ${store.pseudonym(subject)}. The next one approves payments 24 hours ` +
      'after it was added.\n',
  );
  return exitCodes.fine;
}
