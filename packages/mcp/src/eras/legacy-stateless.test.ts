import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { API_KEY } from '../testing/contract-gateway.ts';
import { legacyWorld } from '../testing/legacy-world.ts';
import { modernWorld, textOf } from '../testing/modern-world.ts';

/** A 2025-11-25 client of `createMcpHandler`, which handles it without a session. */
async function connect(url: URL) {
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: { url: {} } } });
  await client.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: 'Bearer alice' } } }),
  );
  return {
    async outcome(): Promise<unknown> {
      const { content } = await client.callTool({ name: 'outcome', arguments: { title: 'Broken' } });
      return content[0]?.type === 'text' ? content[0].text : undefined;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

test('sends the link in a plain result, because capabilities are unknown', async () => {
  await using world = await modernWorld();
  await using client = await connect(world.mcp.url);
  expect(await client.outcome()).toContain(world.gateway.elicitations[0]?.url);
  world.gateway.end('completed');
  expect(await client.outcome()).toBe('accept');
});

test('the configured refusal has no code in this revision', async () => {
  await using world = await modernWorld({ missingCapability: 'error' });
  await using client = await connect(world.mcp.url);
  expect(await client.outcome()).not.toContain(world.gateway.elicitations[0]?.url);
});

test('sends −32042 if the operator vouches for it; the retried call reads the status and reports it once', async () => {
  await using world = await modernWorld({ assumeUrlCapability: true });
  await using client = await connect(world.mcp.url);
  await expect(client.outcome()).rejects.toMatchObject({
    code: -32042,
    data: { elicitations: [expect.objectContaining({ mode: 'url', elicitationId: 'el-1' })] },
  });
  // Still open: the same elicitation, not a new one.
  await expect(client.outcome()).rejects.toMatchObject({
    data: { elicitations: [expect.objectContaining({ elicitationId: 'el-1' })] },
  });
  world.gateway.end('declined');
  expect(await client.outcome()).toBe('decline: declined');
  await expect(client.outcome()).rejects.toMatchObject({
    data: { elicitations: [expect.objectContaining({ elicitationId: 'el-2' })] },
  });
});

test('asks again if the gateway has deleted the elicitation', async () => {
  await using world = await modernWorld();
  await using client = await connect(world.mcp.url);
  await client.outcome();
  world.gateway.forget('el-1');
  expect(await client.outcome()).toContain(world.gateway.elicitations[0]?.url);
  expect(world.gateway.elicitations[0]?.elicitationId).toBe('el-2');
});

test.each(['v1', 'v2'] as const)('treats a session whose server was not attached as stateless: SDK %s', async sdk => {
  await using world = await legacyWorld(sdk, {}, { attach: false });
  const host = await world.connect('v2');
  expect((await host.call()).text).toContain(world.gateway.elicitations[0]?.url);
  expect(world.gateway.waiting).toBe(0);
});

test('returns the newer approval from another replica instead of the cached refusal', async () => {
  await using world = await modernWorld();
  await using client = await connect(world.mcp.url);
  await client.outcome();
  world.gateway.end('declined');
  const elsewhere = await fetch(`${world.gateway.url}/v1/elicitations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}` },
    body: JSON.stringify(world.gateway.requests[0]?.body),
  });
  expect(elsewhere.status).toBe(201);
  world.gateway.end('completed');
  expect(await client.outcome()).toBe('accept');
});

test('S230: a fixed subject is refused over HTTP outside of endpoint(), where any web page may call', async () => {
  const subject = { issuer: 'https://idp.example.com', subject: 'alice' };
  await using world = await modernWorld({ subject });
  expect(textOf(await world.call({ name: 'outcome', subject: null }))).toBe('error: subject_unavailable');
  for (const sdk of ['v1', 'v2'] as const) {
    await using sessions = await legacyWorld(sdk, { subject });
    const host = await sessions.connect(sdk, { subject: '', capabilities: {} });
    expect((await host.call()).text).toBe('error: subject_unavailable');
    expect(sessions.gateway.requests).toEqual([]);
  }
  expect(world.gateway.requests).toEqual([]);
});
