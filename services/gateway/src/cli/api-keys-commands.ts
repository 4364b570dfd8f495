import { type ApiKeyItem, apiKeyNamePattern } from '../admin/api-keys.ts';
import { statusOfApiKey } from '../mcp-servers/api-key-admin.ts';
import { openApiKeys } from './api-keys-door.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, printable, tableOf, UsageError } from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { filesOf } from './private-files.ts';

/** `postern api-keys list`: the keys of the configuration and of the store, never the keys themselves. */
async function apiKeysList(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using door = await openApiKeys(p, io);
  const apiKeys = await door.list();
  io.out(p.json ? `${JSON.stringify({ apiKeys })}\n` : printable(`${tableOfKeys(apiKeys)}\n`));
  return exitCodes.ok;
}

/** `postern api-keys add`: prints the key once, to standard output or to a file that only its owner can read. */
async function apiKeysAdd(p: Invocation, io: CliIo): Promise<ExitCode> {
  const {
    args: [mcpServerId = '', name = ''],
    values: { out },
    dryRun,
  } = p;
  const actor = changingActor(p);
  if (!apiKeyNamePattern.test(name)) throw new CliError('A name has 1 to 60 characters, and no control characters.');
  await using door = await openApiKeys(p, io);
  // Before the key exists: a key that cannot be written would be lost.
  const write = out === undefined || dryRun ? undefined : await filesOf(io).create(out);
  const added = await door.add(actor, { mcpServerId, name, dryRun });
  if (added === undefined) throw new CliError(`The configuration has no MCP server "${mcpServerId}".`);
  const described = `an API key of ${mcpServerId}, named "${name}"`;
  if (dryRun) {
    io.out(p.json ? `${JSON.stringify({ dryRun, mcpServerId })}\n` : `Would add ${described}.\n`);
    return exitCodes.ok;
  }
  const { apiKeyId, key } = added;
  await write?.(`${key}\n`);
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
    dryRun,
  } = p;
  if ((named === undefined) === (keyFile === undefined)) throw new UsageError('Name either an <id> or --key-file.');
  const actor = changingActor(p);
  await using door = await openApiKeys(p, io);
  const apiKeyId = named ?? (await door.idOf(await filesOf(io).read(keyFile ?? '-')));
  if (apiKeyId === undefined) throw new CliError('This is not a valid API key of any MCP server.');
  const revoked = await door.revoke(actor, { apiKeyId, dryRun });
  if (revoked === undefined) throw new CliError('There is no API key with this id. See postern api-keys list.');
  const { result, apiKey } = revoked;
  if (dryRun) {
    io.out(p.json ? `${JSON.stringify({ dryRun, apiKey })}\n` : `Would revoke ${nameOf(apiKey)}.\n`);
    return exitCodes.ok;
  }
  if (p.json) io.out(`${JSON.stringify({ result, apiKey })}\n`);
  else
    io.out(
      result === 'already'
        ? `${nameOf(apiKey)} was revoked before.\n`
        : `Revoked ${nameOf(apiKey)}. Every gateway that reaches the store refuses it within half a second.\n`,
    );
  if (apiKey.source === 'file')
    io.err(
      'This key is still in the configuration file. Remove it there right away too, on every replica: if the store loses its data, a key ' +
        'that is still in the file is valid again.\n',
    );
  return exitCodes.ok;
}

const nameOf = ({ apiKeyId, mcpServerId, source, name }: ApiKeyItem): string =>
  `${apiKeyId} of ${mcpServerId}${source === 'file' ? ' (in the configuration file)' : name === undefined ? '' : ` ("${name}")`}`;

function statusOf(apiKey: ApiKeyItem): string {
  const { revoked } = apiKey;
  if (revoked !== undefined) return `revoked ${revoked.at} by ${revoked.by}: ${revoked.reason}`;
  const status = statusOfApiKey(apiKey, Date.now());
  return status === 'refused' ? 'refused: no such MCP server' : status;
}

function tableOfKeys(apiKeys: readonly ApiKeyItem[]): string {
  const rows = apiKeys.map(apiKey => [
    apiKey.apiKeyId,
    apiKey.mcpServerId,
    apiKey.source,
    apiKey.name ?? apiKey.hash ?? '-',
    apiKey.lastFour === undefined ? '-' : `…${apiKey.lastFour}`,
    apiKey.added === undefined ? '-' : `${apiKey.added.at} by ${apiKey.added.by}`,
    apiKey.lastUsedAt === undefined ? '-' : apiKey.lastUsedAt,
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
