/** Output schemas and results of a hostile MCP server, with the real clients of both SDKs, in each era. */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as InMemoryTransportV1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HostOptions } from './host-options.ts';
import { decline } from './requests.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { attachHostV1 } from './v1/attach-host.ts';
import { attachHost } from './v2/attach-host.ts';

interface Message {
  readonly id?: string | number;
  readonly method?: string;
}
interface Peer {
  onmessage?: (message: Message) => void;
  send(message: object): Promise<void>;
  start(): Promise<void>;
}
interface Output {
  outputSchema?: object;
  structuredContent?: unknown;
  /** Whether it answers tools/list: with −32601, or never. */
  list?: 'unknown' | 'hangs';
}

const INFO = { serverInfo: { name: 'evil', version: '1' }, capabilities: { tools: {} } };
const META = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

/** Answers as `output` says at the time. @returns the methods that it was asked for */
async function hostilePeer(far: Peer, isModern: boolean, output: Output): Promise<string[]> {
  const asked: string[] = [];
  const answers: Record<string, () => object | undefined> = {
    'server/discover': () => (isModern ? { ...META, ...INFO, supportedVersions: ['2026-07-28'] } : undefined),
    initialize: () => ({ ...INFO, protocolVersion: '2025-11-25' }),
    'tools/list': () =>
      output.list === 'unknown'
        ? undefined
        : { ...META, tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema: output.outputSchema }] },
    'tools/call': () => ({ ...META, content: [], structuredContent: output.structuredContent }),
  };
  far.onmessage = ({ id, method = '' }) => {
    asked.push(method);
    if (id === undefined || (method === 'tools/list' && output.list === 'hangs')) return;
    const result = answers[method]?.();
    const answer = result === undefined ? { error: { code: -32601, message: 'no' } } : { result };
    void far.send({ jsonrpc: '2.0', id, ...JSON.parse(JSON.stringify(answer)) });
  };
  await far.start();
  return asked;
}

async function joinV2(isModern: boolean, output: Output, options: Partial<HostOptions>) {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const host = attachHost(client, { handler: async () => decline(), mcpServer: { id: 'evil' }, ...options });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const asked = await hostilePeer(far as unknown as Peer, isModern, output);
  await client.connect(near);
  onTestFinished(() => client.close());
  const call = (signal?: AbortSignal) =>
    host.callTool({ name: 't', arguments: {} }, signal === undefined ? {} : { signal });
  return { call, asked, listTools: () => client.listTools() };
}

async function joinV1(output: Output, options: Partial<HostOptions>) {
  const client = new ClientV1({ name: 'host', version: '1' });
  const host = attachHostV1(client, { handler: async () => decline(), mcpServer: { id: 'evil' }, ...options });
  const [near, far] = InMemoryTransportV1.createLinkedPair();
  const asked = await hostilePeer(far as unknown as Peer, false, output);
  await client.connect(near);
  onTestFinished(() => client.close());
  const call = (signal?: AbortSignal) =>
    host.callTool({ name: 't', arguments: {} }, signal === undefined ? {} : { signal });
  return { call, asked, listTools: () => client.listTools() };
}

const worlds = {
  'SDK v2 by 2026-07-28': (output: Output, options = {}) => joinV2(true, output, options),
  'SDK v2 by 2025-11-25': (output: Output, options = {}) => joinV2(false, output, options),
  'SDK v1': (output: Output, options = {}) => joinV1(output, options),
} satisfies Record<
  string,
  (output: Output, options?: Partial<HostOptions>) => ReturnType<typeof joinV1 | typeof joinV2>
>;

const schemaOf = (a: object) => ({ type: 'object', properties: { a } });
const code = (expected: string) => expect.objectContaining({ code: expected });

describe.each(Object.entries(worlds))('the output of a tool with %s', (_world, join) => {
  test.each([false, true])('is validated, whether the client has listed the tools or not: %s', async isListed => {
    const output: Output = { outputSchema: schemaOf({ type: 'string' }), structuredContent: { a: 'x' } };
    const { call, listTools } = await join(output);
    if (isListed) await listTools();
    await expect(call()).resolves.toMatchObject({ structuredContent: { a: 'x' } });
    output.structuredContent = { a: 1 };
    await expect(call()).rejects.toEqual(code('invalid_result'));
    output.structuredContent = undefined;
    await expect(call()).rejects.toEqual(code('invalid_result'));
  });

  test('S231: is not matched with patterns, even once the client has listed the tools', async () => {
    // Each further character doubles the time.
    const structuredContent = { a: `${'a'.repeat(20)}!` };
    const { call, listTools } = await join({
      outputSchema: schemaOf({ type: 'string', pattern: '^(a+)+$' }),
      structuredContent,
    });
    await listTools();
    await expect(call()).resolves.toMatchObject({ structuredContent });
  });

  test('S231: is refused before the call if a schema takes too long for any content', async () => {
    const twice = (level: number) => ({ anyOf: [{ $ref: `#/$defs/d${level}` }, { $ref: `#/$defs/d${level}` }] });
    const $defs = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`d${at}`, twice(at + 1)]));
    const outputSchema = { ...schemaOf(twice(0)), $defs: { ...$defs, d40: { type: 'string' } } };
    const { call, asked, listTools } = await join({ outputSchema, structuredContent: { a: {} } });
    await listTools();
    await expect(call()).rejects.toEqual(code('invalid_result'));
    expect(asked).not.toContain('tools/call');
  });

  test('is validated by the newest schema, if it violates the known one', async () => {
    const output: Output = { outputSchema: schemaOf({ type: 'string' }), structuredContent: { a: 'x' } };
    const { call, asked } = await join(output);
    await call();
    Object.assign(output, { outputSchema: schemaOf({ type: 'integer' }), structuredContent: { a: 1 } });
    await expect(call()).resolves.toMatchObject({ structuredContent: { a: 1 } });
    expect(asked.filter(method => method === 'tools/list')).toHaveLength(2);
  });

  test('is not validated if the MCP server lists no tools, which is asked once', async () => {
    const { call, asked } = await join({ list: 'unknown', structuredContent: { a: 1 } });
    await call();
    await expect(call()).resolves.toMatchObject({ structuredContent: { a: 1 } });
    expect(asked.filter(method => method === 'tools/list')).toHaveLength(1);
  });

  test('S231: waits for a list of tools within the limits of the call only', async () => {
    const clock = new ManualClock();
    const { call, asked } = await join({ list: 'hangs' }, { clock, limits: { totalMs: 60_000 } });
    const late = call();
    late.catch(() => undefined);
    await clock.untilWaiting(60_000);
    clock.advance(60_000);
    const aborted = call(AbortSignal.abort(new Error('enough')));
    aborted.catch(() => undefined);
    const turn = new Promise(resolve => setImmediate(resolve, 'still waiting'));
    await expect(Promise.race([late, turn])).rejects.toEqual(code('call_timeout'));
    await expect(Promise.race([aborted, turn])).rejects.toThrow('enough');
    expect(asked).not.toContain('tools/call');
  });
});
