import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { callOf, MODERN, startWire } from './testing/wire-world.ts';

const PASS = { default: 'pass' } as const;

describe('S263: what no rule names', () => {
  /** Messages with anything in them that JSON can say, in the words of any writer. */
  const messages = fc
    .oneof(
      fc.record({
        method: fc.constant('tools/call'),
        params: fc.record({ name: fc.string(), arguments: fc.jsonValue() }),
      }),
      fc.record({ method: fc.oneof(fc.constant('tools/list'), fc.string()), params: fc.jsonValue() }),
    )
    .chain(message => fc.jsonValue().map(any => JSON.stringify({ id: any, ...message, extra: any })));

  test('passes in both directions as the text that came, in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(messages, { minLength: 1, maxLength: 8 }), async texts => {
        await using world = await startWire(PASS);
        for (const text of texts) world.client.send(text);
        for (const text of texts) expect(await world.upstream.line()).toBe(text);
        for (const text of texts) world.upstream.send(text);
        for (const text of texts) expect(await world.client.line()).toBe(text);
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    [
      'numbers with their digits',
      '{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"a","arguments":{"n":12345678901234567890}}}',
    ],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","method":"x"}]'],
    ['a message that the SDK refuses', '{"jsonrpc":"2.0","id":null,"method":"x","_meta":null,"extra":{}}'],
    ['white space', '{ "jsonrpc" : "2.0",\t"method" : "x" }'],
  ])('%s', async (_what, text) => {
    await using world = await startWire(PASS);
    world.client.send(text);
    expect(await world.upstream.line()).toBe(text);
    world.upstream.send(text);
    expect(await world.client.line()).toBe(text);
  });

  test('a result that is too deep to be looked into', async () => {
    await using world = await startWire({ trustAnnotations: true, default: 'deny' });
    // Something waits, so that results are looked at.
    world.client.send(callOf(1, 'read'));
    await world.upstream.next();
    const text = `{"jsonrpc":"2.0","id":9,"result":${'['.repeat(600)}${']'.repeat(600)}}`;
    world.upstream.send(text);
    expect(await world.client.line()).toBe(text);
  });

  test('a large result', async () => {
    await using world = await startWire(PASS);
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: 'é'.repeat(5e6) }] },
    });
    world.upstream.send(text);
    expect((await world.client.line()) === text).toBe(true);
  });

  test('lines of the upstream that are no messages are logged, and the connection lives on', async () => {
    await using world = await startWire(PASS);
    world.upstream.send('Listening on stdio');
    world.upstream.send({ jsonrpc: '2.0', id: 1, result: {} });
    expect(await world.client.next()).toMatchObject({ id: 1 });
    expect(world.log.join()).toContain('Listening on stdio');
  });
});

describe('messages of the MCP client that are not passed on', () => {
  test.each([
    ['not JSON', '{"id":', -32700],
    ['another reading', '{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}', -32600],
  ])('%s', async (_what, text, code) => {
    await using world = await startWire(PASS);
    world.client.send(text);
    world.client.send({ jsonrpc: '2.0', method: 'next' });
    expect(await world.upstream.next()).toMatchObject({ method: 'next' });
    expect(await world.client.next()).toMatchObject({ error: { code } });
    expect(world.log).toHaveLength(1);
  });

  test('a batch with a call that needs a decision', async () => {
    await using world = await startWire({});
    world.client.send([callOf(1, 'delete'), { jsonrpc: '2.0', id: 2, method: 'ping' }]);
    for (const id of [1, 2]) expect(await world.client.next()).toMatchObject({ id, error: { code: -32600 } });
    world.client.send({ jsonrpc: '2.0', method: 'next' });
    expect(await world.upstream.next()).toMatchObject({ method: 'next' });
  });

  test.each([
    ['without an id', undefined],
    ['with an id that is no id', null],
    ['with a fraction as its id', 1.5],
  ])('a call that needs a decision %s', async (_what, id) => {
    await using world = await startWire({});
    world.client.send({ ...callOf(1, 'delete'), id });
    world.client.send({ jsonrpc: '2.0', method: 'next' });
    expect(await world.upstream.next()).toMatchObject({ method: 'next' });
    if (id !== undefined) expect(await world.client.next()).toMatchObject({ error: { code: -32600 } });
  });
});

