/** MCP servers that others have published, directly and behind the proxy, with the MCP clients of both SDKs. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioClientTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { blocksIn } from '../docs/support/doc-blocks.ts';
import { accept, LocalWorld } from '../local/local-world.ts';
import { install, runIn } from '../packages/consumer.ts';

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

const capabilities = { sampling: {}, roots: { listChanged: true }, elicitation: { form: {}, url: {} } };
const info = { name: 'host', version: '1.0.0' };
const answers = {
  sampling: async () => ({
    role: 'assistant' as const,
    model: 'none',
    content: { type: 'text' as const, text: 'sampled' },
  }),
  roots: async () => ({ roots: [{ uri: `file://${notes}`, name: 'notes' }] }),
  elicitation: async () => ({ action: 'decline' as const }),
};
const env = { PATH: process.env['PATH'] ?? '', HOME: home, MEMORY_FILE_PATH: join(home, 'memory.json') };

async function connect(sdk: 'v1' | 'v2', [command = '', ...args]: readonly string[]) {
  if (sdk === 'v1') {
    const client = new ClientV1(info, { capabilities });
    client.setRequestHandler(CreateMessageRequestSchema, answers.sampling);
    client.setRequestHandler(ListRootsRequestSchema, answers.roots);
    client.setRequestHandler(ElicitRequestSchema, answers.elicitation);
    await client.connect(new StdioClientTransportV1({ command, args: [...args], env, stderr: 'ignore' }));
    return client;
  }
  const client = new Client(info, { capabilities });
  client.setRequestHandler('sampling/createMessage', answers.sampling);
  client.setRequestHandler('roots/list', answers.roots);
  client.setRequestHandler('elicitation/create', answers.elicitation);
  await client.connect(new StdioClientTransport({ command, args: [...args], env, stderr: 'ignore' }));
  return client;
}

type AnyClient = Awaited<ReturnType<typeof connect>>;

/** Arguments for tools that need some. Undefined: the tool is not called, because it takes long or changes from call to call. */
const samples: Readonly<Record<string, object | undefined>> = {
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
};

/** Calls every method that the server offers, and returns what came back. */
async function drive(client: AnyClient): Promise<readonly unknown[]> {
  const seen: unknown[] = [client.getServerCapabilities(), client.getServerVersion(), client.getInstructions()];
  const record = async (what: string, work: () => Promise<unknown>) => {
    const outcome = await work().catch((error: { code?: number; message: string }) => ({
      ...error,
      message: error.message,
    }));
    // Times and random ids of the server.
    seen.push([
      what,
      JSON.parse(JSON.stringify(outcome).replaceAll(/\d{1,2}:\d\d:\d\d[^"]{0,20}|[0-9a-f]{8}-[0-9a-f-]{27}/g, '…')),
    ]);
  };
  const { tools = [], resources, prompts, completions, logging } = client.getServerCapabilities() ?? {};
  if (tools !== undefined) {
    const listed = await client.listTools();
    seen.push(listed);
    for (const { name } of listed.tools) {
      if (name in samples && samples[name] === undefined) continue;
      const progress: unknown[] = [];
      await record(name, async () => {
        const call = { name, arguments: { ...samples[name] } };
        const options = { onprogress: (each: unknown) => progress.push(each) };
        return 'setNotificationHandler' in client && client instanceof Client
          ? await client.callTool(call, options)
          : await (client as ClientV1).callTool(call, undefined, options);
      });
      // The SDK may drop the last one, which arrives with the result.
      seen.push(progress.slice(0, 1));
    }
  }
  await record('ping', () => client.ping());
  if (resources !== undefined) {
    await record('templates', () => client.listResourceTemplates());
    const listed = await client.listResources();
    seen.push(listed);
    for (const { uri } of listed.resources.slice(0, 3)) {
      await record(uri, () => client.readResource({ uri }));
      await record(uri, () => client.subscribeResource({ uri }));
    }
    await record('missing', () => client.readResource({ uri: 'demo://nothing' }));
  }
  if (prompts !== undefined) {
    const listed = await client.listPrompts();
    seen.push(listed);
    for (const { name } of listed.prompts) {
      await record(name, () => client.getPrompt({ name }));
      await record(name, () =>
        client.getPrompt({ name, arguments: { city: 'x', resourceType: 'Text', resourceId: '1' } }),
      );
    }
  }
  if (completions !== undefined) {
    const ref = { type: 'ref/prompt' as const, name: 'completable-prompt' };
    await record('complete', () => client.complete({ ref, argument: { name: 'department', value: 'E' } }));
  }
  if (logging !== undefined) await record('level', () => client.setLoggingLevel('debug'));
  await client.close();
  return seen;
}

describe.each(['v1', 'v2'] as const)('an MCP client on SDK %s', sdk => {
  test.each(servers)('gets the same from %s directly and through the proxy', async name => {
    const direct = await drive(await connect(sdk, commandOf(name)));
    const proxied = await drive(await connect(sdk, passing(commandOf(name))));
    expect(proxied).toEqual(direct);
    expect(direct.length).toBeGreaterThan(10);
  });
});

const resultSchema = z.object({ content: z.array(z.object({ text: z.string() })), isError: z.boolean().optional() });

describe('in front of server-filesystem, with nothing configured', () => {
  test.each(['auto', 'legacy'] as const)('what only reads passes, and what writes asks the person (%s)', async mode => {
    await using world = new LocalWorld();
    const [command = '', ...args] = [process.execPath, proxy, '--', ...commandOf('server-filesystem')];
    const client = new Client(info, { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode } });
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
    upstreams: z.record(z.string(), z.looseObject({ command: z.array(z.string()) })),
  });
  vi.stubEnv('POSTERN_PROXY_KEY', 'pk_0123456789abcdef');
  onTestFinished(() => void vi.unstubAllEnvs());
  const tables = new Map<string, string>();
  for (const { body } of blocksIn('yaml').filter(({ document }) => document === 'packages/proxy/README.md')) {
    const document = fileSchema.parse(parse(body));
    const [[name = '', upstream] = []] = Object.entries(document.upstreams);
    const server = servers.find(each => upstream?.command.includes(`@modelcontextprotocol/${each}`));
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
