import { apiKeyNamePattern } from '@postern/api/admin';
import { TooManyApiKeysError } from '../admin/api-keys.ts';
import { statusOfApiKey } from '../mcp-servers/api-key-admin.ts';
import { type AdminOutput, openDoor, throughUrl } from './admin-door.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, UsageError } from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { operationCommand, tableWith } from './operation-command.ts';
import { filesOf } from './private-files.ts';

type ApiKeyItem = AdminOutput<'listApiKeys'>['items'][number];

/** `postern api-keys add`: prints the key once, to standard output or to a file that only its owner can read. */
async function apiKeysAdd(p: Invocation, io: CliIo): Promise<ExitCode> {
  const {
    args: [mcpServerId = '', name = ''],
    values: { out },
    dryRun,
  } = p;
  const actor = changingActor(p);
  if (!apiKeyNamePattern.test(name)) throw new CliError('A name has 1 to 60 characters, and no control characters.');
  await using door = await openDoor(p, io, { actor, isTokenEnough: true });
  // Before the key exists: a key that cannot be written would be lost.
  const write = out === undefined || dryRun ? undefined : await filesOf(io).create(out);
  const added = await door.call('addApiKey', { body: { mcpServerId, name, dryRun } }).catch((error: unknown) => {
    throw error instanceof TooManyApiKeysError ? new CliError(error.message) : error;
  });
  if (added === undefined) throw new CliError(`The configuration has no MCP server "${mcpServerId}".`);
  const described = `an API key of ${mcpServerId}, named "${name}"`;
  if (dryRun) {
    io.out(p.json ? `${JSON.stringify({ dryRun, mcpServerId })}\n` : `Would add ${described}.\n`);
    return exitCodes.ok;
  }
  const { apiKeyId, key } = added;
  if (key === undefined) throw new CliError('The admin API returned no key.');
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
  await using door = await openDoor(p, io, { actor, isTokenEnough: true });
  if (keyFile !== undefined && door.local === undefined)
    throw new UsageError('--key-file needs the store. Name the id: postern find prints it.');
  const apiKeyId = named ?? (await door.local?.admin.apiKeyIdOf(await filesOf(io).read(keyFile ?? '-')));
  if (apiKeyId === undefined) throw new CliError('This is not a valid API key of any MCP server.');
  const revoked = await door.call('revokeApiKey', { parameters: { apiKeyId }, body: { dryRun } });
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

const tableOfKeys = (apiKeys: readonly ApiKeyItem[]): string =>
  tableWith(
    [
      ['id', of => of.apiKeyId],
      ['MCP server', of => of.mcpServerId],
      ['from', of => of.source],
      ['name or hash', of => of.name ?? of.hash],
      ['ends in', of => of.lastFour && `…${of.lastFour}`],
      ['added', of => of.added && `${of.added.at} by ${of.added.by}`],
      ['last used', of => of.lastUsedAt],
      ['status', statusOf],
    ],
    apiKeys,
  );

export const apiKeysCommands: readonly Command[] = [
  operationCommand({
    operation: 'listApiKeys',
    name: 'api-keys list',
    about: 'list the API keys of the configuration and of Redis',
    isTokenEnough: true,
    json: ({ items }) => ({ apiKeys: items }),
    text: ({ items }) => `${tableOfKeys(items)}\n`,
  }),
  {
    name: 'api-keys add',
    parameters: ['<MCP server>', '<name>'],
    about: 'add an API key without a reload, and print it once',
    options: { ...whoAndWhy, ...throughUrl, out: 'write the key to this new file instead of standard output' },
    json: 'document',
    changes: true,
    run: apiKeysAdd,
  },
  {
    name: 'api-keys revoke',
    parameters: ['[id]'],
    about: 'refuse an API key on all replicas, by its id or by --key-file',
    options: { ...whoAndWhy, ...throughUrl, 'key-file': true },
    json: 'document',
    changes: true,
    run: apiKeysRevoke,
  },
];
