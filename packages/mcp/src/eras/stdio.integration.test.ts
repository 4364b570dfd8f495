import { Client, type ClientOptions, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as InMemoryTransportV1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { expect, test } from 'vitest';
import { postern } from '../index.ts';
import { API_KEY, ContractGateway } from '../testing/contract-gateway.ts';
import { exampleServer } from '../testing/modern-world.ts';
import { postern as posternV1 } from '../v1/index.ts';

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };
const outcome = { name: 'outcome', arguments: { title: 'Broken' } };

/** `serveStdio` over an in-memory channel: one connection, no session id, no HTTP. */
async function connect(options: ClientOptions) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await ContractGateway.start());
  const gate = postern({ url: gateway.url, apiKey: API_KEY, subject: alice });
  stack.defer(() => gate.close());
  const [near, far] = InMemoryTransport.createLinkedPair();
  const handle = serveStdio(() => exampleServer(gate), { transport: far });
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
    void gateway.untilWaiting().then(() => gateway.end('completed'));
    return { action: 'accept' };
  });
  await client.connect(near);
  stack.defer(() => client.close());
  return { gateway, client, completed: completed.promise, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('2026-07-28: asks the local user and holds the retry', async () => {
  await using world = await connect({ versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const { content } = await world.client.callTool(outcome);
  expect(content).toEqual([{ type: 'text', text: 'accept' }]);
  expect(world.gateway.requests[0]?.body).toMatchObject({ subject: alice });
});

test('2025-11-25: −32042, then the notice on the same channel', async () => {
  await using world = await connect({});
  await expect(world.client.callTool(outcome)).rejects.toMatchObject({ code: -32042 });
  world.gateway.end('expired');
  expect(await world.completed).toBe('el-1');
  expect((await world.client.callTool(outcome)).content).toEqual([{ type: 'text', text: 'cancel: expired' }]);
});

test('a 2025-11-25 connection stays 2025-11-25, whatever a request claims', async () => {
  await using world = await connect({});
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
  };
  await expect(world.client.callTool({ ...outcome, _meta })).rejects.toMatchObject({ code: -32042 });
});

test('SDK v1, a tool without arguments', async () => {
  await using gateway = await ContractGateway.start();
  const server = new McpServerV1({ name: 'issues', version: '1.0.0' });
  const gate = posternV1({ url: gateway.url, apiKey: API_KEY, subject: alice }).attach(server);
  server.registerTool(
    'whoami',
    {},
    gate.tool(async (_args, extra) => {
      const github = await extra.gate.authorize('github');
      return { content: [{ type: 'text', text: github.action }] };
    }),
  );
  const [near, far] = InMemoryTransportV1.createLinkedPair();
  await server.connect(far);
  const client = new ClientV1({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: { url: {} } } });
  await client.connect(near);
  await expect(client.callTool({ name: 'whoami' })).rejects.toMatchObject({ code: -32042 });
  gateway.end('completed');
  expect((await client.callTool({ name: 'whoami' })).content).toEqual([{ type: 'text', text: 'accept' }]);
  await client.close();
  gate.close();
});
