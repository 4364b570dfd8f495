/** What a gate adds to handlers: accounts, refusals that end the call, the MCP client's modes, prompts and resources. In both eras and SDKs. */
import {
  type McpServer as McpServerV1,
  ResourceTemplate as ResourceTemplateV1,
} from '@modelcontextprotocol/sdk/server/mcp.js';
import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod/v4';
import {
  AUTHORIZATION_META_KEY,
  type AuthorizationAccepted,
  CapabilityMissingError,
  ELICITATION_ERROR_CODE,
  ELICITATION_META_KEY,
  type Gate,
  type GateContext,
  isElicitationPending,
  postern,
} from '../index.ts';
import { accountWorld } from '../testing/account-world.ts';
import { API_KEY, type ContractGateway } from '../testing/contract-gateway.ts';
import { terms } from '../testing/scripts.ts';
import { eras, stdioWorld } from '../testing/stdio-world.ts';
import type { Gate as GateV1 } from '../v1/index.ts';

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
const completes = (gateway: ContractGateway) => {
  gateway.end('completed');
  return 'accept' as const;
};

/** The same tool, prompt, resource and resource template on either SDK. `uses` records what the handlers get. */
function offers(uses: string[] = []) {
  const used = (accounts: Record<string, AuthorizationAccepted>) =>
    uses.push(
      Object.entries(accounts)
        .map(([name, { connectionId }]) => `${name} ${connectionId}`)
        .join(', '),
    );
  const accounts = { github: { scopes: ['repo'] }, gitlab: {} };
  const offer = (server: McpServer, gate: Gate) => {
    server.registerTool(
      'sync',
      {},
      gate.tool({ name: 'sync', accounts }, async (_args, ctx) => {
        expectTypeOf(ctx.accounts.github).toEqualTypeOf<AuthorizationAccepted>();
        expectTypeOf<keyof typeof ctx.accounts>().toEqualTypeOf<'github' | 'gitlab'>();
        used(ctx.accounts);
        return say('synced');
      }),
    );
    server.registerPrompt(
      'review',
      { argsSchema: z.object({ branch: z.string() }) },
      gate.prompt({ name: 'review' }, async ({ branch }, ctx) => {
        const { receipt } = await ctx.gate.confirm(`Review ${branch}`);
        return { messages: [{ role: 'user', content: { type: 'text', text: receipt } }] };
      }),
    );
    server.registerResource(
      'inbox',
      'mail://inbox',
      {},
      gate.resource({ accounts: { github: {} } }, async (uri, variables, ctx) => {
        used(ctx.accounts);
        return { contents: [{ uri: uri.href, text: JSON.stringify(variables) }] };
      }),
    );
    server.registerResource(
      'mail',
      new ResourceTemplate('mail://messages/{id}', { list: undefined }),
      {},
      gate.resource(async (uri, { id }, ctx) => {
        const yes = await ctx.gate.confirm(`Read ${String(id)}`);
        return { contents: [{ uri: uri.href, text: yes.receipt }] };
      }),
    );
  };
  const offerV1 = (server: McpServerV1, gate: GateV1) => {
    server.registerTool(
      'sync',
      {},
      gate.tool({ accounts }, async (_args, ctx) => {
        used(ctx.accounts);
        return say('synced');
      }),
    );
    server.registerPrompt(
      'review',
      { argsSchema: { branch: z.string() } },
      gate.prompt(async ({ branch }: { branch: string }, ctx) => {
        const { receipt } = await ctx.gate.confirm(`Review ${branch}`);
        return { messages: [{ role: 'user', content: { type: 'text', text: receipt } }] };
      }),
    );
    server.registerResource(
      'inbox',
      'mail://inbox',
      {},
      gate.resource({ accounts: { github: {} } }, async (uri, variables, ctx) => {
        used(ctx.accounts);
        return { contents: [{ uri: uri.href, text: JSON.stringify(variables) }] };
      }),
    );
    server.registerResource(
      'mail',
      new ResourceTemplateV1('mail://messages/{id}', { list: undefined }),
      {},
      gate.resource(async (uri, { id }, ctx) => {
        const yes = await ctx.gate.confirm(`Read ${String(id)}`);
        return { contents: [{ uri: uri.href, text: yes.receipt }] };
      }),
    );
  };
  return { offer, offerV1 };
}

/** Repeats a request as an MCP client of 2025-11-25 does, while it is answered with −32042. */
async function untilAnswered<T>(gateway: ContractGateway, request: () => Promise<T>): Promise<T> {
  for (let round = 0; round < 5; round += 1) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === -32042)) throw error;
      gateway.end('completed');
    }
  }
  throw new Error('asked too often');
}

