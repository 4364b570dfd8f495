/** Runs the gateway of this repository as a child process. */
import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod/v4';
import { postern } from '../index.ts';
import { startTestGateway, type TestGateway, type Typed } from './index.ts';

const command = [process.execPath, join(import.meta.dirname, '../../../../services/gateway/src/postern.ts'), 'start'];
const calls: [string, string | null][] = [];
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    providers: ['github'],
    command,
    api(request) {
      calls.push([request.url, request.headers.get('authorization')]);
      return new Response('ok');
    },
  });
}, 120_000);
afterAll(() => gateway?.[Symbol.asyncDispose]());

/** An MCP server with one tool, and a client whose user decides at the gateway. */
async function connect(
  tool: Parameters<ReturnType<typeof postern>['tool']>[1],
  decide: (url: string) => Promise<void>,
) {
  const shared = postern(gateway.options);
  const server = new McpServer({ name: 'tools', version: '1.0.0' });
  const gate = shared.attach(server);
  server.registerTool('act', { inputSchema: z.object({}) }, gate.tool({ name: 'act' }, tool));
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: { url: {} } } });
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode === 'url') await decide(params.url);
    return { action: 'accept' };
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  const { content } = await client.callTool({ name: 'act', arguments: {} });
  await client.close();
  shared.close();
  return content;
}

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
const accepts = (typed?: Typed) => (url: string) => gateway.person.accept(url, typed);

test('a person connects an account, and the tool gets a token of the stand-in', async () => {
  const content = await connect(async (_args, ctx) => {
    const github = await ctx.gate.authorize('github', { scopes: ['repo'] });
    return say(`${github.scopes} ${await (await github.fetch('https://api.github.com/user')).text()}`);
  }, accepts());
  expect(content).toEqual([{ type: 'text', text: 'repo ok' }]);
  expect(calls).toEqual([['https://api.github.com/user', expect.stringMatching(/^Bearer github-/)]]);
});

test('a person approves, types and declines', async () => {
  const terms = { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 2490 }, reference: 'A-17' };
  const paid = await connect(async (_args, ctx) => say((await ctx.gate.pay(terms)).processor), accepts());
  expect(paid).toEqual([{ type: 'text', text: 'none' }]);
  const key = { name: 'acme', title: 'Key of Acme', fields: [{ name: 'key', label: 'Key' }] } as const;
  const typed = await connect(
    async (_args, ctx) => say((await ctx.gate.credential(key)).values.key),
    accepts({ key: 'k-1' }),
  );
  expect(typed).toEqual([{ type: 'text', text: 'k-1' }]);
  const schema = z.object({ branch: z.string(), notify: z.boolean(), size: z.enum(['minor', 'major']) });
  const filled = await connect(
    async (_args, ctx) => say(JSON.stringify((await ctx.gate.form(schema)).content)),
    accepts({ branch: 'main', notify: true, size: 'major' }),
  );
  expect(filled).toEqual([{ type: 'text', text: '{"branch":"main","notify":true,"size":"major"}' }]);
  const declined = await connect(
    async (_args, ctx) => say((await ctx.gate.confirm('Send it')).receipt),
    url => gateway.person.decline(url),
  );
  expect(declined).toMatchObject([{ text: expect.stringMatching(/declined/) }]);
});

test('a page that refuses is an error with the status and the title of the page', async () => {
  await expect(gateway.person.accept(`${gateway.url}/e/el_none`)).rejects.toThrow(/HTTP 4\d\d/);
  await expect(gateway.person.accept('http://127.0.0.1:1/e/el_none')).rejects.toThrow(/only links of the test gateway/);
});

test('a gateway that does not start is an error with what it printed', async () => {
  const fails = [process.execPath, '-e', 'console.error("no redis-server"); process.exit(1)'];
  await expect(startTestGateway({ command: fails })).rejects.toThrow(/no redis-server/);
  await expect(startTestGateway({ provider: ['x'] } as never)).rejects.toThrow(/"provider".*providers/s);
});
