import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { PERSON, personalFiles } from '@postern/api/local';
import { CliError } from '../cli/cli-io.ts';
import { approvedPayments } from '../cli/dev/dev-options.ts';
import { newVaultKey } from '../cli/new-key-commands.ts';
import { claimPrivateFolder, readOrCreate } from '../cli/private-files.ts';

export const LOCAL_HELP = `postern local: your personal gateway, for the MCP servers that your MCP clients start on this machine

  postern local

MCP servers with @postern/mcp start it in the background when they need it. It ends by itself after ten minutes without requests and
without open asks. Its folder is $POSTERN_HOME, or else the folder of your system for the state of programs: postern status prints it.
The configuration there is yours to edit. Providers need their secrets in files: the gateway gets no variables of your shell.
`;

/** Makes the folder with vault key and configuration, each written once. @throws CliError */
export async function preparePersonal(folder: string): Promise<ReturnType<typeof personalFiles>> {
  // The configuration names the vault key as ${file:…}, which has no escape.
  if (folder.includes('}')) throw new CliError(`${folder}: choose a folder without "}" in POSTERN_HOME.`);
  const files = personalFiles(folder);
  claimPrivateFolder(folder);
  readOrCreate(files.vaultKey, () => `${newVaultKey()}\n`);
  if (!existsSync(files.config)) {
    const port = await freePort();
    readOrCreate(files.config, () => configText(files, port));
  }
  return files;
}

/** The port is a part of redirect URIs, so it stays. */
const configText = (
  files: ReturnType<typeof personalFiles>,
  port: number,
): string => `# Your personal Postern gateway, for this machine only. Written once; edit it as you like.
publicUrl: http://127.0.0.1:${port}
listen:
  host: 127.0.0.1
  port: ${port}
store:
  file: ${JSON.stringify(files.store)}
vault:
  keys:
    - kid: personal
      key: ${JSON.stringify(`\${file:${files.vaultKey}}`)}
providers: []
mcpServers:
  # For programs of your own: postern api-keys add personal NAME gives one a key.
  - id: personal
    name: My programs
    url: http://localhost
    issuers: [${PERSON.issuer}]
    identity: { mode: loopback }
    payment: ${JSON.stringify(approvedPayments)}
  # MCP servers add themselves here.
`;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new TypeError('a listener has a port');
  return address.port;
}
