import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { findLocalGateway, localStatusSchema, personalFiles, stoppedSchema } from '@postern/api/local';
import { z } from 'zod';
import { compileCache } from '../support/compiled-gateway.ts';
import { acceptFormIn, createRawBrowser } from '../support/raw-browser.ts';

const require = createRequire(import.meta.url);
const folderOf = (name: string) => dirname(dirname(require.resolve(name)));
const gatewayFolder = folderOf('@postern/gateway');
export const program = join(gatewayFolder, 'src/postern.ts');

/** Asks for a confirmation, a payment or an account. Its standard error is that of the MCP server. */
const SERVER = `
import { McpServer } from '@modelcontextprotocol/server';
import { postern } from '@postern/mcp';
const gate = postern();
let asked = 0;
gate.stdio(() => {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('delete', { description: 'Deletes a note' }, gate.tool(async (_, ctx) => {
    const yes = await ctx.gate.confirm('Delete note ' + process.pid + '-' + (asked += 1));
    return { content: [{ type: 'text', text: 'deleted, receipt ' + (yes.receipt.length > 100) }] };
  }));
  server.registerTool('buy', { description: 'Buys a notebook' }, gate.tool(async (_, ctx) => {
    const paid = await ctx.gate.pay({
      payee: { name: 'Paper Shop' },
      amount: { currency: 'EUR', minorUnits: 2490 },
      reference: ctx.gate.id('order'),
    });
    return { content: [{ type: 'text', text: 'bought by ' + paid.processor }] };
  }));
  server.registerTool('connect', { description: 'Connects an account' }, gate.tool(async (_, ctx) => {
    await ctx.gate.authorize('github');
    return { content: [{ type: 'text', text: 'connected' }] };
  }));
  return server;
});
`;

type Answer = 'accept' | 'leave open';
const resultSchema = z.object({ content: z.array(z.object({ text: z.string() })) });

/** A person whose MCP client starts stdio servers, and who has configured nothing. */
export class LocalWorld implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'postern-local-'));
  readonly home = join(this.root, 'home');
  readonly files = personalFiles(join(this.home, '.local/state/postern'));
  readonly env = { HOME: this.home, PATH: process.env['PATH'] ?? '', TMPDIR: this.root, ...compileCache };
  readonly #stack = new AsyncDisposableStack();

  constructor() {
    mkdirSync(this.home);
    this.#stack.defer(() => rmSync(this.root, { recursive: true, force: true }));
    this.#stack.defer(() => this.stop());
  }

  /** Installs packages beside an MCP server. @param gateway replaces the real one, or false for none */
  install(name: string, gateway?: { readonly version: string; readonly idleMs?: number } | false): string {
    const folder = join(this.root, name);
    const modules = join(folder, 'node_modules');
    mkdirSync(join(modules, '@postern'), { recursive: true });
    symlinkSync(
      join(folderOf('@postern/mcp'), 'node_modules/@modelcontextprotocol'),
      join(modules, '@modelcontextprotocol'),
    );
    symlinkSync(folderOf('@postern/mcp'), join(modules, '@postern/mcp'));
    const place = join(modules, '@postern/gateway');
    if (gateway === undefined) symlinkSync(gatewayFolder, place);
    else if (gateway !== false) {
      mkdirSync(place);
      const manifest = { name: '@postern/gateway', type: 'module', bin: { postern: './postern.js' } };
      writeFileSync(join(place, 'package.json'), JSON.stringify({ ...manifest, version: gateway.version }));
      const moduleAt = (path: string) => JSON.stringify(pathToFileURL(join(gatewayFolder, 'src', path)).href);
      writeFileSync(
        join(place, 'postern.js'),
        `import { enableCompileCache } from 'node:module';
enableCompileCache(${JSON.stringify(compileCache.NODE_COMPILE_CACHE)});
const { localProcess } = await import(${moduleAt('local.ts')});
const prepared = await localProcess(process.argv.slice(3));
if (prepared !== undefined) {
  const { runProcess } = await import(${moduleAt('run-process.ts')});
  await runProcess({ ...prepared, personal: { ...prepared.personal, ...${JSON.stringify(gateway)} } });
}
`,
      );
    }
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, type: 'module' }));
    writeFileSync(join(folder, 'server.js'), SERVER);
    return join(folder, 'server.js');
  }

  /** Starts an MCP server, as an MCP client does. */
  async connect(server: string, p: { readonly env?: Record<string, string>; readonly answer?: Answer } = {}) {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [server],
      cwd: this.root,
      stderr: 'pipe',
      env: { ...this.env, ...p.env },
    });
    let printed = '';
    transport.stderr?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: { url: {} } } });
    const urls: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const url = 'url' in params ? String(params.url) : '';
      urls.push(url);
      if (p.answer === 'leave open') return { action: 'cancel' };
      await accept(url);
      return { action: 'accept' };
    });
    await client.connect(transport);
    this.#stack.defer(() => client.close());
    const call = async (name: 'delete' | 'buy' | 'connect' = 'delete') => {
      try {
        const { content } = resultSchema.parse(await client.callTool({ name, arguments: {} }));
        return content.map(({ text }) => text).join('\n');
      } catch (error) {
        if (error instanceof ProtocolError && error.code === ProtocolErrorCode.UrlElicitationRequired)
          return 'left open';
        throw error;
      }
    };
    return { call, urls, pid: transport.pid ?? 0, printed: () => printed, close: () => client.close() };
  }

  /** Undefined if no gateway runs. */
  async status() {
    using gateway = await findLocalGateway(this.files.store);
    return await gateway?.ask({ operation: 'status' }, localStatusSchema);
  }

  async stop(): Promise<void> {
    using gateway = await findLocalGateway(this.files.store).catch(() => undefined);
    if (gateway === undefined) return;
    const { pid } = await gateway.ask({ operation: 'status' }, localStatusSchema).catch(() => ({ pid: 0 }));
    using again = await findLocalGateway(this.files.store).catch(() => undefined);
    await again?.ask({ operation: 'stop', ifIdle: false }, stoppedSchema).catch(() => undefined);
    await untilEnded(pid);
  }

  get log(): string {
    return existsSync(this.files.log) ? readFileSync(this.files.log, 'utf8') : '';
  }

  starts(): number {
    return this.log.match(/"gateway\.started"/g)?.length ?? 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

export async function accept(url: string): Promise<void> {
  const { origin, pathname } = new URL(url);
  const browser = createRawBrowser({ address: origin, publicUrl: origin });
  const form = acceptFormIn(await browser.get(pathname));
  const { status } = await browser.post(`${pathname}/accept`, { form });
  if (status >= 400) throw new Error(`the page refused: ${status}`);
}

/** Bounded by the time limit of the test. */
export async function untilEnded(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await delay(20);
  }
}
