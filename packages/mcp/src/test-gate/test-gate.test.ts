import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { z } from 'zod/v4';
import { CapabilityMissingError, type Gate, type GateContext } from '../index.ts';
import type { Gate as GateV1 } from '../v1/index.ts';
import { accept, cancel, decline, fail, pending, type TestScript, testGate } from './index.ts';
import { testGate as testGateV1 } from './v1.ts';

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
const terms = {
  payee: { name: 'Shop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  reference: 'A-17',
};
const acme = { name: 'acme', title: 'Key of Acme', fields: [{ name: 'key', label: 'Key' }] } as const;

/** Runs a handler of a tool with a script. */
async function run<T extends object>(script: TestScript, handler: (gate: GateContext) => Promise<T>) {
  const gate = testGate(script);
  const tool = gate.tool(async (_args: undefined, ctx) => ({
    ...say(''),
    got: await handler(ctx.gate),
  }));
  const result = await gate.call(tool);
  gate.close();
  return { result, asks: gate.asks };
}

describe('a scripted answer', () => {
  test('authorize: an account whose requests carry the token', async () => {
    const requests: unknown[] = [];
    const { result, asks } = await run(
      {
        authorize: { github: accept({ token: 'abc' }) },
        fetch: async (input, init) => {
          requests.push([String(input), new Headers(init?.headers).get('authorization')]);
          return new Response('ok');
        },
      },
      async gate => {
        const github = await gate.authorize('github', { scopes: ['repo'] });
        const response = await github.fetch('https://api.github.com/user');
        return { scopes: github.scopes, text: await response.text() };
      },
    );
    expect(result).toMatchObject({ got: { scopes: ['repo'], text: 'ok' } });
    expect(requests).toEqual([['https://api.github.com/user', 'Bearer abc']]);
    expect(asks).toMatchObject([{ kind: 'authorization', authorization: { provider: 'github', scopes: ['repo'] } }]);
  });

  test('pay and confirm: an approval of exactly these terms', async () => {
    const pay = accept({ receipt: 'r-1', processor: 'stripe', processorReference: 'pi_1', mode: 'test' });
    const { result } = await run({ pay, confirm: accept() }, async gate => {
      const { receipt, processorReference, mode } = await gate.pay(terms);
      const yes = await gate.confirm('Send it');
      return { receipt, processorReference, mode, method: yes.approval.method };
    });
    expect(result).toMatchObject({
      got: { receipt: 'r-1', processorReference: 'pi_1', mode: 'test', method: 'button' },
    });
  });

  test('credential: values that are returned once, and values that are kept and replaced', async () => {
    let isAsked = 0;
    const script = {
      credential: {
        acme() {
          isAsked += 1;
          return accept({ values: { key: `k-${isAsked}` } });
        },
      },
    };
    const { result } = await run(script, async gate => {
      const once = await gate.credential(acme);
      const kept = await gate.credential({ ...acme, retention: 'lasting' });
      const next = kept.values.key === 'k-2' ? await kept.rejected() : kept;
      return { values: [once.values.key, next.values.key, (await next.read()).key] };
    });
    expect(result).toMatchObject({ got: { values: ['k-1', 'k-3', 'k-3'] } });
  });

  test('form: content that the schema checks', async () => {
    const schema = z.object({ branch: z.string(), notify: z.boolean().default(true) });
    const form = accept({ content: { branch: 'main' } });
    const { result } = await run({ form }, async gate => (await gate.form(schema)).content);
    expect(result).toMatchObject({ got: { branch: 'main', notify: true } });
    await expect(run({ form: accept({ content: { branch: 7 } }) }, gate => gate.form(schema))).rejects.toMatchObject({
      code: 'form_content_invalid',
    });
  });

  test.each([
    [decline(), 'decline', 'declined'],
    [cancel(), 'cancel', 'cancelled'],
    [cancel('expired'), 'cancel', 'expired'],
  ])('a refusal: %j', async (outcome, action, reason) => {
    const { result } = await run({ pay: outcome }, async gate => ({ ...(await gate.try.pay(terms)) }));
    expect(result).toMatchObject({ got: { action, reason } });
  });

  test('a failure, and a decision by the terms', async () => {
    const script: TestScript = {
      pay: ({ amount }) => (amount.minorUnits > 100 ? fail('processor_refused') : accept()),
    };
    await expect(run(script, gate => gate.try.pay(terms))).rejects.toMatchObject({ code: 'processor_refused' });
    const cheap = { ...terms, amount: { currency: 'EUR', minorUnits: 100 } };
    expect((await run(script, gate => gate.try.pay(cheap))).result).toMatchObject({ got: { action: 'accept' } });
  });

  test('pending: the call ends with the link, or with an error where the ask wants one', async () => {
    const { result } = await run({ confirm: pending() }, gate => gate.try.confirm('Send it'));
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('https://gateway.test/e/') }],
    });
    const { result: caught } = await run({ confirm: pending(), opensLinks: false }, async gate => {
      const error = await gate.try
        .confirm('Send it', { missingCapability: 'error' })
        .catch((thrown: unknown) => thrown);
      return { isMissing: error instanceof CapabilityMissingError, ...gate.client };
    });
    expect(caught).toMatchObject({ got: { isMissing: true, url: false, form: false } });
    const old = run({ confirm: pending(), revision: '2025-11-25' }, gate => gate.confirm('Send it'));
    await expect(old).rejects.toMatchObject({ code: -32042 });
  });
});

