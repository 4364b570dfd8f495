import { type AdminScope, adminScopes } from '@postern/elicitation';
import { createAdminCredentials } from '../admin-api/admin-credentials.ts';
import { offered } from '../platform/store/network.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, tableOf } from './cli-io.ts';
import { type Command, changeIn, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { type OpenStore, openStore, recordIn } from './open-store.ts';

const credentialsOf = (store: OpenStore) =>
  createAdminCredentials({ ...store, store: offered(store.network).adminCredentials, now: Date.now });
/** The name is shown in tables, and in the audit trail. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}$/;

async function list(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using store = await openStore(p.configPath, io);
  const credentials = (await credentialsOf(store).list()).map(({ mac: _, createdAt, ...of }) => ({
    ...of,
    createdAt: new Date(createdAt).toISOString(),
  }));
  if (p.json) io.out(`${JSON.stringify({ credentials })}\n`);
  else if (credentials.length === 0) io.out('No credentials of the admin API.\n');
  else {
    const rows = credentials.map(of => [of.credentialId, of.name, of.scopes.join(','), of.createdAt, of.by, of.reason]);
    io.out(`${tableOf(['credential', 'name', 'scopes', 'added at', 'by', 'reason'], rows)}\n`);
  }
  return exitCodes.ok;
}

function scopesIn(text: string): readonly AdminScope[] {
  const named = text.split(',');
  const scopes = adminScopes.filter(scope => named.includes(scope));
  if (scopes.length !== named.length) throw new CliError(`Scopes are ${adminScopes.join(', ')}, separated by commas.`);
  return scopes;
}

async function add(p: Invocation, io: CliIo): Promise<ExitCode> {
  const [name = '', text = ''] = p.args;
  const [change, actor, scopes] = [changeIn(p), changingActor(p), scopesIn(text)];
  if (!NAME.test(name)) throw new CliError('A name has 1 to 60 letters, digits, spaces, ".", "_" and "-".');
  await using store = await openStore(p.configPath, io);
  if (p.dryRun) {
    io.out(p.json ? `${JSON.stringify({ dryRun: true, name, scopes })}\n` : `Would add a credential for ${name}.\n`);
    return exitCodes.ok;
  }
  await recordIn(store)(actor, { event: 'admin.credential_added', name, scopes });
  const { credentialId, token } = await credentialsOf(store).add({ name, scopes, ...change });
  io.out(p.json ? `${JSON.stringify({ credentialId, name, scopes, token })}\n` : `${token}\n`);
  io.err(`Added ${credentialId}. The token is not shown again.\n`);
  return exitCodes.ok;
}

async function revoke(p: Invocation, io: CliIo): Promise<ExitCode> {
  const [credentialId = ''] = p.args;
  const actor = changingActor(p);
  await using store = await openStore(p.configPath, io);
  const credentials = credentialsOf(store);
  const found = (await credentials.list()).find(of => of.credentialId === credentialId);
  if (found === undefined)
    throw new CliError('There is no credential with this id. See postern admin-credentials list.');
  if (!p.dryRun) {
    await recordIn(store)(actor, { event: 'admin.credential_revoked', credentialId, name: found.name });
    await credentials.revoke(credentialId);
  }
  if (p.json) io.out(`${JSON.stringify({ dryRun: p.dryRun, credentialId, name: found.name })}\n`);
  else io.out(`${p.dryRun ? 'Would revoke' : 'Revoked'} the credential of ${found.name}.\n`);
  return exitCodes.ok;
}

export const adminCredentialsCommands: readonly Command[] = [
  {
    name: 'admin-credentials list',
    about: 'list the credentials of the admin API, without their tokens',
    json: 'document',
    changes: false,
    run: list,
  },
  {
    name: 'admin-credentials add',
    parameters: ['<name>', '<scopes>'],
    about: 'add a credential of the admin API, and print its token once; scopes: read,act,people,keys',
    options: whoAndWhy,
    json: 'document',
    changes: true,
    run: add,
  },
  {
    name: 'admin-credentials revoke',
    parameters: ['<id>'],
    about: 'refuse a credential of the admin API at once',
    options: whoAndWhy,
    json: 'document',
    changes: true,
    failure: 'there is no such credential',
    run: revoke,
  },
];
