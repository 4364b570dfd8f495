import { describe, expect, test } from 'vitest';
import { configJsonSchema, createRules, upstreamSchema } from './config.ts';
import { filled, type Secret } from './injections.ts';
import { callOf, nextAt, startWire } from './testing/wire-world.ts';

const TOKEN = { accounts: { github: { as: { argument: 'token' } } } };

/** What the MCP client gets of a list. */
async function listed(rules: Parameters<typeof startWire>[0], text: string): Promise<string | undefined> {
  await using world = await startWire(rules);
  world.client.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  await world.upstream.next();
  world.upstream.send(text);
  return await world.client.line();
}

const listOf = (tools: string) => `{"jsonrpc":"2.0", "id":1,"result":{"tools":[${tools}]}}`;

describe('the list of tools', () => {
  const before =
    '{ "name":"create", "inputSchema":{"type":"object" ,"properties":{"title":{"default":1.0},"token" : {"type":"string"}},"required":["token", "title"],"$defs":{"token":{}}},"_meta":{"token":1}} , {"name":"other","inputSchema":{"properties":{"token":{}}}}';

  test('loses the argument that the proxy fills in, and otherwise stays as it came', async () => {
    const after = before.replace(',"token" : {"type":"string"}', '').replace('"token", "title"', '"title"');
    expect(await listed({ rules: [{ tools: 'create', ...TOKEN }] }, listOf(before))).toBe(listOf(after));
  });

  test('keeps a tool without the argument as it came, and loses a hidden one beside it', async () => {
    const rules = [{ tools: 'other', hide: true as const }, { ...TOKEN }];
    const text = '{ "name" : "a", "inputSchema":{"properties":{"Token":{}},"required":["Token"]}}';
    expect(await listed({ rules: [{ ...TOKEN }] }, listOf(text))).toBe(listOf(text));
    expect(await listed({ rules }, listOf(`${text}, {"name":"other"}`))).toBe(listOf(text));
  });

  test('loses the argument although only some calls of the tool get it', async () => {
    const when = { properties: { title: { const: 'a' } }, required: ['title'] };
    const rules = [{ tools: 'create', when, ...TOKEN }, { pass: true as const }];
    expect(await listed({ rules }, listOf(before))).not.toMatch(/"properties":\{[^}]*\},"token"/);
    await using world = await startWire({ rules });
    world.client.send(callOf(1, 'create', { title: 'b', token: 'mine' }));
    expect(await world.client.next()).toMatchObject({ id: 1, error: { code: -32602 } });
    world.client.send(callOf(2, 'create', { title: 'b' }));
    expect(await world.upstream.next()).toMatchObject({ id: 2 });
    world.client.send(callOf(3, 'other', { token: 'mine' }));
    expect(await world.upstream.next()).toMatchObject({ id: 3 });
  });

  test('loses the argument also for calls that another rule lets pass first', async () => {
    const when = { properties: { title: { const: 'a' } }, required: ['title'] };
    await using world = await startWire({ rules: [{ when, pass: true }, TOKEN] });
    world.client.send(callOf(1, 'create', { title: 'a', token: 'mine' }));
    expect(await nextAt(world)).toMatchObject({ at: 'client', id: 1, error: { code: -32602 } });
  });
});

describe('a secret', () => {
  const secret = (as: Secret['injection']['as'], value = 'a "secret"'): Secret => ({
    injection: { name: 'github', from: { type: 'account', options: {} }, as, rejected: [] },
    value,
  });
  const text = (params: string) => Buffer.from(`{"id":1.0, "params":${params} }`);

  test.each([
    ['{ "name":"a" }', '{"name":"a","arguments":{"t":"a \\"secret\\""}}'],
    ['{"arguments" : { } , "name":"a"}', '{"arguments" : { "t":"a \\"secret\\""} , "name":"a"}'],
    ['{"arguments":{"n":1.0 }}', '{"arguments":{"n":1.0 ,"t":"a \\"secret\\""}}'],
  ])('becomes an argument of %s', (before, after) => {
    const { bytes, headers } = filled(text(before), [secret({ argument: 't' })]);
    expect(bytes.toString()).toBe(text(after).toString());
    expect(headers).toBeUndefined();
  });

  test('becomes a member of _meta or a header, in one call', () => {
    const secrets = [secret({ meta: 'com.example/t' }), secret({ header: 'authorization', prefix: 'Bearer ' }, 'abc')];
    const { bytes, headers } = filled(text('{"_meta":null,"name":"a"}'), secrets);
    expect(bytes.toString()).toBe(text('{"name":"a","_meta":{"com.example/t":"a \\"secret\\""}}').toString());
    expect(headers).toEqual({ authorization: 'Bearer abc' });
  });

  test.each(['a\r\nx-admin: 1', ' a', 'é', ''])('that no header can carry is not sent, nor quoted: %j', value => {
    const fill = () => filled(text('{}'), [secret({ header: 'x-key', prefix: '' }, value)]);
    expect(fill).toThrow('"github" has characters');
  });
});

describe('a rule', () => {
  const faultsOf = (rule: object, more: object = { command: ['x'] }) =>
    upstreamSchema.safeParse({ ...more, rules: [rule] }).error?.issues.map(({ path }) => path.join('.'));
  const header = { header: 'Authorization', prefix: 'Bearer ' };

  test('with secrets passes calls, unless it asks for a confirmation', async () => {
    const rules = await createRules(upstreamSchema.parse({ command: ['x'], rules: [TOKEN] }));
    expect(rules.decide({ name: 'a', hints: {} }, undefined)).toMatchObject({ action: 'pass', by: 1 });
    expect(faultsOf({ ...TOKEN, confirm: true })).toBeUndefined();
    expect(faultsOf({ accounts: { github: { as: header } } }, { url: 'https://x' })).toBeUndefined();
  });

  test.each([
    ['a header for a server on stdio', { accounts: { github: { as: header } } }, 'rules.0.accounts.github.as.header'],
    ['two actions', { ...TOKEN, pass: true, confirm: true }, 'rules.0'],
    ['secrets for a tool that is denied', { ...TOKEN, deny: true }, 'rules.0'],
    [
      'two secrets at one place',
      { ...TOKEN, credential: { name: 'exa', title: 'Key', as: { argument: 'token' } } },
      'rules.0.credential.as',
    ],
    [
      'a repetition that is not declared safe',
      { accounts: { github: { as: { argument: 'token' }, rejected: '*401*' } } },
      'rules.0.accounts.github.rejected',
    ],
    ['two places', { accounts: { github: { as: { argument: 'a', meta: 'b' } } } }, 'rules.0.accounts.github.as'],
    [
      'a prefix without a header',
      { accounts: { github: { as: { argument: 'a', prefix: 'b' } } } },
      'rules.0.accounts.github.as',
    ],
  ])('with %s is refused, and the member is named', (_what, rule, path) => {
    expect(faultsOf(rule)).toEqual([path]);
  });

  test.each(['Host', 'content-length', 'Mcp-Session-Id', 'Cookie', 'a b'])('with the header %s is refused', name => {
    const rule = { accounts: { github: { as: { header: name } } } };
    expect(faultsOf(rule, { url: 'https://x' })).toEqual(['rules.0.accounts.github.as.header']);
  });

  test('is in the JSON Schema of the file', () => {
    expect(JSON.stringify(configJsonSchema())).toContain('"rejected"');
  });
});
