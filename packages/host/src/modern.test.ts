/** Revision 2026-07-28 with a real MCP server and client over HTTP. */
import { inputRequired, inputResponse, type McpServer } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod/v4';
import type { ElicitationHandler } from './elicitation.ts';
import type { HostOptions } from './host-options.ts';
import { accept, decline } from './requests.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { modernWorld } from './testing/modern-world.ts';

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
const nameForm = inputRequired.elicit({ message: 'Who?', requestedSchema: z.object({ name: z.string() }) });
const page = (url: string) => inputRequired.elicitUrl({ message: 'Open it.', url });
const PAGE = 'https://gate.example.com/e/1';
/** Spaces, quotes, an emoji and a broken escape: a host that parses and rewrites the state would change it. */
const STATE = ' v1.{"a": 1,\t"b":"\u{1F511}\\u00e9 "}%zz== ';
const code = (expected: string) => expect.objectContaining({ code: expected });

async function world(
  offer: (mcpServer: McpServer) => void,
  options: Omit<HostOptions, 'mcpServer'>,
  clientOptions?: Parameters<typeof modernWorld>[2],
) {
  const opened = await modernWorld(offer, options, clientOptions);
  onTestFinished(() => opened[Symbol.asyncDispose]());
  const call = async (name: string) => {
    const result = await opened.host.callTool({ name, arguments: {} });
    const [first] = result.content;
    return first?.type === 'text' ? first.text : undefined;
  };
  return { ...opened, call };
}

/** A clock whose short waits resolve at once. */
class BusyClock extends ManualClock {
  override wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    const wait = super.wait(milliseconds, signal);
    if (milliseconds <= 10_000) this.advance(milliseconds);
    return wait;
  }
}

/** Matching takes twice as long for each further character. */
const SLOW = { type: 'string' as const, pattern: '^(a+)+$' };

