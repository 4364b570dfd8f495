import { once } from 'node:events';
import { createServer } from 'node:net';
import { FastMCP } from 'fastmcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod/v4';
import type { SubjectOption } from '../run/tool-call.ts';
import { API_KEY, ContractGateway } from '../testing/contract-gateway.ts';
import { connectLegacyHost } from '../testing/legacy-world.ts';
import { type FastMcpContext, postern } from './index.ts';

const stack = new AsyncDisposableStack();
/** Codes of what the gates have reported to the authors of their tools. */
const reported: unknown[] = [];
const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error);
let gateway: ContractGateway;
let url: URL;
let fixedUrl: URL;
let authenticatedUrl: URL;

/** FastMCP cannot choose a free port itself. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const quiet = { debug() {}, error() {}, info() {}, log() {}, warn() {} };

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };

async function startServer(
  subject: SubjectOption<FastMcpContext>,
  options: { authenticate?: () => Promise<{ sub: string }> } = {},
): Promise<URL> {
  const server = new FastMCP({ name: 'issues', version: '1.0.0', logger: quiet, ...options });
  const onBackgroundError = (error: unknown) => reported.push(codeOf(error));
  const gate = postern({ url: gateway.url, apiKey: API_KEY, subject, onBackgroundError }).attach(server);
  stack.defer(() => gate.close());
  server.addTool({
    name: 'outcome',
    parameters: z.object({ title: z.string() }),
    execute: gate.tool(async ({ title }: { title: string }, ctx) => {
      await ctx.gate.confirm({ title });
      return { content: [{ type: 'text' as const, text: `accept ${title}` }] };
    }),
  });
  const port = await freePort();
  await server.start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } });
  stack.defer(() => server.stop());
  return new URL(`http://127.0.0.1:${port}/mcp`);
}

beforeAll(async () => {
  gateway = stack.use(await ContractGateway.start());
  url = await startServer(() => alice);
  fixedUrl = await startServer(alice);
  authenticatedUrl = await startServer(alice, { authenticate: async () => ({ sub: 'bob' }) });
});
afterAll(() => stack.disposeAsync());

describe.each(['v1', 'v2'] as const)('a tool of FastMCP and a client of SDK %s', sdk => {
  const title = `for ${sdk}`;

  test('asks by a server request with the gateway’s id, and continues when the user has finished', async () => {
    const asked: string[] = [];
    const host = await connectLegacyHost(sdk, url, {
      elicit({ elicitationId }) {
        asked.push(elicitationId);
        gateway.end('completed', elicitationId);
        return { action: 'accept' };
      },
    });
    expect((await host.call(title)).text).toBe(`accept ${title}`);
    expect(gateway.elicitations.map(({ elicitationId }) => elicitationId)).toContain(asked[0]);
    await host.close();
  });

  test('a refusal ends the call', async () => {
    const host = await connectLegacyHost(sdk, url, {
      elicit({ elicitationId }) {
        gateway.end('declined', elicitationId);
        return { action: 'accept' };
      },
    });
    expect((await host.call(`${title}, refused`)).text).not.toContain('accept');
    await host.close();
  });

  test('a client without URL mode gets the link', async () => {
    const host = await connectLegacyHost(sdk, url, { capabilities: {} });
    const answer = await host.call(`${title}, as a link`);
    expect(answer.text).toContain(gateway.elicitations.at(-1)?.url);
    await host.close();
  });
});

test('S230: a fixed subject is refused over HTTP, whose headers FastMCP does not show', async () => {
  const before = gateway.elicitations.length;
  for (const target of [fixedUrl, authenticatedUrl]) {
    const host = await connectLegacyHost('v1', target, {});
    expect((await host.call('Broken')).text).not.toContain('accept');
    await host.close();
  }
  expect(gateway.elicitations).toHaveLength(before);
  expect(reported).toEqual(['subject_unavailable', 'subject_unavailable']);
});
