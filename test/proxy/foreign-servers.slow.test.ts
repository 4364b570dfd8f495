/** MCP servers that others have published, directly and behind the proxy, with the MCP clients of both SDKs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { endingWithParent, freePort } from '@postern/testkit/processes';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { blocksIn } from '../docs/support/doc-blocks.ts';
import { accept, LocalWorld } from '../local/local-world.ts';
import { install, runIn } from '../packages/consumer.ts';
import { startProxyProcess, transparent } from './proxy-process.ts';
import { drive, type Script, type Target } from './recorded-drive.ts';

const VERSION = '2026.8.31';
const servers = ['server-everything', 'server-filesystem', 'server-memory'] as const;
const proxy = join(import.meta.dirname, '../../packages/proxy/src/main.ts');
/** An installation depends on the network. */
const INSTALL_MS = 600_000;

const home = mkdtempSync(join(tmpdir(), 'postern-proxy-'));
const notes = join(home, 'notes');
beforeAll(async () => {
  mkdirSync(notes);
  writeFileSync(join(notes, 'a.txt'), 'hi');
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n');
  await install(
    home,
    'npm',
    servers.map(name => `@modelcontextprotocol/${name}@${VERSION}`),
  );
}, INSTALL_MS);
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** The program and arguments of a server. */
const commandOf = (name: (typeof servers)[number]): readonly string[] => [
  process.execPath,
  join(home, 'node_modules/@modelcontextprotocol', name, 'dist/index.js'),
  ...(name === 'server-filesystem' ? [notes] : []),
];

/** Passes everything, so that each call reaches the server. */
function passing(command: readonly string[]): readonly string[] {
  const file = join(home, 'pass.yaml');
  const upstreams = { foreign: { command, default: 'pass', env: { MEMORY_FILE_PATH: join(home, 'memory.json') } } };
  writeFileSync(file, JSON.stringify({ upstreams }));
  return [process.execPath, proxy, file];
}

const target = (command: readonly string[]): Target => ({
  command,
  env: { PATH: process.env['PATH'] ?? '', HOME: home, MEMORY_FILE_PATH: join(home, 'memory.json') },
  stderr: 'ignore',
});

const script: Script = {
  samples: {
    echo: { message: 'é\u2028"' },
    'get-annotated-message': { messageType: 'error', includeImage: true },
    'get-structured-content': { location: 'Chicago' },
    'get-sum': { a: 1, b: 0.5 },
    'gzip-file-as-resource': undefined,
    'simulate-research-query': undefined,
    'trigger-long-running-operation': { duration: 0.1, steps: 2 },
    'trigger-url-elicitation': { url: 'https://example.com/', elicitationId: 'one' },
    'trigger-sampling-request': { prompt: 'p', maxTokens: 1 },
    'get-env': undefined,
    read_text_file: { path: join(notes, 'a.txt') },
    read_file: { path: join(notes, 'missing.txt') },
    read_multiple_files: { paths: [join(notes, 'a.txt')] },
    list_directory: { path: notes },
    directory_tree: { path: notes },
    search_files: { path: notes, pattern: '*.txt' },
    get_file_info: undefined,
    search_nodes: { query: 'x' },
    open_nodes: { names: ['x'] },
  },
  promptArguments: { city: 'x', resourceType: 'Text', resourceId: '1' },
  completion: { prompt: 'completable-prompt', argument: 'department', value: 'E' },
  missingResource: 'demo://nothing',
  root: notes,
  isTalkative: true,
};

describe.each(['v1', 'v2'] as const)('an MCP client on SDK %s', sdk => {
  test.each(servers)('gets the same from %s directly and through the proxy', async name => {
    const direct = await drive(sdk, target(commandOf(name)), script);
    const proxied = await drive(sdk, target(passing(commandOf(name))), script);
    expect(proxied).toEqual(direct);
    expect(direct.length).toBeGreaterThan(10);
  });
});

