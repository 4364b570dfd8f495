import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientOptions, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as InMemoryTransportV1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod/v4';
import { postern } from '../index.ts';
import { API_KEY, ContractGateway } from '../testing/contract-gateway.ts';
import { exampleServer } from '../testing/modern-world.ts';
import { postern as posternV1 } from '../v1/index.ts';

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };
const outcome = { name: 'outcome', arguments: { title: 'Broken' } };

/** An in-memory channel: one connection, no session id, no HTTP. */
async function connect(options: ClientOptions, answer: 'accept' | 'cancel' = 'accept') {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await ContractGateway.start());
  const gate = postern({ url: gateway.url, apiKey: API_KEY, subject: alice });
  stack.defer(() => gate.close());
  const [near, far] = InMemoryTransport.createLinkedPair();
  const handle = gate.stdio(() => exampleServer(gate), far);
  stack.defer(() => handle.close());
  const client = new Client(
    { name: 'host', version: '1.0.0' },
    { capabilities: { elicitation: { form: {}, url: {} } }, ...options },
  );
  const completed = Promise.withResolvers<string>();
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
    completed.resolve(params.elicitationId),
  );
  client.setRequestHandler('elicitation/create', () => {
    if (answer === 'accept') void gateway.untilWaiting().then(() => gateway.end('completed'));
    return { action: answer };
  });
  await client.connect(near);
  stack.defer(() => client.close());
  return { gate, gateway, client, completed: completed.promise, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test.each([
  ['2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  ['a client that asks which revision is spoken', { versionNegotiation: { mode: 'auto' } }],
  ['2025-11-25', {}],
] satisfies [string, ClientOptions][])('%s: asks the local user and holds the call', async (_name, options) => {
  await using world = await connect(options);
  const { content } = await world.client.callTool(outcome);
  expect(content).toEqual([{ type: 'text', text: 'accept' }]);
  expect(world.gateway.requests[0]?.body).toMatchObject({ subject: alice, requestedBy: { tool: 'outcome' } });
});

test('2025-11-25: −32042 after a cancel, then the notice on the same channel', async () => {
  await using world = await connect({}, 'cancel');
  await expect(world.client.callTool(outcome)).rejects.toMatchObject({ code: -32042 });
  world.gateway.end('expired');
  expect(await world.completed).toBe('el-1');
  expect((await world.client.callTool(outcome)).content).toEqual([{ type: 'text', text: 'cancel: expired' }]);
});

test('a 2025-11-25 connection stays 2025-11-25, whatever a request claims', async () => {
  await using world = await connect({}, 'cancel');
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
  };
  await expect(world.client.callTool({ ...outcome, _meta })).rejects.toMatchObject({ code: -32042 });
});

test('serves one connection', async () => {
  await using world = await connect({});
  const errors: Error[] = [];
  const gate = postern({
    check: false,
    url: world.gateway.url,
    apiKey: API_KEY,
    onBackgroundError: e => errors.push(e),
  });
  const ends: InMemoryTransport[] = [];
  for (const serves of [true, false, true]) {
    const [near, far] = InMemoryTransport.createLinkedPair();
    gate.stdio(() => exampleServer(gate), far);
    const client = new Client({ name: 'host', version: '1.0.0' });
    const connected = client.connect(near).then(
      () => true,
      () => false,
    );
    expect(await connected).toBe(serves);
    if (serves) ends.push(near);
    else await ends.pop()?.close();
  }
  expect(errors).toMatchObject([{ code: 'invalid_options' }]);
  for (const end of ends) await end.close();
  gate.close();
});

test('SDK v1, a tool without arguments', async () => {
  await using gateway = await ContractGateway.start();
  const gate = posternV1({ url: gateway.url, apiKey: API_KEY, subject: alice });
  const [near, far] = InMemoryTransportV1.createLinkedPair();
  const handle = gate.stdio(() => {
    const server = new McpServerV1({ name: 'issues', version: '1.0.0' });
    server.registerTool(
      'whoami',
      {},
      gate.tool(async (_args, extra) => {
        const github = await extra.gate.authorize('github');
        return { content: [{ type: 'text', text: github.action }] };
      }),
    );
    return server;
  }, far);
  const client = new ClientV1({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: { url: {} } } });
  await client.connect(near);
  await expect(client.callTool({ name: 'whoami' })).rejects.toMatchObject({ code: -32042 });
  expect(gateway.requests[0]?.body).toMatchObject({ requestedBy: { tool: 'whoami' } });
  gateway.end('completed');
  expect((await client.callTool({ name: 'whoami' })).content).toEqual([{ type: 'text', text: 'accept' }]);
  await client.close();
  await handle.close();
  gate.close();
});

const modules = {
  v2: ['@modelcontextprotocol/server', '../index.ts'],
  v1: ['@modelcontextprotocol/sdk/server/mcp.js', '../v1/index.ts'],
} as const;