describe('rounds with elicitations', () => {
  const greet = (mcpServer: McpServer) =>
    void mcpServer.registerTool('greet', {}, ({ mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'who');
      if (answer.kind !== 'elicit') return inputRequired({ inputRequests: { who: nameForm }, requestState: STATE });
      return say(JSON.stringify([answer.action, answer.content, mcpReq.requestState()]));
    });

  test('are answered by the handler, and echo the state unchanged under a new request id', async () => {
    const contexts: unknown[] = [];
    const { call, calls } = await world(greet, {
      handler: async (_request, context) => {
        contexts.push(context);
        return accept({ name: 'Ada' });
      },
    });
    expect(JSON.parse((await call('greet')) ?? '')).toEqual(['accept', { name: 'Ada' }, STATE]);
    expect(calls.map(({ requestState }) => requestState)).toEqual([undefined, STATE]);
    expect(calls.map(({ declared }) => declared)).toEqual([
      { form: {}, url: {} },
      { form: {}, url: {} },
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect(contexts).toEqual([
      expect.objectContaining({ toolName: 'greet', mcpServer: { id: 'issues', claimedName: 'Issue Tracker' } }),
    ]);
  });

  test('return a refusal to the MCP server, which decides how to continue', async () => {
    const { call } = await world(greet, { handler: async () => decline() });
    expect(JSON.parse((await call('greet')) ?? '')).toEqual(['decline', null, STATE]);
  });

  test('send no state if they received none', async () => {
    const stateless = (mcpServer: McpServer) =>
      void mcpServer.registerTool('greet', {}, ({ mcpReq }) =>
        mcpReq.inputResponses === undefined ? inputRequired({ inputRequests: { who: nameForm } }) : say('done'),
      );
    const { call, calls } = await world(stateless, { handler: async () => accept({ name: 'Ada' }) });
    expect(await call('greet')).toBe('done');
    expect(calls.every(({ requestState }) => requestState === undefined)).toBe(true);
  });

  test('with several requests ask for one at a time', async () => {
    const both = (mcpServer: McpServer) =>
      void mcpServer.registerTool('both', {}, ({ mcpReq }) =>
        mcpReq.inputResponses === undefined
          ? inputRequired({ inputRequests: { one: nameForm, two: page(PAGE) } })
          : say(JSON.stringify(mcpReq.inputResponses)),
      );
    let asking = 0;
    let most = 0;
    const handler: ElicitationHandler = async ({ mode }) => {
      most = Math.max(most, ++asking);
      await new Promise(resolve => setImmediate(resolve));
      asking -= 1;
      return mode === 'url' ? accept() : accept({ name: 'Ada' });
    };
    const { call } = await world(both, { handler });
    expect(JSON.parse((await call('both')) ?? '')).toEqual({
      one: { action: 'accept', content: { name: 'Ada' } },
      two: { action: 'accept' },
    });
    expect(most).toBe(1);
  });

  test('fail after the maximum number of rounds', async () => {
    const greedy = (mcpServer: McpServer) =>
      void mcpServer.registerTool('greedy', {}, () => inputRequired({ inputRequests: { who: nameForm } }));
    const { call, calls } = await world(greedy, {
      handler: async () => accept({ name: 'Ada' }),
      limits: { inputRounds: 3 },
    });
    await expect(call('greedy')).rejects.toEqual(code('too_many_rounds'));
    expect(calls).toHaveLength(4);
  });

  test('work with an output schema, which only the final result must satisfy', async () => {
    const structured = (mcpServer: McpServer) =>
      void mcpServer.registerTool('structured', { outputSchema: z.object({ ok: z.boolean() }) }, ({ mcpReq }) =>
        mcpReq.inputResponses === undefined
          ? inputRequired({ inputRequests: { who: nameForm } })
          : { content: [], structuredContent: { ok: true } },
      );
    const { host, client } = await world(structured, { handler: async () => accept({ name: 'Ada' }) });
    await client.listTools();
    const result = await host.callTool({ name: 'structured', arguments: {} });
    expect(result.structuredContent).toEqual({ ok: true });
    const { tools } = await client.listTools();
    const [tool] = tools;
    if (tool === undefined) throw new Error('no tool');
    const other = { ...tool, outputSchema: { type: 'object' as const, required: ['more'] } };
    await expect(host.callTool({ name: 'structured', arguments: {} }, { toolDefinition: other })).rejects.toEqual(
      code('invalid_result'),
    );
  });

  test('S231: never match the patterns of an output schema, which the MCP server can make endless', async () => {
    // Twice as long for each further character.
    const slow = { type: 'string' as const, pattern: '^(a+)+$' };
    const outputSchema = {
      type: 'object' as const,
      properties: { pattern: slow, list: { type: 'array' as const, items: slow } },
      patternProperties: { '^(b+)+$': { type: 'string' as const } },
      additionalProperties: false,
    };
    const text = `${'a'.repeat(20)}!`;
    const structuredContent = { pattern: text, list: [text], [`${'b'.repeat(20)}!`]: text };
    const structured = (mcpServer: McpServer) =>
      void mcpServer.registerTool('structured', {}, () => ({ content: [], structuredContent }));
    const { host, client } = await world(structured, { handler: async () => accept({}) });
    const [tool] = (await client.listTools()).tools;
    if (tool === undefined) throw new Error('no tool');
    const toolDefinition = { ...tool, outputSchema };
    const running = host.callTool({ name: 'structured' }, { toolDefinition });
    await expect(running).resolves.toMatchObject({ structuredContent });
    const strict = { ...toolDefinition, outputSchema: { ...outputSchema, required: ['more'] } };
    await expect(host.callTool({ name: 'structured' }, { toolDefinition: strict })).rejects.toEqual(
      code('invalid_result'),
    );
  });

  test.each<[string, object]>([
    [
      'behind a property that is named like a keyword',
      { properties: { default: SLOW, enum: SLOW, patternProperties: SLOW } },
    ],
    ['behind a reference to an annotation', { default: SLOW, properties: { default: { $ref: '#/default' } } }],
    [
      'behind a reference to a constant',
      { properties: { default: { $ref: '#/$defs/one/const' } }, $defs: { one: { const: SLOW } } },
    ],
  ])('S231: never match a pattern %s', async (_where, rest) => {
    const text = `${'a'.repeat(20)}!`;
    const structuredContent = { default: text, enum: text, patternProperties: text };
    const structured = (mcpServer: McpServer) =>
      void mcpServer.registerTool('structured', {}, () => ({ content: [], structuredContent }));
    const { host, client } = await world(structured, { handler: async () => accept({}) });
    const [tool] = (await client.listTools()).tools;
    if (tool === undefined) throw new Error('no tool');
    const toolDefinition = { ...tool, outputSchema: { type: 'object' as const, ...rest } };
    const outcome = await host.callTool({ name: 'structured' }, { toolDefinition }).then(
      ({ structuredContent: content }) => content,
      (error: unknown) => (error instanceof Error ? error.message : error),
    );
    // An unusable schema fails before any text is matched.
    if (typeof outcome === 'string') expect(outcome).toMatch(/resolve|reference/);
    else expect(outcome).toEqual(structuredContent);
  });

  test('send the headers that the tool requires, even if it requires them only later', async () => {
    let wantsHeader = false;
    const regional = (mcpServer: McpServer) => {
      const region = wantsHeader ? z.string().meta({ 'x-mcp-header': 'Region' }) : z.string();
      mcpServer.registerTool('regional', { inputSchema: z.object({ region }) }, (_args, { mcpReq }) =>
        mcpReq.inputResponses === undefined ? inputRequired({ inputRequests: { who: nameForm } }) : say('done'),
      );
    };
    const { host, calls } = await world(regional, { handler: async () => accept({ name: 'Ada' }) });
    const call = () => host.callTool({ name: 'regional', arguments: { region: 'eu' } });
    await call();
    wantsHeader = true;
    await call();
    const sent = calls.map(({ headers }) => headers.get('mcp-param-region'));
    expect(sent).toEqual([null, null, null, 'eu', 'eu']);
  });

  test('with other input requests are passed to the host', async () => {
    const roots = (mcpServer: McpServer) =>
      void mcpServer.registerTool('roots', {}, ({ mcpReq }) => {
        const answer = inputResponse(mcpReq.inputResponses, 'roots');
        return answer.kind === 'roots'
          ? say(answer.roots.map(({ uri }) => uri).join())
          : inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
      });
    const clientOptions = { capabilities: { roots: {} } };
    const handler: ElicitationHandler = async () => decline();
    const fulfilInput: HostOptions['fulfilInput'] = async ({ method }) => ({
      roots: [{ uri: `file:///${method}`, name: 'r' }],
    });
    expect(await (await world(roots, { handler, fulfilInput }, clientOptions)).call('roots')).toBe(
      'file:///roots/list',
    );
    await expect((await world(roots, { handler }, clientOptions)).call('roots')).rejects.toEqual(
      code('unsupported_input'),
    );
  });
});

describe('rounds without new input', () => {
  /** Requests a page, then sends `rounds` rounds without new input. */
  const waits =
    (rounds: number, again: readonly string[] = []) =>
    (mcpServer: McpServer) =>
      void mcpServer.registerTool('waits', {}, ({ mcpReq }) => {
        const round = Number(mcpReq.requestState<string>() ?? '-1') + 1;
        if (round > rounds) return say(`done after ${round}`);
        const url = round === 0 ? PAGE : again[round - 1];
        return inputRequired({
          requestState: String(round),
          ...(url === undefined ? {} : { inputRequests: { page: page(url) } }),
        });
      });

  test('back off, and continue beyond the limit of the SDK', async () => {
    const clock = new BusyClock();
    const { call, calls } = await world(waits(25), { handler: async () => accept(), clock });
    expect(await call('waits')).toBe('done after 26');
    expect(calls).toHaveLength(27);
    expect(clock.asked.filter(ms => ms <= 10_000)).toEqual([250, 500, 1000, 2000, 4000, ...Array(20).fill(5000)]);
    expect(calls.slice(2).every(({ inputResponses }) => inputResponses === undefined)).toBe(true);
  });

  test('end with the timeout of the call', async () => {
    const clock = new BusyClock();
    const limits = { totalMs: 60_000 };
    const { call, calls } = await world(waits(1000), { handler: async () => accept(), clock, limits });
    await expect(call('waits')).rejects.toEqual(code('call_timeout'));
    expect(calls.length).toBeLessThan(20);
  });

  test('that repeat a URL do not ask again, back off, and are limited', async () => {
    const clock = new BusyClock();
    let asked = 0;
    const handler: ElicitationHandler = async () => {
      asked += 1;
      return accept();
    };
    const again = Array(30).fill(PAGE);
    const patient = await world(waits(3, again), { handler, clock });
    expect(await patient.call('waits')).toBe('done after 4');
    expect(asked).toBe(1);
    expect(clock.asked.filter(ms => ms <= 10_000)).toEqual([250, 500, 1000]);
    expect(patient.calls.slice(1).map(({ inputResponses }) => inputResponses)).toEqual(
      Array(4).fill({ page: { action: 'accept' } }),
    );
    const endless = await world(waits(1000, again), { handler, clock: new BusyClock(), limits: { repeats: 5 } });
    await expect(endless.call('waits')).rejects.toEqual(code('elicitation_loop'));
    expect(endless.calls).toHaveLength(7);
  });

  test('ask the user again for a different URL', async () => {
    const opened: string[] = [];
    const handler: ElicitationHandler = async request => {
      if (request.mode === 'url') opened.push(request.url);
      return accept();
    };
    const { call } = await world(waits(1, ['https://gate.example.com/e/2']), { handler, clock: new BusyClock() });
    await call('waits');
    expect(opened).toEqual([PAGE, 'https://gate.example.com/e/2']);
  });

  test('stop when the caller aborts', async () => {
    const clock = new ManualClock();
    const caller = new AbortController();
    const { host, calls } = await world(waits(9), { handler: async () => accept(), clock });
    const call = host.callTool({ name: 'waits' }, { signal: caller.signal });
    call.catch(() => undefined);
    await clock.untilWaiting(250);
    caller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    expect(calls).toHaveLength(2);
  });
});

test('Client.callTool of the SDK uses the same handler', async () => {
  const greet = (mcpServer: McpServer) =>
    void mcpServer.registerTool('greet', {}, ({ mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'who');
      return answer.kind === 'elicit'
        ? say(JSON.stringify(answer.content))
        : inputRequired({ inputRequests: { who: nameForm } });
    });
  const { client } = await world(greet, { handler: async () => accept({ name: 'Ada' }) });
  expect((await client.callTool({ name: 'greet' })).content).toEqual([{ type: 'text', text: '{"name":"Ada"}' }]);
});
