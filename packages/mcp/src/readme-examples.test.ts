import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { promisify } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { generateKeyPair, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { z } from 'zod/v4';
import type { GateContext } from './ask/verbs.ts';
import { type McpEndpoint, postern } from './index.ts';
import { accountWorld } from './testing/account-world.ts';
import { API_KEY, ContractGateway } from './testing/contract-gateway.ts';

type Handler = (args: Record<string, string>, ctx: { gate: GateContext }) => Promise<{ content: { text: string }[] }>;
type World = Awaited<ReturnType<typeof accountWorld>>;

const readme = readFileSync(`${import.meta.dirname}/../README.md`, 'utf8');

function codeOf(name: string): string {
  const code = new RegExp(`\`\`\`ts\\n// example: ${name}\\n(.+?)\`\`\`\n`, 's').exec(readme)?.[1];
  if (code === undefined) throw new Error(`no example ${name}`);
  return code;
}

/** The handler of one example, which is an expression. */
function example(name: string, scope: Record<string, unknown>): Handler {
  const names = { z, gate: { tool: (handler: Handler) => handler }, ...scope };
  const make = new Function(...Object.keys(names), `return ${stripTypeScriptTypes(codeOf(name).trim())}`);
  return make(...Object.values(names));
}

/** Repeats the call until the handler finishes, and plays the user in between. */
async function play(world: World, handler: Handler, args: Record<string, string>, between = () => {}) {
  for (let round = 0; round < 8; round += 1) {
    const outcome = await world.run(gate => handler(args, { gate }));
    if (outcome.type === 'result') return outcome.result.content[0]?.text;
    world.gateway.end('completed');
    between();
  }
  throw new Error('never through');
}

test('authorize', async () => {
  let api = '';
  await using world = await accountWorld({
    fetch: (input, init) => fetch(String(input).replace('https://api.github.com', api), init),
  });
  api = world.api.url;
  expect(await play(world, example('authorize', {}), { title: 'Broken' })).toBe('GitHub answered 200');
  expect(world.api.requests[0]).toMatchObject({ method: 'POST', body: '{"title":"Broken"}' });
});

test('S115: refund, under the same key for a repeated call, and under another one for another refund', async () => {
  await using world = await accountWorld();
  const handler = example('refund', {});
  for (let n = 0; n < 2; n += 1)
    expect(await play(world, handler, { elicitationId: 'el-1' })).toBe('Refund of 490: succeeded');
  expect(world.gateway.refunds.size).toBe(1);
  const own = { minorUnits: 490, reason: 'One copy was damaged', idempotencyKey: 'second' };
  await world.run(async gate => ({ content: [], ...(await gate.refund('el-1', own)) }));
  expect([...world.gateway.refunds.values()].map(({ minorUnits }) => minorUnits)).toEqual([490, 490]);
  const invalid = world.run(async gate => ({
    content: [],
    ...(await gate.refund('el-1', { minorUnits: -1, reason: 'r' })),
  }));
  await expect(invalid).rejects.toMatchObject({ code: 'invalid_ask' });
});

test('pay', async () => {
  await using world = await accountWorld();
  const fulfilled: unknown[][] = [];
  const shop = { fulfil: async (...order: unknown[]) => void fulfilled.push(order) };
  expect(await play(world, example('pay', { shop }), { isbn: '17' })).toBe('Ordered. Receipt el-2');
  const order = expect.stringMatching(/^[0-9a-f-]{36}$/);
  expect(fulfilled).toEqual([['17', { order, receipt: 'receipt-of-el-2', idempotencyKey: expect.any(String) }]]);
});

test('confirm', async () => {
  await using world = await accountWorld();
  const deleted: unknown[] = [];
  const forge = { deleteRepository: async (name: string) => void deleted.push(name) };
  expect(await play(world, example('confirm', { forge }), { repository: 'acme/app' })).toBe('Deleted acme/app');
  expect(deleted).toEqual(['acme/app']);
  expect(world.gateway.requests.findLast(({ path }) => path === '/v1/elicitations')?.body).toMatchObject({
    confirmation: { title: 'Delete repository acme/app', action: 'Delete repository', danger: 'destructive' },
  });
});

test('credential', async () => {
  await using world = await accountWorld();
  const keys: string[] = [];
  let isAsked = 0;
  const callAcme = async (key: string) => {
    keys.push(key);
    return { status: isAsked > 1 ? 200 : 401 };
  };
  const said = await play(world, example('credential', { callAcme }), {}, () => {
    isAsked += 1;
  });
  expect(said).toBe('Acme says 200');
  expect(isAsked).toBe(2);
  expect(keys).toHaveLength(2);
});

test('form', async () => {
  await using world = await accountWorld();
  expect(await play(world, example('form', {}), {})).toBe('Releasing typed');
  const forms = world.gateway.requests.flatMap(({ body }) => {
    const parsed = z
      .object({ form: z.object({ requestedSchema: z.looseObject({ type: z.string() }) }) })
      .safeParse(body);
    return parsed.success ? [parsed.data.form.requestedSchema] : [];
  });
  expect(forms[0]).toMatchObject({ required: ['branch'], properties: { branch: { title: 'Branch' } } });
});

test('texts in several languages reach the gateway', async () => {
  await using world = await accountWorld();
  const handler: Handler = async ({ repository = '' }, { gate }) => {
    const message = { en: 'You asked me to tidy up', de: 'Sie haben mich gebeten aufzuräumen' };
    await gate.confirm({ title: { en: `Archive ${repository}`, de: `${repository} archivieren` } }, { message });
    const texts = { reason: { title: { en: 'Reason', de: 'Grund' } } };
    const why = await gate.form(z.object({ reason: z.enum(['done', 'moved']) }), { texts });
    return { content: [{ text: `Archived ${repository}: ${why.content.reason}` }] };
  };
  expect(await play(world, handler, { repository: 'attic' })).toMatch(/^Archived attic: /);
  const bodies = world.gateway.requests.map(({ body }) => body);
  const isOf = (kind: string) => (body: unknown) => body !== null && typeof body === 'object' && kind in body;
  expect(bodies.find(isOf('confirmation'))).toMatchObject({
    message: { de: 'Sie haben mich gebeten aufzuräumen' },
    confirmation: { title: { en: 'Archive attic', de: 'attic archivieren' } },
  });
  expect(bodies.find(isOf('form'))).toMatchObject({ form: { texts: { reason: { title: { de: 'Grund' } } } } });
});

test.each([
  ['completed', [['acme/app', { notify: true }]]],
  ['declined', [['acme/app', { notify: false }]]],
  ['expired', []],
] as const)('try: %s', async (ending, expected) => {
  const archived: unknown[] = [];
  const forge = { archive: async (...given: unknown[]) => void archived.push(given) };
  await using world = await accountWorld();
  const run = () => world.run(gate => example('try', { forge })({ repository: 'acme/app' }, { gate }));
  await run();
  if (ending === 'completed') world.gateway.end(ending, undefined, { value: true });
  else world.gateway.end(ending);
  await run();
  expect(archived).toEqual(expected);
});

const endings = ['declined', 'cancelled', 'expired', 'failed'] as const;

/** Everything that an example may do once the user has accepted. */
function watched() {
  const done: string[] = [];
  const effects = (name: string) =>
    new Proxy({}, { get: (_target, act) => async () => void done.push(`${name}.${String(act)}`) });
  const shop = { fulfil: async () => void done.push('shop.fulfil') };
  return { done, scope: { shop, forge: effects('forge'), callAcme: async () => void done.push('callAcme') } };
}

const blocks = ['authorize', 'pay', 'confirm', 'credential', 'form'];
test.each(blocks.flatMap(block => endings.map(ending => [block, ending] as const)))(
  'S95: the block %s does nothing once its first ask has %s',
  async (block, ending) => {
    await using world = await accountWorld();
    const { done, scope } = watched();
    const issued = world.gateway.elicitations.length;
    const run = () =>
      world.run(gate => example(block, scope)({ repository: 'acme/app', isbn: '17', title: 'x' }, { gate }));
    await run();
    expect(world.gateway.elicitations).toHaveLength(issued + 1);
    world.gateway.end(ending);
    const outcome = await run().then(
      ({ type }) => type,
      (error: unknown) => (error instanceof Error ? error.name : error),
    );
    expect(outcome).toBe(ending === 'failed' ? 'ElicitationFailedError' : 'plain');
    expect(done).toEqual([]);
    expect(world.gateway.elicitations).toHaveLength(issued + 1);
  },
);

const shortWay =
  readFileSync(`${import.meta.dirname}/../../../README.md`, 'utf8').match(/^await ctx\.gate\..+$/gm) ?? [];
test.each([...shortWay.flatMap(line => [...endings, 'completed' as const].map(ending => [line, ending] as const))])(
  'S95: the short way, verbatim: %s and %s',
  async (line, ending) => {
    await using world = await accountWorld();
    const effects: string[] = [];
    const handler = new Function(
      'z',
      'effects',
      `return async ctx => { ${line}\n effects.push('deleted'); return 'done'; }`,
    );
    const run = () => world.run(gate => handler(z, effects)({ gate }));
    await run();
    world.gateway.end(ending);
    await run().catch(() => undefined);
    expect(effects).toEqual(ending === 'completed' ? ['deleted'] : []);
  },
);

test('the short way has a line for every verb but authorize, whose account is declared', () => {
  expect(shortWay.map(line => /gate\.(\w+)/.exec(line)?.[1])).toEqual(['pay', 'confirm', 'credential', 'form']);
});

test('auth', async () => {
  await using gateway = await ContractGateway.start();
  const { privateKey } = await generateKeyPair('ES256');
  const token = await new SignJWT({ iss: 'https://id.example.com', sub: 'alice', aud: 'https://mcp.example.com/mcp' })
    .setProtectedHeader({ alg: 'ES256' })
    .setExpirationTime('1h')
    .sign(privateKey);
  const gate = postern({ url: gateway.url, apiKey: API_KEY, check: false });
  const createMcpServer = () => new McpServer({ name: 'issues', version: '1.0.0' });
  const line = /^const mcp = gate\.endpoint\(.+\);$/m.exec(readme)?.[0];
  const mcp: McpEndpoint = new Function('gate', 'createMcpServer', `${line}; return mcp;`)(gate, createMcpServer);
  const request = new Request('https://mcp.example.com/mcp', { headers: { authorization: `Bearer ${token}` } });
  // Its issuer is not one of the gateway's.
  expect([(await mcp.fetch(request)).status, gateway.described]).toEqual([401, 1]);
  await mcp.close();
  gate.close();
});

test('unit test', async () => {
  // Imports the package by its own name, as an MCP server does.
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module-typescript', '--test-reporter=tap', '--eval', codeOf('unit test')],
    { cwd: `${import.meta.dirname}/..` },
  );
  expect(stdout).toMatch(/^# pass 2\n# fail 0$/m);
});

test('every verb has an example', () => {
  const verbs = [...readme.matchAll(/^### `(\w+)`/gm)].map(([, verb]) => verb);
  expect(verbs).toEqual(['authorize', 'pay', 'refund', 'confirm', 'credential', 'form']);
});