const outputSchema = { receipts: z.array(z.string()) };

/** A tool that asks twice, without an output schema and with one. */
const twice = {
  offer(server: McpServer, gate: Gate) {
    for (const [name, schema] of [['plain'], ['structured', { outputSchema: z.object(outputSchema) }]] as const)
      server.registerTool(
        name,
        schema ?? {},
        gate.tool(async (_args, ctx) => structured([await ctx.gate.pay(terms), await ctx.gate.confirm('Send it')])),
      );
  },
  offerV1(server: McpServerV1, gate: GateV1) {
    for (const [name, schema] of [['plain'], ['structured', { outputSchema }]] as const)
      server.registerTool(
        name,
        schema ?? {},
        gate.tool(async (_args, extra) =>
          structured([await extra.gate.pay(terms), await extra.gate.confirm('Send it')]),
        ),
      );
  },
};
const structured = (approvals: readonly { readonly receipt: string }[]) => ({
  ...say('done'),
  structuredContent: { receipts: approvals.map(({ receipt }) => receipt) },
});

const metaOf = ({ _meta }: { _meta?: unknown }) => z.looseObject({}).catch({}).parse(_meta);

describe.each(eras)('%s', era => {
  test.each([
    ['plain', undefined],
    ['structured', true],
  ] as const)(
    'S224: a decline of the tool `%s` says that nothing was done, and not after a payment',
    async (name, isError) => {
      const decline = { reason: 'insufficient_authorization', remediation: 'unavailable' };
      for (const [ends, envelope] of [
        [['declined'], decline],
        [['completed', 'declined'], undefined],
      ] as const) {
        const left = [...ends];
        await using world = await stdioWorld({
          era,
          ...twice,
          onAsk(gateway) {
            gateway.end(left.shift() ?? 'failed');
            return 'accept';
          },
        });
        const result = await world.client.callTool({ name });
        expect(result.content).toEqual([{ type: 'text', text: expect.stringContaining('declined') }]);
        expect(result.isError).toBe(isError);
        expect(metaOf(result)[AUTHORIZATION_META_KEY]).toEqual(envelope);
        expect(left).toEqual([]);
      }
    },
  );

  test('an MCP client without URL mode gets an envelope that discloses no remedy beside the link', async () => {
    await using world = await stdioWorld({ era, ...twice, elicitation: undefined });
    const first = await world.client.callTool({ name: 'plain' });
    const undisclosed = { reason: 'insufficient_authorization', remediation: 'undisclosed' };
    expect(metaOf(first)[AUTHORIZATION_META_KEY]).toEqual(undisclosed);
    expect(first.isError).toBe(true);
    world.gateway.end('completed');
    const second = metaOf(await world.client.callTool({ name: 'plain' }));
    expect(second).toHaveProperty([ELICITATION_META_KEY]);
    expect(second).not.toHaveProperty([AUTHORIZATION_META_KEY]);
  });

  test('authorizes declared accounts one after another, before the handler runs', async () => {
    const uses: string[] = [];
    await using world = await stdioWorld({ era, ...offers(uses), onAsk: completes });
    const result = await untilAnswered(world.gateway, () => world.client.callTool({ name: 'sync' }));
    expect(result.content).toEqual([{ type: 'text', text: 'synced' }]);
    expect(uses).toEqual(['github co-el-1, gitlab co-el-2']);
    expect(world.gateway.elicitations.map(({ authorization }) => authorization?.provider ?? '')).toHaveLength(2);
  });

  test('S95: a declined account ends the call before the handler and before the next link', async () => {
    const uses: string[] = [];
    await using world = await stdioWorld({
      era,
      ...offers(uses),
      onAsk: gateway => {
        gateway.end('declined');
        return 'accept';
      },
    });
    const result = await world.client.callTool({ name: 'sync' });
    expect(result.isError).toBeUndefined();
    expect(result.content).toEqual([{ type: 'text', text: expect.stringContaining('declined') }]);
    expect(uses).toEqual([]);
    expect(world.gateway.elicitations).toHaveLength(1);
  });

  test('S228: an answer that one handler has used is none for another with equal terms and arguments', async () => {
    const uses: string[] = [];
    const work = (name: string) => async (gate: GateContext) => {
      await gate.confirm('Go on?');
      await gate.authorize('github');
      uses.push(name);
    };
    const names = ['archive', 'delete'].map(name => ({ name, run: work(name) }));
    await using world = await stdioWorld({
      era,
      elicitation: undefined,
      offer(server, gate) {
        for (const { name, run } of names) {
          const tool = gate.tool(async (_args, ctx) => run(ctx.gate).then(() => say('done')));
          const prompt = gate.prompt(async (_args, ctx) => run(ctx.gate).then(() => ({ messages: [] })));
          server.registerTool(name, {}, tool);
          server.registerPrompt(name, {}, prompt);
        }
      },
      offerV1(server, gate) {
        for (const { name, run } of names) {
          const tool = gate.tool(async (_args, ctx) => run(ctx.gate).then(() => say('done')));
          const prompt = gate.prompt(async (_args, ctx) => run(ctx.gate).then(() => ({ messages: [] })));
          server.registerTool(name, {}, tool);
          server.registerPrompt(name, {}, prompt);
        }
      },
    });
    const requests = [
      (name: string) => world.client.callTool({ name }),
      (name: string) => world.client.getPrompt({ name }).catch(() => undefined),
    ];
    const asked = () => world.gateway.elicitations.at(-1)?.kind;
    for (const request of requests) {
      await request('archive');
      world.gateway.end('completed');
      await request('archive');
      const before = world.gateway.issueCount;
      await request('delete');
      expect([world.gateway.issueCount - before, asked()]).toEqual([1, 'confirmation']);
    }
    expect(uses).toEqual([]);
  });

  test('a prompt asks the user', async () => {
    await using world = await stdioWorld({ era, ...offers(), onAsk: completes });
    const request = { name: 'review', arguments: { branch: 'main' } };
    const result = await untilAnswered(world.gateway, () => world.client.getPrompt(request));
    expect(result.messages[0]?.content).toEqual({ type: 'text', text: 'receipt-of-el-1' });
    expect(world.gateway.requests[0]?.body).toMatchObject({ confirmation: { title: 'Review main' } });
    expect(world.gateway.requests[0]?.body).not.toHaveProperty('requestedBy.tool');
  });

  test('a resource asks the user, with a template and without', async () => {
    const uses: string[] = [];
    await using world = await stdioWorld({ era, ...offers(uses), onAsk: completes });
    const read = (uri: string) => untilAnswered(world.gateway, () => world.client.readResource({ uri }));
    expect((await read('mail://inbox')).contents).toEqual([{ uri: 'mail://inbox', text: '{}' }]);
    expect(uses).toEqual(['github co-el-1']);
    expect((await read('mail://messages/17')).contents).toMatchObject([{ text: 'receipt-of-el-2' }]);
  });

  test('S95: a declined prompt fails with an error that says so', async () => {
    await using world = await stdioWorld({
      era,
      ...offers(),
      onAsk: gateway => {
        gateway.end('declined');
        return 'accept';
      },
    });
    const request = { name: 'review', arguments: { branch: 'main' } };
    await expect(world.client.getPrompt(request)).rejects.toMatchObject({
      code: ELICITATION_ERROR_CODE,
      message: expect.stringContaining('declined'),
    });
  });

  test('a prompt for an MCP client that cannot open links fails with the link', async () => {
    await using world = await stdioWorld({ era, ...offers(), elicitation: undefined });
    const request = { name: 'review', arguments: { branch: 'main' } };
    const failure = world.client.getPrompt(request);
    await expect(failure).rejects.toMatchObject({
      code: ELICITATION_ERROR_CODE,
      message: expect.stringMatching(/request this prompt again/),
    });
    const [{ url, matchCode } = { url: '', matchCode: '' }] = world.gateway.elicitations;
    await expect(failure).rejects.toMatchObject({ data: { [ELICITATION_META_KEY]: { url, matchCode } } });
    world.gateway.end('completed');
    expect((await world.client.getPrompt(request)).messages).toHaveLength(1);
  });

  test('a resource with missingCapability "error" refuses an MCP client that cannot open links', async () => {
    await using world = await stdioWorld({
      era,
      ...offers(),
      elicitation: undefined,
      options: { missingCapability: 'error' },
    });
    await expect(world.client.readResource({ uri: 'mail://inbox' })).rejects.toMatchObject({
      code: era === '2026-07-28' ? -32021 : ELICITATION_ERROR_CODE,
    });
  });
});

