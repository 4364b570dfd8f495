import { sealedKinds } from '@postern/elicitation';
import { type KeyUse, type SealedCensus, takeCensus, totalOf } from '../sealing/rewrap.ts';
import { type CliIo, type ExitCode, exitCodes, tableOf } from './cli-io.ts';
import type { Invocation } from './command.ts';
import { openStore } from './open-store.ts';

/** `postern vault status`: exits with 1 if values are sealed under an unconfigured key, or name no key. */
export async function vaultStatus(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using store = await openStore(p.configPath, io);
  const census = await takeCensus({ records: store.stores.sealedRecords, vault: store.vault });
  io.out(p.json ? `${JSON.stringify(census)}\n` : textOf(census));
  warn(census, io);
  return isSound(census) ? exitCodes.ok : exitCodes.failure;
}

export const isSound = ({ keys, unreadable }: SealedCensus): boolean =>
  unreadable.length === 0 && keys.every(({ role }) => role !== 'unknown');

/** Old keys without values. Unknown, hence none, if there are unreadable records. */
export function removableKeys({ keys, unreadable }: SealedCensus): readonly KeyUse[] {
  return unreadable.length > 0 ? [] : keys.filter(({ role, counts }) => role === 'old' && totalOf(counts) === 0);
}

function textOf(census: SealedCensus): string {
  const rows = census.keys.map(({ kid, role, counts }) => [
    kid,
    role,
    ...sealedKinds.map(kind => String(counts[kind])),
    String(totalOf(counts)),
  ]);
  const notes = [
    ...removableKeys(census).map(({ kid }) => `Old key "${kid}": 0 values.`),
    ...census.keys
      .filter(({ role, counts }) => role === 'old' && totalOf(counts) > 0)
      .map(({ kid, counts }) => `Old key "${kid}": ${totalOf(counts)} values to re-wrap. Keep it configured.`),
  ];
  const table = tableOf(
    ['kid', 'role', ...sealedKinds.map(kind => (kind === 'apiKey' ? 'API keys' : `${kind}s`)), 'total'],
    rows,
  );
  return [table, ...(notes.length === 0 ? [] : ['', ...notes]), ''].join('\n');
}

/** Reports lost keys and unreadable records. */
export function warn({ keys, unreadable }: SealedCensus, io: CliIo): void {
  for (const { kid, role, counts } of keys) {
    if (role === 'unknown')
      io.err(
        `LOST KEY "${kid}": ${totalOf(counts)} values are sealed under this key, which is not configured. They cannot be opened ` +
          'until it is in vault.keys again.\n',
      );
  }
  for (const { kind, id } of unreadable) io.err(`DAMAGED ${kind} ${id}: its key id is unreadable.\n`);
}
