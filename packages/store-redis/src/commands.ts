import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisFault } from './redis-fault.ts';

/** Number of declared keys by script. The file name is the script name in kebab-case. */
export const commandKeys = {
  createElicitation: 11,
  transitionElicitation: 19,
  redeemElicitation: 4,
  postponeElicitation: 3,
  dueElicitations: 3,
  openElicitations: 1,
  setMute: 1,
  notePayment: 1,
  checkCharge: 1,
  dueCharges: 2,
  dropRefundCheck: 2,
  putPayment: 4,
  beginRefresh: 1,
  finishRefresh: 2,
  postponeRefresh: 1,
  markLost: 1,
  recordUse: 1,
  removeConnection: 6,
  removeCredential: 4,
  addPasskey: 4,
  usePasskey: 1,
  renamePasskey: 1,
  removePasskey: 4,
  resetPasskeys: 4,
  addRevocation: 3,
  dueRevocations: 1,
  claimRevocation: 2,
  finishRevocation: 3,
  postponeRevocation: 2,
  replaceSealed: 1,
  carryEvents: 3,
  countRefreshes: 1,
  readFeed: 2,
  moveCursor: 2,
  takeLease: 1,
  releaseLease: 1,
  readOneTime: 1,
  consumeOneTime: 1,
  spendOneTime: 1,
  createBrowserSession: 3,
  readBrowserSession: 1,
  touchBrowserSession: 1,
  endBrowserSession: 3,
  endBrowserSessions: 2,
  putRegistration: 1,
  removeRegistration: 1,
  putIdempotency: 2,
  readLedgers: 16,
  addApiKey: 2,
  revokeApiKey: 2,
  readApiKeys: 1,
  noteKeys: 1,
  startJob: 2,
  claimJob: 1,
  moveJob: 1,
  endJob: 3,
  announceReplica: 1,
  drainReplica: 1,
  readReplicas: 1,
  moveWebhookCursor: 1,
  inspectShard: 2,
} as const;

export type CommandName = keyof typeof commandKeys;
/** @internal */
export const commandNames = Object.keys(commandKeys) as CommandName[];

/** Code that several scripts share. It is prepended to each of them. */
const shared: Readonly<Record<string, readonly CommandName[]>> = {
  'store-clock.lua': commandNames,
  'stream-position.lua': ['carryEvents', 'readFeed', 'moveCursor'],
  'elicitation-fields.lua': ['createElicitation', 'transitionElicitation', 'redeemElicitation'],
  'storage-ledger.lua': [
    ...(['createElicitation', 'transitionElicitation', 'putIdempotency', 'putPayment', 'readLedgers'] as const),
    ...([
      'createBrowserSession',
      'endBrowserSession',
      'finishRefresh',
      'removeConnection',
      'removeCredential',
    ] as const),
    ...(['addRevocation', 'finishRevocation', 'addPasskey', 'removePasskey', 'resetPasskeys'] as const),
  ],
  'idempotency-record.lua': ['createElicitation', 'putIdempotency'],
  'api-key-list.lua': ['addApiKey', 'revokeApiKey'],
  'passkey-change.lua': ['addPasskey', 'removePasskey', 'resetPasskeys'],
  'counted-payments.lua': ['transitionElicitation'],
  'refresh-refusals.lua': ['beginRefresh', 'postponeRefresh'],
  'pending-refunds.lua': ['putPayment', 'dropRefundCheck'],
  'known-layout.lua': ['transitionElicitation', 'redeemElicitation', 'consumeOneTime', 'claimRevocation'],
};

/** @internal */
export const sharedFiles: readonly string[] = Object.keys(shared);

/** The ioredis method name of a script; never the name of a Redis command. */
export const methodOf = (name: CommandName) => `postern:${name}`;

/** @internal */
export function fileOf(name: CommandName): string {
  return `${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}.lua`;
}

/** Value of the ioredis option `scripts`. ioredis sends EVALSHA, or EVAL if Redis does not know the script yet. */
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

/** The script text as sent, and its SHA-1: the first argument of EVAL or of EVALSHA. @internal */
export function scriptOf(name: CommandName): { readonly lua: string; readonly digest: string } {
  const { lua = '' } = loadScripts()[methodOf(name)] ?? {};
  return { lua, digest: createHash('sha1').update(lua).digest('hex') };
}

/**
 * Called for every sent command with the name of the script or command, never with its arguments. The returned function is called
 * when the command ends, with the fault if it failed. A retry after a lost reply belongs to the same command.
 */
export type CommandObserver = (name: string) => (fault?: RedisFault) => void;
