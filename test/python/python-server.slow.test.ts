/** docs/python/mcp_server.py, with the clients of both SDKs in both eras, and a user at the gateway. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestURLParamsSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { acceptWith, visitorFor } from '../support/asks.ts';
import { declineOnPage } from '../support/person-at-gateway.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

const PYTHON = '/usr/bin/python3';
const HTTPX = '/usr/lib/python3/dist-packages/httpx/__init__.py';
const program = join(import.meta.dirname, '../../docs/python/mcp_server.py');
const isHere = existsSync(PYTHON) && existsSync(HTTPX);

let world: World;
beforeAll(async () => {
  if (isHere) world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const MODERN = '2026-07-28';
let made = 0;
/** A repository that no other test deletes. */
const newRepository = () => {
  made += 1;
  return { repository: `example/attic-${made}` };
};

const launchFor = (user: string, more: Record<string, string> = {}) => ({
  command: PYTHON,
  args: [program],
  env: {
    POSTERN_URL: world.gateways[0]?.address ?? '',
    POSTERN_API_KEY: keyOf('tracker'),
    POSTERN_ISSUER: world.identityProvider.issuer,
    POSTERN_SUBJECT: user,
    ...more,
  },
});

const idIn = (url: string) => new URL(url).pathname.replace('/e/', '');

async function confirm(user: string, url: string): Promise<void> {
  const raw = await visitorFor(world, user, idIn(url));
  expect((await acceptWith(raw, idIn(url))).status).toBe(303);
}
const decline = (user: string, url: string) => declineOnPage(world.raw(), idIn(url), user);

const textOf = (result: unknown) =>
  z.looseObject({ content: z.array(z.looseObject({ text: z.string() })) }).parse(result).content[0]?.text ?? '';

async function connectModern(user: string, openUrl: (url: string) => Promise<void>, urls: string[] = []) {
  const client = new ClientV2(
    { name: 'host', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: MODERN } } },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode !== 'url') return { action: 'cancel' };
    urls.push(params.url);
    await openUrl(params.url);
    return { action: 'accept' };
  });
  await client.connect(new StdioV2(launchFor(user)));
  return client;
}

/** Calls the tool as an SDK v1 client. Resolves with the text, or with the elicitations of error −32042. */
async function connectLegacy(user: string, elicitation: Record<string, object> | undefined) {
  const client = new ClientV1({ name: 'host', version: '1' }, { capabilities: elicitation ? { elicitation } : {} });
  const completed: string[] = [];
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
    completed.push(params.elicitationId);
  });
  await client.connect(new StdioV1(launchFor(user)));
  const call = (args: Record<string, string>) =>
    client.callTool({ name: 'delete_repository', arguments: args }, CallToolResultSchema);
  return { client, completed, call };
}

const requiredSchema = z.looseObject({
  code: z.literal(-32042),
  data: z.object({ elicitations: z.tuple([ElicitRequestURLParamsSchema]) }),
});
async function requiredBy(call: Promise<unknown>) {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return requiredSchema.parse(error).data.elicitations[0];
}

const reason = isHere ? '' : ` (not here: ${PYTHON} has no httpx)`;
describe.skipIf(!isHere)(`an MCP server in plain Python${reason}`, () => {
  test('2026-07-28: holds the retry, and acts when the user has confirmed', async () => {
    const user = world.subject();
    const urls: string[] = [];
    const client = await connectModern(user, url => confirm(user, url), urls);
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['delete_repository']);
      const args = newRepository();
      const result = await client.callTool({ name: 'delete_repository', arguments: args });
      expect(textOf(result)).toBe(`Deleted ${args.repository} (deletion 1 of this process).`);
      expect(urls.length).toBe(1);
      // The same call is another deletion, which needs another confirmation.
      await client.callTool({ name: 'delete_repository', arguments: args });
      expect(new Set(urls).size).toBe(2);
    } finally {
      await client.close();
    }
  });

  test('2026-07-28: a user who declines is reported as such', async () => {
    const user = world.subject();
    const client = await connectModern(user, url => decline(user, url));
    try {
      const result = await client.callTool({ name: 'delete_repository', arguments: newRepository() });
      expect(textOf(result)).toContain('declined');
    } finally {
      await client.close();
    }
  });

  test('2025-11-25: fails with −32042, sends the notice, and acts on the repeated call', async () => {
    const user = world.subject();
    const { client, completed, call } = await connectLegacy(user, { url: {} });
    try {
      const args = newRepository();
      const asked = await requiredBy(call(args));
      expect(idIn(asked.url)).toBe(asked.elicitationId);
      expect((await requiredBy(call(args))).elicitationId).toBe(asked.elicitationId);
      expect(completed).toEqual([]);
      await confirm(user, asked.url);
      await expect.poll(() => completed).toEqual([asked.elicitationId]);
      expect(textOf(await call(args))).toContain(`Deleted ${args.repository}`);
      const again = await requiredBy(call(args));
      expect(again.elicitationId).not.toBe(asked.elicitationId);
      await decline(user, again.url);
      await expect.poll(() => completed.length).toBe(2);
      expect(textOf(await call(args))).toContain('declined');
    } finally {
      await client.close();
    }
  });

  test.each([[undefined], [{}], [{ form: {} }]])('2025-11-25, %j: answers with a plain link', async elicitation => {
    const user = world.subject();
    const { client, call } = await connectLegacy(user, elicitation);
    try {
      const args = newRepository();
      const [url = ''] = /http\S+/.exec(textOf(await call(args))) ?? [];
      await confirm(user, url);
      expect(textOf(await call(args))).toContain(`Deleted ${args.repository}`);
    } finally {
      await client.close();
    }
  });
});