describe('rules', () => {
  const rules = [
    { tools: 'drop_*', hide: true },
    { tools: 'delete', deny: true },
  ] as const;
  const world = () => startWire({ ...PASS, rules: [...rules] });

  test('a hidden tool is in no list, and nobody can call it', async () => {
    await using it = await world();
    it.client.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    await it.upstream.next();
    const list =
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"drop_a"} , {"name":"b", "x":1.0},{"name":"drop_c"}],"nextCursor":"n"}}';
    it.upstream.send(list);
    expect(await it.client.line()).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b", "x":1.0}],"nextCursor":"n"}}',
    );
    for (const name of ['drop_a', 'DROP_A', ' drop_a']) {
      it.client.send(callOf(2, name));
      expect(await it.client.next()).toMatchObject({ id: 2, error: { code: -32602 } });
    }
  });

  test.each([
    ['1.0', '1'],
    ['"\\u0061"', '"a"'],
    ['1', '1e0'],
  ])('a hidden tool is in no list: asked with id %s and answered with %s', async (asked, answered) => {
    await using it = await world();
    it.client.send(`{"jsonrpc":"2.0","id":${asked},"method":"tools/list"}`);
    await it.upstream.next();
    it.upstream.send(`{"jsonrpc":"2.0","id":${answered},"result":{"tools":[{"name":"drop_a"}]}}`);
    // Refusing such an id would do as well.
    expect(await it.client.line()).not.toContain('drop_a');
  });

  test('a denied tool is listed, and its calls are refused for good', async () => {
    await using it = await world();
    it.client.send(callOf('two', 'delete'));
    expect(await it.client.next()).toMatchObject({
      id: 'two',
      result: { isError: true, _meta: { 'io.modelcontextprotocol/authorization': { remediation: 'unavailable' } } },
    });
    it.client.send(callOf(3, 'delete', {}, { _meta: MODERN }));
    expect(await it.client.next()).toMatchObject({ id: 3, result: { resultType: 'complete', isError: true } });
    it.client.send(callOf(4, 'read'));
    expect(await it.upstream.next()).toMatchObject({ id: 4 });
  });

  test('trusted hints decide: the list is read once, until the upstream says that it changed', async () => {
    await using it = await startWire({ trustAnnotations: true, default: 'deny' });
    const answerList = async (readOnlyHint: boolean) => {
      const { id, method } = await it.upstream.next();
      expect(method).toBe('tools/list');
      it.upstream.send({ jsonrpc: '2.0', id, result: { tools: [{ name: 'read', annotations: { readOnlyHint } }] } });
    };
    it.client.send(callOf(1, 'read'));
    await answerList(true);
    expect(await it.upstream.next()).toMatchObject({ id: 1 });
    it.client.send(callOf(2, 'read'));
    expect(await it.upstream.next()).toMatchObject({ id: 2 });
    it.client.send(callOf(3, 'other'));
    expect(await it.client.next()).toMatchObject({ id: 3, result: { isError: true } });
    it.upstream.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(await it.client.next()).toMatchObject({ method: 'notifications/tools/list_changed' });
    it.client.send(callOf(4, 'read'));
    await answerList(false);
    expect(await it.client.next()).toMatchObject({ id: 4, result: { isError: true } });
  });

  test('an empty cursor ends a list', async () => {
    await using it = await startWire({ trustAnnotations: true, default: 'deny' });
    it.client.send(callOf(1, 'read'));
    const { id } = await it.upstream.next();
    const tools = [{ name: 'read', annotations: { readOnlyHint: true } }];
    it.upstream.send({ jsonrpc: '2.0', id, result: { tools, nextCursor: '' } });
    expect(await it.upstream.next()).toMatchObject({ id: 1, method: 'tools/call' });
  });

  test('hints that have changed since they were read decide anew before anybody is asked', async () => {
    const rules = [{ annotations: { destructiveHint: true }, deny: true as const }];
    await using it = await startWire({ trustAnnotations: true, rules });
    const list = async (destructiveHint: boolean) => {
      const { id } = await it.upstream.next();
      it.upstream.send({ jsonrpc: '2.0', id, result: { tools: [{ name: 'wipe', annotations: { destructiveHint } }] } });
    };
    it.client.send(callOf(1, 'wipe'));
    await list(false);
    await list(true);
    expect(await it.client.next()).toMatchObject({ id: 1, result: { isError: true } });
  });

  test('a list without end is no list: its tools count as not listed', async () => {
    await using it = await startWire({ trustAnnotations: true, default: 'deny' });
    it.client.send(callOf(1, 'read'));
    for (let page = 0; page < 2; page += 1) {
      const { id } = await it.upstream.next();
      it.upstream.send({
        jsonrpc: '2.0',
        id,
        result: { tools: [{ name: 'read', annotations: { readOnlyHint: true } }], nextCursor: 'again' },
      });
    }
    expect(await it.client.next()).toMatchObject({ id: 1, result: { isError: true } });
  });

  test('a rule by arguments does not decide about arguments that stand twice', async () => {
    const when = { properties: { amount: { maximum: 10 } }, required: ['amount'] };
    await using it = await startWire({ rules: [{ when, pass: true }], default: 'deny' });
    it.client.send(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1000,"amount":1}}}',
    );
    expect(await it.client.next()).toMatchObject({ id: 1, error: { code: -32600 } });
    it.client.send(callOf(2, 'pay', { amount: 1 }));
    expect(await it.upstream.next()).toMatchObject({ id: 2 });
  });
});

test('a rule by arguments does not decide about names that differ only in case', async () => {
  const when = { properties: { path: { type: 'string', pattern: '^/safe/' } }, required: ['path'] };
  await using it = await startWire({ rules: [{ when, pass: true }], default: 'deny' });
  it.client.send(callOf(1, 'write', { path: '/safe/a', Path: '/etc/passwd' }));
  it.client.send({ jsonrpc: '2.0', method: 'next' });
  expect(await it.upstream.next()).toMatchObject({ method: 'next' });
});

test('the end of the input ends the upstream, and the proxy', async () => {
  const world = await startWire(PASS);
  world.client.end();
  expect(await world.code).toBe(1);
  expect(await world.upstream.line()).toBeUndefined();
});

test('the end of the upstream ends the proxy', async () => {
  const world = await startWire(PASS);
  world.upstream.send({ jsonrpc: '2.0', method: 'last words' });
  world.crash();
  expect(await world.client.next()).toMatchObject({ method: 'last words' });
  expect(await world.code).toBe(1);
});