test('S12: a requestState of one prompt fits no other prompt', async () => {
  const states: string[] = [];
  await using world = await stdioWorld({
    era: '2026-07-28',
    options: { holdMs: 0 },
    onAsk: () => 'accept',
    offer(server, gate) {
      const ask = async (_args: unknown, ctx: { gate: GateContext }) => {
        await ctx.gate.confirm('Send it');
        return { messages: [] };
      };
      for (const name of ['one', 'two']) {
        const handle = gate.prompt({ name }, ask);
        server.registerPrompt(name, {}, async ctx => {
          const stolen = states[0];
          const { mcpReq } = ctx;
          const given = stolen === undefined ? ctx : { ...ctx, mcpReq: { ...mcpReq, requestState: () => stolen } };
          const answer = await handle(given as typeof ctx);
          if ('requestState' in answer && typeof answer.requestState === 'string') states.push(answer.requestState);
          throw new Error('asked');
        });
      }
    },
  });
  await expect(world.client.getPrompt({ name: 'one' })).rejects.toMatchObject({ message: 'asked' });
  expect(states).toHaveLength(1);
  await expect(world.client.getPrompt({ name: 'two' })).rejects.toMatchObject({ code: -32602 });
});

/** Runs a handler once for a first call, and again after the user has ended the elicitation. */
async function endsAs(status: 'completed' | 'declined' | 'expired', handler: (gate: GateContext) => Promise<unknown>) {
  await using world = await accountWorld();
  await world.run(handler).catch(() => undefined);
  world.gateway.end(status);
  return await world.run(handler);
}