describe.each(['2026-07-28', '2025-11-25'] as const)('runs of a handler, %s', revision => {
  test('begin at its first line after each answer, as in production', async () => {
    let runs = 0;
    const { result, asks } = await run({ revision, pay: accept(), confirm: accept() }, async gate => {
      runs += 1;
      await gate.pay({ ...terms, reference: gate.id('order') });
      await gate.confirm(`Send it, begun at ${gate.now()}`);
      return { isSent: true };
    });
    expect(result).toMatchObject({ got: { isSent: true } });
    expect(runs).toBe(3);
    expect(asks).toHaveLength(2);
  });

  test('a second call is another one, and asks for no account again', async () => {
    const gate = testGate({ revision, authorize: { github: accept() }, confirm: accept() });
    const ids: string[] = [];
    const tool = gate.tool({ accounts: { github: {} } }, async (_args: undefined, ctx) => {
      await ctx.gate.confirm('Send it');
      ids.push(ctx.gate.id('order'));
      return say('sent');
    });
    for (let calls = 0; calls < 2; calls += 1) await gate.call(tool);
    expect(new Set(ids).size).toBe(2);
    expect(gate.asks.map(({ kind }) => kind)).toEqual(['authorization', 'confirmation', 'confirmation']);
  });

  test('must ask the same', async () => {
    let runs = 0;
    const running = run({ revision, confirm: accept() }, gate => gate.confirm(`Send it, run ${++runs}`));
    await expect(running).rejects.toMatchObject({ code: 'terms_changed' });
    expect(runs).toBe(2);
  });

  test('must await what they ask', async () => {
    const running = run({ revision, confirm: accept() }, async gate => {
      for (const item of ['a', 'b']) void gate.confirm(`Delete ${item}`);
      return {};
    });
    await expect(running).rejects.toMatchObject({ code: 'ask_not_awaited' });
  });

  test.each([
    [{ method: 'POST' }, 'effect_before_ask'],
    [{ method: 'POST', headers: { 'idempotency-key': 'k' } }, undefined],
    [{ method: 'GET' }, undefined],
  ])('change nothing before an ask: %j', async (init, code) => {
    const script: TestScript = {
      revision,
      authorize: { github: accept() },
      confirm: accept(),
      fetch: async () => new Response('ok'),
    };
    const running = run(script, async gate => {
      const github = await gate.authorize('github');
      await github.fetch('https://api.github.com/issues?secret=1', init);
      await gate.confirm('Send it');
      return {};
    });
    if (code === undefined) return await expect(running).resolves.toMatchObject({ asks: { length: 2 } });
    await expect(running).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/POST https:\/\/api\.github\.com\/issues /),
    });
  });
});

describe('a script', () => {
  test('must have an outcome for each ask', async () => {
    const running = run({ authorize: { gitlab: accept() } }, gate => gate.try.authorize('github'));
    await expect(running).rejects.toMatchObject({ code: 'invalid_ask', message: expect.stringMatching(/github/) });
  });

  test.each([
    ['an unknown member', () => testGate({ payment: accept() } as never), /"payment".*pay/s],
    ['something that is no outcome', () => testGate({ pay: true as never }), /pay/],
  ])('refuses %s', (_name, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_options', message: expect.stringMatching(message) }));
  });

  test('refuses an unknown member of an answer', async () => {
    const running = run({ authorize: { github: accept({ tokn: 'x' } as never) } }, gate =>
      gate.try.authorize('github'),
    );
    await expect(running).rejects.toMatchObject({ message: expect.stringMatching(/"tokn".*token, scopes/s) });
  });

  test('sends nothing into a network', async () => {
    const running = run({ authorize: { github: accept() } }, async gate => {
      const github = await gate.authorize('github');
      return await github.fetch('https://api.github.com/user');
    });
    await expect(running).rejects.toMatchObject({ message: expect.stringMatching(/script `fetch`/) });
  });
});

test('stands in for the gate of either SDK', async () => {
  const registerTools = (server: McpServer, shared: Gate) => {
    const gate = shared.attach(server);
    server.registerTool(
      'delete',
      { inputSchema: z.object({ name: z.string() }) },
      gate.tool({ accounts: { github: {} } }, async ({ name }, ctx) => {
        await ctx.gate.confirm(`Delete ${name}`);
        return say(`deleted ${name} with ${await ctx.accounts.github.accessToken()}`);
      }),
    );
  };
  const server = new McpServer({ name: 'issues', version: '1.0.0' });
  const gate = testGate({
    authorize: { github: accept({ token: 't' }) },
    confirm: ({ title }) => accept({ receipt: String(title) }),
  });
  registerTools(server, gate);
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1.0.0' });
  await Promise.all([server.connect(far), client.connect(near)]);
  const { content } = await client.callTool({ name: 'delete', arguments: { name: 'app' } });
  expect(content).toEqual([{ type: 'text', text: 'deleted app with t' }]);
  expect(gate.asks.map(({ kind }) => kind)).toEqual(['authorization', 'confirmation']);
  await client.close();
  const v1: GateV1 = testGateV1();
  expect(() => v1.attach(new McpServerV1({ name: 'issues', version: '1.0.0' }))).not.toThrow();
});