/** The whole program of an MCP server on stdio, in a folder without a gateway. */
const program = (sdk: keyof typeof modules) => {
  const [sdkModule, ours] = modules[sdk].map(name => JSON.stringify(import.meta.resolve(name)));
  return `
    import { McpServer } from ${sdkModule};
    import { postern } from ${ours};
    import { z } from ${JSON.stringify(import.meta.resolve('zod/v4'))};
    const gate = postern();
    gate.stdio(() => {
      const server = new McpServer({ name: 'releases', version: '1.0.0' });
      server.registerTool('release', {}, gate.tool(async (_args, ctx) => {
        const { content } = await ctx.gate.form(z.object({ branch: z.string() }));
        return { content: [{ type: 'text', text: 'Released ' + content.branch }] };
      }));
      server.registerTool('confirm', {}, gate.tool(async (_args, ctx) => {
        await ctx.gate.confirm('Release');
        return { content: [{ type: 'text', text: 'Released' }] };
      }));
      return server;
    });`;
};

const messageSchema = z.looseObject({ id: z.number().optional(), method: z.string().optional() });

/** A process that has not ended by then does not end. */
const PATIENCE_MS = 5_000;

/** The other end of the standard input and output. */
function startProgram(sdk: keyof typeof modules) {
  const env = { PATH: process.env['PATH'] };
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(sdk)], { cwd: tmpdir(), env });
  const exited = once(child, 'exit');
  const stderr: string[] = [];
  child.stderr.on('data', chunk => stderr.push(String(chunk)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  async function until(matches: (message: z.infer<typeof messageSchema>) => boolean) {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the program ended: ${stderr.join('')}`);
      const message = messageSchema.parse(JSON.parse(value));
      if (matches(message)) return message;
    }
  }
  return { child, exited, stderr, send, until, [Symbol.dispose]: () => void child.kill() };
}

describe.each(['v2', 'v1'] as const)('a program without a gateway, SDK %s', sdk => {
  test('shows forms in the MCP client, says what needs a gateway, and ends with its input', async () => {
    using started = startProgram(sdk);
    const { child, exited, stderr, send, until } = started;
    const clientInfo = { name: 'host', version: '1.0.0' };
    const capabilities = { elicitation: { form: {}, url: {} } };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities, clientInfo } });
    await until(({ id }) => id === 1);
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'release', arguments: {} } });
    const asked = await until(({ method }) => method === 'elicitation/create');
    expect(asked).toMatchObject({ params: { mode: 'form' } });
    send({ id: asked.id, result: { action: 'accept', content: { branch: 'main' } } });
    expect(await until(({ id, method }) => id === 2 && method === undefined)).toMatchObject({
      result: { content: [{ text: 'Released main' }] },
    });
    send({ id: 3, method: 'tools/call', params: { name: 'confirm', arguments: {} } });
    expect(await until(({ id, method }) => id === 3 && method === undefined)).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringMatching(/gateway.*POSTERN_URL/) }] },
    });
    // A call that waits keeps no process alive whose client has gone.
    send({ id: 4, method: 'tools/call', params: { name: 'release', arguments: {} } });
    await until(({ method }) => method === 'elicitation/create');
    child.stdin.end();
    expect(await Promise.race([exited, delay(PATIENCE_MS, undefined, { ref: false })])).toEqual([0, null]);
    // One report for the author.
    expect(stderr.join('').match(/^\S.*$/gm)).toEqual([expect.stringMatching(/^ProgrammingError: .*\(no_gateway\)$/)]);
  });
});

test('without a gateway, 2026-07-28 carries a form in its state, and accounts and a check say what is missing', async () => {
  const errors: Error[] = [];
  vi.spyOn(process, 'cwd').mockReturnValue(tmpdir());
  vi.stubEnv('POSTERN_URL', '');
  vi.stubEnv('POSTERN_API_KEY', '');
  vi.stubEnv('POSTERN_AUTOSTART', 'off');
  const gate = postern({ onBackgroundError: error => errors.push(error) });
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  const [near, far] = InMemoryTransport.createLinkedPair();
  const handle = gate.stdio(() => exampleServer(gate), far);
  const client = new Client(
    { name: 'host', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { branch: 'main' } }));
  await client.connect(near);
  const { content } = await client.callTool({ name: 'outcome', arguments: { title: 'form' } });
  expect(content).toEqual([{ type: 'text', text: 'accept main true by mcp-client' }]);
  const missing = expect.objectContaining({ code: 'no_gateway' });
  expect(() => gate.tool({ accounts: { github: {} } }, () => ({ content: [] }))).toThrow(missing);
  expect((await gate.check()).faults).toEqual([missing]);
  expect(errors).toEqual([]);
  await client.close();
  await handle.close();
  gate.close();
});