describe('a refusal', () => {
  test('returns the accepted answer, typed as such', async () => {
    const outcome = await endsAs('completed', async gate => {
      const payment = await gate.pay(terms);
      expectTypeOf(payment.action).toEqualTypeOf<'accept'>();
      return payment.receipt;
    });
    expect(outcome).toEqual({ type: 'result', result: 'receipt-of-el-2' });
  });

  const verbs: Record<string, (gate: GateContext) => Promise<{ readonly action: 'accept' }>> = {
    authorize: gate => gate.authorize('gitlab'),
    pay: gate => gate.pay(terms),
    confirm: gate => gate.confirm('Send it'),
    credential: gate => gate.credential({ name: 'acme', title: 'Key', fields: [{ name: 'key', label: 'Key' }] }),
    'lasting credential': gate =>
      gate.credential({
        name: 'acme',
        title: 'Key',
        retention: 'lasting',
        fields: [{ name: 'key', label: 'Key' }],
      }),
    form: gate => gate.form(z.object({ branch: z.string() })),
    'form.text': gate => gate.form.text('Which branch?'),
  };

  test.each(Object.entries(verbs))('S95: %s ends the call as the returned refusal would', async (_name, verb) => {
    let isPast = false;
    const outcome = await endsAs('declined', async gate => {
      await verb(gate);
      isPast = true;
    });
    expect(outcome).toMatchObject({
      type: 'plain',
      result: { content: [{ text: expect.stringContaining('declined') }] },
    });
    expect(outcome).not.toHaveProperty('result.isError');
    expect(isPast).toBe(false);
  });

  test.each([
    ['of an account that was not used says that nothing was done', false, true],
    ['after a token was handed out does not', true, false],
  ])('S224: a decline %s', async (_case, uses, claims) => {
    const outcome = await endsAs('declined', async gate => {
      const github = await gate.authorize('github');
      if (uses) await github.accessToken();
      await gate.confirm('Send it');
    });
    expect(JSON.stringify(outcome).includes(AUTHORIZATION_META_KEY)).toBe(claims);
  });

  test('S95: a handler that swallows a refusal fails, and its later asks are refused as well', async () => {
    const later: unknown[] = [];
    const running = endsAs('declined', async gate => {
      await gate.confirm('Send it').catch(() => undefined);
      later.push(await gate.pay(terms).catch(isElicitationPending));
      return 'went on';
    });
    await expect(running).rejects.toMatchObject({ code: 'suspension_swallowed' });
    expect(later).toEqual([true, true]);
  });

  test.each<[string, (gate: GateContext) => unknown]>([
    ['is not awaited', gate => void gate.confirm('Send it')],
    ['loses a race', gate => Promise.race([gate.confirm('Send it'), 1])],
    ['waits behind another one', gate => void [gate.pay(terms), gate.confirm('Send it')]],
  ])('S95: a handler whose ask %s fails', async (_case, ask) => {
    await using world = await accountWorld();
    const running = world.run(async gate => {
      await ask(gate);
      return 'went on';
    });
    await expect(running).rejects.toMatchObject({ code: 'suspension_swallowed' });
  });

  test('has no question whose "no" is an answer', () => {
    expectTypeOf<GateContext['form']>().not.toHaveProperty('yesNo');
    expectTypeOf<GateContext['try']['form']>().toHaveProperty('yesNo');
  });

  test('a refusal is used up: the next call asks again', async () => {
    await using world = await accountWorld();
    const pay = () => world.run(gate => gate.pay(terms));
    await pay();
    world.gateway.end('declined');
    expect(await pay()).not.toHaveProperty('result._meta.dev\\.postern/elicitation');
    await pay();
    expect(world.gateway.elicitations).toHaveLength(3);
  });

  test('a rejected credential that the user does not replace ends the call', async () => {
    await using world = await accountWorld();
    const acme = { name: 'acme', title: 'Key', retention: 'lasting', fields: [{ name: 'key', label: 'Key' }] } as const;
    const call = () =>
      world.run(async gate => {
        const kept = await gate.credential(acme);
        return (await kept.rejected()).values.key;
      });
    await call();
    world.gateway.end('completed');
    await call();
    world.gateway.end('declined');
    expect(await call()).toMatchObject({
      type: 'plain',
      result: { content: [{ text: expect.stringMatching(/declined/) }] },
    });
  });
});