/** The program without an SDK in between, for messages that no SDK sends. */
class RawPeer implements Disposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #id = 0;

  constructor(user: string, env: Record<string, string> = {}) {
    const launch = launchFor(user, env);
    this.#child = spawn(launch.command, launch.args, { env: launch.env, stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('no output');
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async sendLine(line: string): Promise<Answer> {
    this.#child.stdin?.write(`${line}\n`);
    const { value } = await this.#lines.next();
    return answerSchema.parse(JSON.parse(String(value)));
  }

  /** A call of revision 2026-07-28 with URL mode. */
  call(args: unknown, more: Record<string, unknown> = {}, version = MODERN): Promise<Answer> {
    this.#id += 1;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
    };
    const params = { name: 'delete_repository', arguments: args, _meta, ...more };
    return this.sendLine(JSON.stringify({ jsonrpc: '2.0', id: this.#id, method: 'tools/call', params }));
  }

  [Symbol.dispose](): void {
    this.#child.kill();
  }
}

const answerSchema = z.looseObject({
  error: z.looseObject({ code: z.number() }).optional(),
  result: z
    .looseObject({
      resultType: z.string(),
      requestState: z.string().optional(),
      inputRequests: z.record(z.string(), z.object({ params: z.looseObject({ url: z.string() }) })).optional(),
    })
    .optional(),
});
type Answer = z.infer<typeof answerSchema>;

describe.skipIf(!isHere)(`the requestState of the Python example${reason}`, () => {
  const accept = { inputResponses: { confirmation: { action: 'accept' } } };

  async function asked(peer: RawPeer) {
    const args = newRepository();
    const { result } = await peer.call(args);
    const url = result?.inputRequests?.['confirmation']?.params.url ?? '';
    return { args, url, requestState: result?.requestState ?? '' };
  }

  test('is refused if it is forged, or was made for other arguments', async () => {
    using peer = new RawPeer(world.subject(), { HOLD_SECONDS: '0' });
    const { args, requestState } = await asked(peer);
    const [body = '', signature = ''] = requestState.split('.');
    const changed = Buffer.from(body, 'base64url').toString().replace('"rounds": 1', '"rounds": 0');
    const forged = [
      ...['', '.', 'é.é', body, `${body}.`, `${body}.${'0'.repeat(64)}`, `.${signature}`],
      `${Buffer.from(changed).toString('base64url')}.${signature}`,
      ...[null, 5, {}, ['x']],
    ];
    for (const state of forged)
      expect((await peer.call(args, { ...accept, requestState: state })).error?.code, String(state)).toBe(-32602);
    expect((await peer.call(newRepository(), { ...accept, requestState })).error?.code).toBe(-32602);
    using other = new RawPeer(world.subject(), { HOLD_SECONDS: '0' });
    expect((await other.call(args, { ...accept, requestState })).error?.code).toBe(-32602);
    expect((await peer.call(args, { ...accept, requestState })).result?.resultType).toBe('input_required');
  });

  test('gives one effect, however often it is sent', async () => {
    const user = world.subject();
    using peer = new RawPeer(user);
    const { args, url, requestState } = await asked(peer);
    await confirm(user, url);
    const first = await peer.call(args, { ...accept, requestState });
    expect(textOf(first.result)).toContain('deletion 1 ');
    const second = await peer.call(args, { ...accept, requestState });
    expect(textOf(second.result)).toBe(textOf(first.result));
  });

  test('carries later rounds alone, ends them with a link, and outlives a client that does not open the page', async () => {
    const user = world.subject();
    using peer = new RawPeer(user, { HOLD_SECONDS: '0' });
    const { args, url, requestState } = await asked(peer);
    const cancelled = await peer.call(args, {
      inputResponses: { confirmation: { action: 'cancel' } },
      requestState,
    });
    expect(cancelled.result).toMatchObject({ resultType: 'complete', isError: false });
    let state = requestState;
    for (let round = 2; round <= 6; round += 1) {
      const { result } = await peer.call(args, { ...(round === 2 && accept), requestState: state });
      expect(result).toMatchObject({ resultType: 'input_required' });
      expect(result).not.toHaveProperty('inputRequests');
      state = result?.requestState ?? '';
    }
    const last = await peer.call(args, { requestState: state });
    expect(last.result?.resultType).toBe('complete');
    expect(textOf(last.result)).toContain(url);
    await confirm(user, url);
    expect(textOf((await peer.call(args)).result)).toContain(`Deleted ${args.repository}`);
  });

  test('other messages get the errors of the protocol', async () => {
    using peer = new RawPeer(world.subject());
    const code = async (line: string) => (await peer.sendLine(line)).error?.code;
    expect(await code('{')).toBe(-32700);
    expect(await code('['.repeat(100_000))).toBe(-32700);
    expect(await code('[]')).toBe(-32600);
    expect(await code('{"jsonrpc":"2.0","id":1,"method":"nothing"}')).toBe(-32601);
    expect((await peer.call({ repository: '../etc' })).error?.code).toBe(-32602);
    expect((await peer.call({ repository: 'a/b', more: 1 })).error?.code).toBe(-32602);
    expect((await peer.call({ repository: 'a/b' }, {}, '2099-01-01')).error?.code).toBe(-32022);
  });
});