describe('server-everything over HTTP', () => {
  const stack = new AsyncDisposableStack();
  let url: URL;
  let urlOf: (upstream: string) => URL;
  beforeAll(async () => {
    const port = await freePort();
    const [command = '', ...args] = commandOf('server-everything');
    const child = spawn(...endingWithParent(command, [...args, 'streamableHttp']), {
      env: { PATH: process.env['PATH'], PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    stack.defer(() => void child.kill());
    // It says so when it listens, and nothing before.
    await once(child.stderr, 'data');
    child.stderr.resume();
    url = new URL(`http://127.0.0.1:${port}/mcp`);
    const { passing, looking } = transparent;
    const upstreams = { passing: { url: url.href, ...passing }, looking: { url: url.href, ...looking } };
    ({ urlOf } = stack.use(await startProxyProcess(upstreams)));
  });
  afterAll(() => stack.disposeAsync());

  test.each(['v1', 'v2'] as const)('is the same behind the proxy for an MCP client on SDK %s', async sdk => {
    const direct = await drive(sdk, url, script);
    for (const upstream of ['passing', 'looking'])
      expect(await drive(sdk, urlOf(upstream), script), upstream).toEqual(direct);
    expect(direct.length).toBeGreaterThan(50);
  });
});

const resultSchema = z.object({ content: z.array(z.object({ text: z.string() })), isError: z.boolean().optional() });

describe('in front of server-filesystem, with nothing configured', () => {
  test.each(['auto', 'legacy'] as const)('what only reads passes, and what writes asks the person (%s)', async mode => {
    await using world = new LocalWorld();
    const [command = '', ...args] = [process.execPath, proxy, '--', ...commandOf('server-filesystem')];
    const client = new Client(
      { name: 'host', version: '1.0.0' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode } },
    );
    const asked: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const url = 'url' in params ? String(params.url) : '';
      asked.push(url);
      await accept(url);
      return { action: 'accept' };
    });
    await client.connect(
      new StdioClientTransport({ command, args, env: world.env, cwd: world.root, stderr: 'ignore' }),
    );
    const call = async (name: string, given: object) =>
      resultSchema.parse(await client.callTool({ name, arguments: { ...given } }));

    const path = join(notes, 'a.txt');
    expect((await call('read_text_file', { path })).content[0]?.text).toBe('hi');
    expect(existsSync(world.files.folder), 'no gateway for what only reads').toBe(false);
    const written = join(notes, `${mode}.txt`);
    expect((await call('write_file', { path: written, content: 'new' })).isError).toBeUndefined();
    expect(readFileSync(written, 'utf8')).toBe('new');
    await call('write_file', { path: written, content: 'newer' });
    expect(asked).toHaveLength(2);
    const status = await world.status();
    expect(status?.mcpServers).toEqual(['server-filesystem']);
    await client.close();
  });
});

test('the rules of the README decide about the tools of the servers that they name', async () => {
  const fileSchema = z.looseObject({
    upstreams: z.record(z.string(), z.looseObject({ command: z.array(z.string()).optional() })),
  });
  vi.stubEnv('POSTERN_PROXY_KEY', 'pk_0123456789abcdef');
  onTestFinished(() => void vi.unstubAllEnvs());
  const tables = new Map<string, string>();
  for (const { body } of blocksIn('yaml').filter(({ document }) => document === 'packages/proxy/README.md')) {
    const document = fileSchema.parse(parse(body));
    const [[name = '', upstream] = []] = Object.entries(document.upstreams);
    const server = servers.find(each => upstream?.command?.includes(`@modelcontextprotocol/${each}`));
    // Servers over HTTP are not here, and the recipe with accounts has a test of its own.
    if (upstream !== undefined && (upstream.command === undefined || name === 'tracker')) continue;
    if (server === undefined || upstream === undefined) throw new Error(`no server in ${body}`);
    upstream.command = [...commandOf(server)];
    const file = join(home, `${name}.yaml`);
    writeFileSync(file, JSON.stringify(document));
    tables.set(name, await runIn(home, process.execPath, [proxy, 'check', file]));
  }
  const rows = (name: string, tool: string) =>
    new RegExp(`^${tool} +(\\S+ .*\\S)$`, 'm').exec(tables.get(name) ?? '')?.[1];
  expect(rows('files', 'read_text_file')).toMatch(/^pass +rule 1$/);
  expect(rows('files', 'move_file')).toMatch(/^confirm +rule 2$/);
  expect(rows('files', 'edit_file')).toMatch(/^hide +rule 3$/);
  expect(rows('files', 'write_file')).toMatch(/^deny +default$/);
  expect(rows('memory', 'read_graph')).toMatch(/^pass +/);
  expect(rows('memory', 'delete_entities')).toMatch(/^(?:deny +rule 3|pass +rule 1)$/);
  expect(tables.get('memory')).toContain('`when`');
  expect(tables.get('files')).not.toContain('`when`');
  expect(rows('everything', 'echo')).toMatch(/^confirm +default$/);
});