test('a decline is no error result, unless the tool has an output schema; an expiry is one', async () => {
  const results = async (status: 'declined' | 'expired') =>
    await endsAs(status, async gate => {
      const yes = await gate.try.confirm('Send it');
      return yes.action === 'accept' ? undefined : yes.toToolResult().isError;
    });
  expect(await results('declined')).toEqual({ type: 'result', result: undefined });
  expect(await results('expired')).toEqual({ type: 'result', result: true });
});

describe('capabilities', () => {
  test.each([
    ['2026-07-28', { url: {} }, { form: false, url: true }],
    ['2026-07-28', {}, { form: true, url: false }],
    ['2025-11-25', { form: {}, url: {} }, { form: true, url: true }],
    ['2025-11-25', undefined, { form: false, url: false }],
    ['SDK v1', { url: {} }, { form: false, url: true }],
  ] as const)('%s: gate.client reports what the MCP client declared: %j', async (era, elicitation, expected) => {
    const seen: unknown[] = [];
    const handler = async (_args: unknown, ctx: { gate: GateContext }) => {
      seen.push(ctx.gate.client);
      return say('seen');
    };
    await using world = await stdioWorld({
      era,
      elicitation,
      offer: (server, gate) => void server.registerTool('look', {}, gate.tool(handler)),
      offerV1: (server, gate) => void server.registerTool('look', {}, gate.tool(handler)),
    });
    await world.client.callTool({ name: 'look' });
    expect(seen).toEqual([expected]);
  });

  test('one ask may refuse an MCP client that cannot open links, and a handler may catch that', async () => {
    await using world = await accountWorld();
    const outcome = await world.run(async gate => {
      try {
        await gate.try.confirm('Send it', { missingCapability: 'error' });
      } catch (error) {
        if (isElicitationPending(error)) throw error;
        expect(error).toBeInstanceOf(CapabilityMissingError);
      }
      return (await gate.try.authorize('github')).action;
    });
    expect(outcome).toEqual({ type: 'result', result: 'accept' });
  });

  test('one ask may give the link although the gate refuses', async () => {
    await using world = await accountWorld({ missingCapability: 'plain' });
    expect(await world.run(gate => gate.try.pay(terms, { missingCapability: 'error' }))).toHaveProperty(
      'type',
      'plain',
    );
    await using strict = await stdioWorld({
      era: 'SDK v1',
      elicitation: undefined,
      options: { missingCapability: 'error' },
      offerV1: (server, gate) =>
        void server.registerTool(
          'send',
          {},
          gate.tool(async (_args, ctx) => {
            const yes = await ctx.gate.try.confirm('Send it', { missingCapability: 'plain' });
            return say(yes.action);
          }),
        ),
    });
    expect((await strict.client.callTool({ name: 'send' }))._meta).toHaveProperty([ELICITATION_META_KEY]);
  });
});

test('options of a handler are checked when it is wrapped', () => {
  const gate = postern({ url: 'http://127.0.0.1:1', apiKey: API_KEY });
  const handler = async () => say('');
  expect(() => gate.tool({ accounts: { 'no provider': {} } }, handler)).toThrow(
    expect.objectContaining({ code: 'invalid_ask' }),
  );
  const unknown: object = { account: {} };
  expect(() => gate.tool(unknown, handler)).toThrow(
    expect.objectContaining({
      code: 'invalid_options',
      message: expect.stringMatching(/"account".*accounts, name/s),
    }),
  );
  gate.close();
});
