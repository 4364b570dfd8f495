import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import { announcementsOf } from '../platform/audit/pseudonyms.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { type Command, changingActor, type Invocation, subjectIn, whoAndWhy } from './command.ts';
import { openStore, recordIn } from './open-store.ts';

/**
 * `postern passkeys reset`: removes every passkey of a user who has lost all of them, in every identity mode. Exits with 1 if there is
 * none.
 */
async function passkeysReset(p: Invocation, io: CliIo): Promise<ExitCode> {
  const [subject, actor] = [subjectIn(p), changingActor(p)];
  await using store = await openStore(p.configPath, io);
  const signedIn = { identityMode: 'login', mcpServerId: '', subject } as const;
  const others = store.config.mcpServers.flatMap(({ id, identity }) =>
    identity.mode === 'login' ? [] : [{ identityMode: identity.mode, mcpServerId: id, subject }],
  );
  const holders = [signedIn, ...others].map(passkeyOwnerOf);
  const { passkeys } = store.stores;
  const record = recordIn(store);
  const found = (await Promise.all(holders.map(holder => passkeys.list(holder)))).flat().length;
  // That a user has none is a look at the user as well.
  if (p.dryRun || found === 0) await record(actor, { event: 'admin.person_viewed', subject, what: 'passkeys' });
  if (found === 0) throw new CliError('This user has no passkey. Check issuer and subject: both must match exactly.');
  const announcedAs = announcementsOf(store.config, store.pseudonym)(subject);
  let count = p.dryRun ? found : 0;
  if (!p.dryRun) {
    await record(actor, { event: 'passkey.reset', subject, passkeys: found });
    for (const holder of holders) count += await passkeys.reset(holder, announcedAs);
  }
  const pseudonym = store.pseudonym(subject);
  const passkeysOf = `${count === 1 ? '1 passkey' : `${count} passkeys`} of ${pseudonym}`;
  if (p.json) io.out(`${JSON.stringify({ dryRun: p.dryRun, subject: pseudonym, passkeys: count })}\n`);
  else if (p.dryRun) io.out(`Would remove ${passkeysOf}.\n`);
  else io.out(`Removed ${passkeysOf}. The next one can approve payments 24 hours after it was added.\n`);
  return exitCodes.ok;
}

export const passkeysCommands: readonly Command[] = [
  {
    name: 'passkeys reset',
    parameters: ['<issuer>', '<subject>'],
    about: 'remove all passkeys of a user; the next one approves payments after 24 hours',
    options: whoAndWhy,
    json: 'document',
    changes: true,
    failure: 'the user has no passkey',
    run: passkeysReset,
  },
];
