import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type ApiKeyView, createApiKeyAdmin, newApiKeyId, statusOfApiKey } from '../mcp-servers/api-key-admin.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, printable, tableOf, UsageError } from './cli-io.ts';
import { type Command, changeIn, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { recordIn } from './open-admin.ts';
import { type OpenStore, openStore } from './open-store.ts';
import { newPrivateFile } from './private-files.ts';

const adminOf = ({ config, vault, stores }: OpenStore) => createApiKeyAdmin({ config, vault, stores });
/** The name of the key is shown in tables. */
const NAME = /^[^\p{C}\s](?:[^\p{C}]{0,58}[^\p{C}\s])?$/u;

/** `postern api-keys list`: the keys of the configuration and of the store, never the keys themselves. */
async function apiKeysList(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using store = await openStore(p.configPath, io);
  const apiKeys = await adminOf(store).list();
  io.out(p.json ? `${JSON.stringify({ apiKeys: apiKeys.map(jsonOf) })}\n` : printable(`${tableOfKeys(apiKeys)}\n`));
  return exitCodes.ok;
}

/** `postern api-keys add`: prints the key once, to standard output or to a file that only its owner can read. */
async function apiKeysAdd(p: Invocation, io: CliIo): Promise<ExitCode> {
  const {
    args: [mcpServerId = '', name = ''],
    values: { out },
  } = p;
  const change = changeIn(p);
  if (!NAME.test(name)) throw new CliError('A name has 1 to 60 characters, and no control characters.');
  await using store = await openStore(p.configPath, io);
  if (!store.config.mcpServers.some(({ id }) => id === mcpServerId))
    throw new CliError(`The configuration has no MCP server "${mcpServerId}".`);
  const described = `an API key of ${mcpServerId}, named "${name}"`;
  if (p.dryRun) {
    io.out(p.json ? `${JSON.stringify({ dryRun: true, mcpServerId })}\n` : `Would add ${described}.\n`);
    return exitCodes.ok;
  }
  // Before the key exists: a key that cannot be written would be lost.
  const write = out === undefined ? undefined : newPrivateFile(out);
  const apiKeyId = newApiKeyId();
  await recordIn(store)(changingActor(p), { event: 'api_key.added', apiKeyId, mcpServerId, name });
  const added = await adminOf(store).add({ ...change, apiKeyId, mcpServerId, name });
  if (added.result === 'full') throw new CliError('There are 10,000 API keys. No key was added.');
  const { key } = added;
  write?.(`${key}\n`);
  if (p.json) io.out(`${JSON.stringify({ apiKeyId, mcpServerId, ...(write ? {} : { key }) })}\n`);
  else if (write === undefined) io.out(`${key}\n`);
  io.err(
    `Added ${described}: ${apiKeyId}. ${write === undefined ? 'The key is not shown again.' : `The key is in ${out}.`}` +
      '\nAll replicas accept it within half a second.\n',
  );
  return exitCodes.ok;
}

/** `postern api-keys revoke`: a key of the store or of the configuration, by its id or by the key itself. */
async function apiKeysRevoke(p: Invocation, io: CliIo): Promise<ExitCode> {
  const {
    args: [named],
    values: { 'key-file': keyFile },
  } = p;
  if ((named === undefined) === (keyFile === undefined)) throw new UsageError('Name either an <id> or --key-file.');
  const change = changeIn(p);
  await using store = await openStore(p.configPath, io);
  const admin = adminOf(store);
  const apiKeyId = named ?? (await admin.idOf(keyIn(keyFile ?? '-')));
  if (apiKeyId === undefined) throw new CliError('This is not a valid API key of any MCP server.');
  const found = (await admin.list()).find(each => each.apiKeyId === apiKeyId);
  if (found === undefined) throw unknownKey();
  if (p.dryRun) {
    io.out(
      p.json ? `${JSON.stringify({ dryRun: true, apiKey: jsonOf(found) })}\n` : `Would revoke ${nameOf(found)}.\n`,
    );
    return exitCodes.ok;
  }
  const { mcpServerId, source } = found;
  await recordIn(store)(changingActor(p), { event: 'api_key.revoked', apiKeyId, mcpServerId, source });
  const revoked = await admin.revoke(apiKeyId, change);
  if (revoked.result === 'unknown') throw unknownKey();
  const { result, apiKey } = revoked;
  if (p.json) io.out(`${JSON.stringify({ result, apiKey: jsonOf(apiKey) })}\n`);
  else
    io.out(
      result === 'already'
        ? `${nameOf(apiKey)} was revoked before.\n`
        : `Revoked ${nameOf(apiKey)}. Every replica that reaches Redis refuses it within half a second.\n`,
    );
  if (apiKey.source === 'file')
    io.err(
      'This key is still in the configuration file. Remove it there right away too, on every replica: if Redis loses its data, a key ' +
        'that is still in the file is valid again.\n',
    );
  return exitCodes.ok;
}

const unknownKey = () => new CliError('There is no API key with this id. See postern api-keys list.');

/** Reads a key, which must not be an argument: the system shows arguments to other users. */
function keyIn(file: string): string {
  if (file === '-' && isatty(0)) throw new CliError('Pipe the key into the command: a terminal would keep it.');
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').trim();
  } catch {
    throw new CliError(`--key-file: ${file} cannot be read.`);
  }
}

