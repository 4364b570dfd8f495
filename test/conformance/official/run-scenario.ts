import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const checksSchema = z.array(
  z.looseObject({
    id: z.string(),
    status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
    errorMessage: z.string().optional(),
  }),
);
export type Check = z.infer<typeof checksSchema>[number];

const manifestPath = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');

/** Runs the official command line program, which needs no network beyond loopback. @returns what it wrote and its exit code */
async function conformance(args: readonly string[]): Promise<{ output: string; exitCode: number | null }> {
  const child = spawn(process.execPath, [join(dirname(manifestPath), 'dist', 'index.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  return { output: `${stdout}${stderr}`, exitCode: child.exitCode };
}

/** What `conformance list` prints. @throws when it fails */
export async function listScenarios(): Promise<string> {
  const { output, exitCode } = await conformance(['list']);
  if (exitCode !== 0) throw new Error(`conformance list failed: ${output}`);
  return output;
}

/** Runs one scenario of the official suite against an MCP endpoint. @throws when it leaves no result */
export async function runOfficialScenario(name: string, url: URL, revision?: string): Promise<readonly Check[]> {
  const at = revision === undefined ? [] : ['--spec-version', revision];
  return await checksOf(['server', '--url', url.href, '--scenario', name, ...at]);
}

/** Runs all scenarios of a revision against an MCP endpoint, also those that are not required. @returns what each has checked */
export async function runOfficialSuite(revision: string, url: URL): Promise<ReadonlyMap<string, readonly Check[]>> {
  return await resultsOf(['server', '--url', url.href, '--requirements', revision]);
}

/** Where the MCP client that is tested lives; the suite starts it with the URL of its own MCP server. */
const clientProgram = join(import.meta.dirname, 'client-program.ts');

/** Runs one scenario of the official suite against `client-program.ts`. @throws when it leaves no result */
export async function runOfficialClientScenario(name: string, revision: string): Promise<readonly Check[]> {
  // The suite hands the command to a shell.
  const command = `'${process.execPath}' '${clientProgram}'`;
  return await checksOf(['client', '--command', command, '--scenario', name, '--spec-version', revision]);
}

async function checksOf(args: readonly string[]): Promise<readonly Check[]> {
  const [checks] = (await resultsOf(args)).values();
  return checks ?? [];
}

/** @throws when there is no result */
async function resultsOf(args: readonly string[]): Promise<ReadonlyMap<string, readonly Check[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-conformance-'));
  try {
    const { output } = await conformance([...args, '--output-dir', directory]);
    const folders = await readdir(directory);
    if (folders.length === 0) throw new Error(`no result: ${output}`);
    const results = folders.map(async folder => {
      const text = await readFile(join(directory, folder, 'checks.json'), 'utf8');
      return [folder.replace(/^server-|-\d{4}-\d\d-\d\dT[\dZ-]+$/g, ''), checksSchema.parse(JSON.parse(text))] as const;
    });
    return new Map(await Promise.all(results));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
