/**
 * `pnpm foreign [--only=NAME]`: installs MCP clients of others from the registry into `build/foreign`, lets each call a tool of an MCP
 * server that asks in every way, and writes what a person experiences to `docs/clients.md`. Not a test: other people's releases decide.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { commandLine, refuseArguments } from '../../scripts/command-line.ts';
import { type GatedEndpointOptions, movingSessions, startGatedEndpoint } from '../../test/support/gated-endpoint.ts';
import { startWorld } from '../../test/support/world.ts';
import { type ClientRecord, clientsDocument } from './clients-document.ts';
import { type ForeignClient, foreignClients } from './foreign-clients.ts';
import { type Ask, asks, type Experience, playClient } from './play-client.ts';

/** Longer than the 45 s for which an MCP server holds a call, and than the time after which clients give up. */
const CALL_LIMIT_MS = 90_000;
const INSTALL_LIMIT_MS = 10 * 60_000;

const root = join(import.meta.dirname, '../..');
const build = join(root, 'build/foreign');
/** The last run of each client, so that `--only` keeps the others in the table. */
const recorded = join(build, 'experiences.json');

const names = foreignClients.map(({ name }) => name).join(', ');
const { values } = commandLine({
  usage: 'foreign',
  about: 'runs MCP clients of others, and writes what a person experiences with them to docs/clients.md',
  options: { only: { type: 'string', about: `only this client: ${names}` } },
});
const chosen = foreignClients.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) refuseArguments(`--only is none of ${names}`);

const endpoints: Readonly<Record<Ask, GatedEndpointOptions>> = {
  '-32042': { postern: { sessions: movingSessions } },
  push: {},
  'plain link': { legacy: 'stateless' },
  '2026-07-28': {},
};

/** @returns the installed version of the first package */
async function install({ name, packages: [first = '', ...others] }: ForeignClient): Promise<string> {
  const folder = join(build, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  // npm takes the newest version for the Node.js that runs it: the one of this repository. No install script runs.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', first, ...others];
  await promisify(execFile)('npm', args, { cwd: folder, env, timeout: INSTALL_LIMIT_MS, maxBuffer: 2 ** 26 });
  cpSync(join(import.meta.dirname, 'clients'), folder, { recursive: true });
  const path = join(folder, 'node_modules', first.replace(/(?<=.)@.*/, ''), 'package.json');
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8'))).version;
}

const recordsSchema = z.record(
  z.string(),
  z.custom<ClientRecord>(value => typeof value === 'object' && value !== null),
);

async function main(): Promise<void> {
  const records = recordsSchema.parse(existsSync(recorded) ? JSON.parse(readFileSync(recorded, 'utf8')) : {});
  await using world = await startWorld();
  for (const client of chosen) {
    const version = await install(client);
    const experiences: Experience[] = [];
    for (const ask of asks) {
      await using endpoint = await startGatedEndpoint(world, endpoints[ask]);
      const experience = await playClient({
        world,
        endpoint: endpoint.url,
        ask,
        limitMs: CALL_LIMIT_MS,
        folder: join(build, client.name),
        driver: `${client.name}.mjs`,
      });
      experiences.push(experience);
      const { shown, end, revision = 'no call', first, responses } = experience;
      console.log(`${client.name} ${version}, ${ask}: ${shown}, ${end} (${revision})\n    ${first.slice(0, 300)}`);
      for (const response of responses) console.log(`    client answered ${response}`);
    }
    records[client.name] = { version, date: new Date().toISOString().slice(0, 10), experiences };
    // A client that stops the run loses no other.
    writeFileSync(recorded, `${JSON.stringify(records, undefined, 2)}\n`);
    writeFileSync(join(root, 'docs/clients.md'), clientsDocument(records));
  }
}

await main();
process.exit(0);