const nameOf = ({ apiKeyId, mcpServerId, source, name }: ApiKeyView): string =>
  `${apiKeyId} of ${mcpServerId}${source === 'file' ? ' (in the configuration file)' : name === undefined ? '' : ` ("${name}")`}`;

const isoOf = (at: number): string => new Date(at).toISOString();

function jsonOf({ added, revoked, age, lastUsedAt, ...apiKey }: ApiKeyView) {
  return {
    ...apiKey,
    ...(age && { since: isoOf(age.since), ...(age.isOrEarlier ? { isOrEarlier: true } : {}) }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: isoOf(lastUsedAt) }),
    ...(added && { added: { ...added, at: isoOf(added.at) } }),
    ...(revoked && { revoked: { ...revoked, at: isoOf(revoked.at) } }),
  };
}

function statusOf(apiKey: ApiKeyView): string {
  const { revoked } = apiKey;
  if (revoked !== undefined) return `revoked ${isoOf(revoked.at)} by ${revoked.by}: ${revoked.reason}`;
  const status = statusOfApiKey(apiKey, Date.now());
  return status === 'refused' ? 'refused: no such MCP server' : status;
}

function tableOfKeys(apiKeys: readonly ApiKeyView[]): string {
  const rows = apiKeys.map(apiKey => [
    apiKey.apiKeyId,
    apiKey.mcpServerId,
    apiKey.source,
    apiKey.name ?? apiKey.hash ?? '-',
    apiKey.lastFour === undefined ? '-' : `…${apiKey.lastFour}`,
    apiKey.added === undefined ? '-' : `${isoOf(apiKey.added.at)} by ${apiKey.added.by}`,
    apiKey.lastUsedAt === undefined ? '-' : isoOf(apiKey.lastUsedAt),
    statusOf(apiKey),
  ]);
  return tableOf(['id', 'MCP server', 'from', 'name or hash', 'ends in', 'added', 'last used', 'status'], rows);
}

export const apiKeysCommands: readonly Command[] = [
  {
    name: 'api-keys list',
    about: 'list the API keys of the configuration and of Redis',
    json: 'document',
    changes: false,
    run: apiKeysList,
  },
  {
    name: 'api-keys add',
    parameters: ['<MCP server>', '<name>'],
    about: 'add an API key without a reload, and print it once',
    options: { ...whoAndWhy, out: 'write the key to this new file instead of standard output' },
    json: 'document',
    changes: true,
    run: apiKeysAdd,
  },
  {
    name: 'api-keys revoke',
    parameters: ['[id]'],
    about: 'refuse an API key on all replicas, by its id or by --key-file',
    options: { ...whoAndWhy, 'key-file': true },
    json: 'document',
    changes: true,
    run: apiKeysRevoke,
  },
];
