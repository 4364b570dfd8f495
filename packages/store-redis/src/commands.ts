import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The scripts by port verb, with the number of keys each declares. The file is the name in kebab-case. */
export const commandKeys = {
  createElicitation: 9,
  transitionElicitation: 12,
  redeemElicitation: 4,
  postponeElicitation: 3,
  dueElicitations: 3,
  openElicitations: 1,
  notePayment: 1,
  checkCharge: 1,
  dueCharges: 1,
  beginRefresh: 1,
  finishRefresh: 1,
  postponeRefresh: 1,
  markLost: 1,
  noteUse: 1,
  removeConnection: 4,
  removeCredential: 2,
  addPasskey: 2,
  usePasskey: 1,
  removePasskey: 2,
  resetPasskeys: 2,
  addRevocation: 2,
  dueRevocations: 1,
  claimRevocation: 2,
  finishRevocation: 2,
  postponeRevocation: 2,
  replaceSealed: 1,
  carryEvents: 2,
  readFeed: 2,
  moveCursor: 2,
  takeLease: 1,
  releaseLease: 1,
  readOneTime: 1,
  consumeOneTime: 1,
  createBrowserSession: 1,
  readBrowserSession: 1,
  touchBrowserSession: 1,
  putRegistration: 1,
  removeRegistration: 1,
  beginIdempotency: 2,
  finishIdempotency: 2,
  abandonIdempotency: 2,
  moveWebhookCursor: 1,
  inspectShard: 2,
} as const;

export type CommandName = keyof typeof commandKeys;
export const commandNames = Object.keys(commandKeys) as CommandName[];

/** What several scripts have in common is put before them. */
const shared: Readonly<Record<string, readonly CommandName[]>> = {
  'store-clock.lua': commandNames,
  'stream-position.lua': ['carryEvents', 'readFeed', 'moveCursor'],
  'elicitation-fields.lua': ['createElicitation', 'transitionElicitation', 'redeemElicitation'],
  'storage-ledger.lua': [
    'createElicitation',
    'transitionElicitation',
    'beginIdempotency',
    'finishIdempotency',
    'abandonIdempotency',
  ],
  'passkey-change.lua': ['addPasskey', 'removePasskey', 'resetPasskeys'],
  'known-layout.lua': ['transitionElicitation', 'redeemElicitation', 'consumeOneTime', 'claimRevocation'],
};

export const sharedFiles: readonly string[] = Object.keys(shared);

/** The name under which ioredis knows a script; never that of a Redis command. */
export const methodOf = (name: CommandName) => `postern:${name}`;

export function fileOf(name: CommandName): string {
  return `${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}.lua`;
}

/** ioredis `scripts` option: sent as EVALSHA, and as EVAL where Redis does not know the script yet. */
export function loadScripts(): Record<string, { lua: string; numberOfKeys: number }> {
  const read = (file: string) => readFileSync(new URL(`./commands/${file}`, import.meta.url), 'utf8');
  const parts = Object.entries(shared).map(([file, names]) => ({ lua: read(file), names }));
  const before = (name: CommandName) => parts.filter(({ names }) => names.includes(name)).map(({ lua }) => lua);
  return Object.fromEntries(
    commandNames.map(name => [
      methodOf(name),
      { lua: [...before(name), read(fileOf(name))].join('\n'), numberOfKeys: commandKeys[name] },
    ]),
  );
}

/** The text of a script as it is sent, and the SHA-1 by which Redis knows it: the first argument of EVAL or of EVALSHA. */
export function scriptOf(name: CommandName): { readonly lua: string; readonly digest: string } {
  const { lua = '' } = loadScripts()[methodOf(name)] ?? {};
  return { lua, digest: createHash('sha1').update(lua).digest('hex') };
}
