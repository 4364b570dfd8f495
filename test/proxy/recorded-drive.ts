import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioClientTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as StreamableHTTPClientTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

/** SDK 2 in the era of `modern` speaks 2026-07-28 with a server that can. */
export type Sdk = 'v1' | 'v2' | 'modern';

/** Where a server is. */
export type Target =
  | URL
  | { readonly command: readonly string[]; readonly env: Record<string, string>; readonly stderr: 'ignore' };

/** What a server is driven with. */
export interface Script {
  /** Arguments for tools that need some. Undefined: the tool is not called, because it takes long or changes from call to call. */
  readonly samples: Readonly<Record<string, object | undefined>>;
  readonly promptArguments: Readonly<Record<string, string>>;
  /** The name of an argument of a prompt that the server completes. */
  readonly completion?: { readonly prompt: string; readonly argument: string; readonly value: string };
  readonly missingResource: string;
  /** A folder that the MCP client offers. */
  readonly root: string;
  /** What a user answers. */
  readonly elicited?:
    | { readonly action: 'decline' }
    | { readonly action: 'accept'; readonly content: { [name: string]: string } };
  /** Its notifications come by the clock or at random, and are left out. It may ask the same twice, which counts once. */
  readonly isTalkative?: boolean;
  /** A tool that logs {@link WARM}: whatever is told outside of a call needs a stream that the MCP client has opened. */
  readonly warmUp?: string;
}

/** What tools for {@link Script.warmUp} log. */
export const WARM = 'warm';

const info = { name: 'host', version: '1.0.0' };
const capabilities = { sampling: {}, roots: { listChanged: true }, elicitation: { form: {}, url: {} } };

/** An MCP client, and what the server has asked and told it. */
interface Recorded {
  readonly client: Client | ClientV1;
  readonly asked: readonly unknown[];
  readonly told: readonly unknown[];
}

async function connect(
  sdk: Sdk,
  target: Target,
  { root, elicited = { action: 'decline' } }: Script,
): Promise<Recorded> {
  const asked: unknown[] = [];
  const told: unknown[] = [];
  const noted =
    <Result>(result: Result) =>
    async ({ method, params }: { method: string; params?: object | undefined }): Promise<Result> => {
      asked.push({ method, params });
      return result;
    };
  const sampling = noted({
    role: 'assistant' as const,
    model: 'none',
    content: { type: 'text' as const, text: 'sampled' },
  });
  const roots = noted({ roots: [{ uri: `file://${root}`, name: 'notes' }] });
  const elicitation = noted(elicited);
  const note = async (notification: unknown) => void told.push(notification);
  if (sdk === 'v1') {
    const client = new ClientV1(info, { capabilities });
    client.setRequestHandler(CreateMessageRequestSchema, sampling);
    client.setRequestHandler(ListRootsRequestSchema, roots);
    client.setRequestHandler(ElicitRequestSchema, elicitation);
    client.fallbackNotificationHandler = note;
    await client.connect(
      target instanceof URL ? new StreamableHTTPClientTransportV1(target) : new StdioClientTransportV1(stdio(target)),
    );
    return { client, asked, told };
  }
  const versionNegotiation = { mode: sdk === 'modern' ? ('auto' as const) : ('legacy' as const) };
  const client = new Client(info, { capabilities, versionNegotiation });
  client.setRequestHandler('sampling/createMessage', sampling);
  client.setRequestHandler('roots/list', roots);
  client.setRequestHandler('elicitation/create', elicitation);
  client.fallbackNotificationHandler = note;
  await client.connect(
    target instanceof URL ? new StreamableHTTPClientTransport(target) : new StdioClientTransport(stdio(target)),
  );
  return { client, asked, told };
}

function stdio({ command: [command = '', ...args], ...rest }: Exclude<Target, URL>) {
  return { command, args, ...rest };
}

/** Without times and random ids of the server. */
const steady = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null).replaceAll(/\d{1,2}:\d\d:\d\d[^"]{0,20}|[0-9a-f]{8}-[0-9a-f-]{27}/g, '…'));

/** Calls every method that the server offers, and returns what came back. */
export async function drive(sdk: Sdk, target: Target, script: Script): Promise<readonly unknown[]> {
  const { client, asked, told } = await connect(sdk, target, script);
  const seen: unknown[] = [client.getServerCapabilities(), client.getServerVersion(), client.getInstructions()];
  const record = async (what: string, work: () => Promise<unknown>) => {
    const outcome = await work().catch((error: { code?: number; message: string }) => ({
      ...error,
      message: error.message,
    }));
    seen.push([what, steady(outcome)]);
  };
  const { tools = [], resources, prompts, completions, logging } = client.getServerCapabilities() ?? {};
  if (logging !== undefined && sdk !== 'modern') await record('level', () => client.setLoggingLevel('debug'));
  if (script.warmUp !== undefined) await warmUp(client, script.warmUp, told);
  if (tools !== undefined) {
    const listed = await client.listTools();
    seen.push(listed);
    for (const { name } of listed.tools) {
      if (name === script.warmUp || (name in script.samples && script.samples[name] === undefined)) continue;
      const progress: unknown[] = [];
      const onprogress = (each: unknown) => progress.push(each);
      await record(name, () => callTool(client, name, { ...script.samples[name] }, onprogress));
      // The SDK may drop the last one, which arrives with the result.
      seen.push(progress.slice(0, 1));
    }
    await record('missing tool', () => callTool(client, 'missing_tool', {}));
  }
  if (sdk !== 'modern') await record('ping', () => client.ping());
  if (resources !== undefined) {
    await record('templates', () => client.listResourceTemplates());
    const listed = await client.listResources();
    seen.push(listed);
    for (const { uri } of listed.resources.slice(0, 3)) {
      await record(uri, () => client.readResource({ uri }));
      if (sdk === 'modern') continue;
      await record(uri, () => client.subscribeResource({ uri }));
      await record(uri, () => client.unsubscribeResource({ uri }));
    }
    await record('missing', () => client.readResource({ uri: script.missingResource }));
  }
  if (prompts !== undefined) {
    const listed = await client.listPrompts();
    seen.push(listed);
    for (const { name } of listed.prompts) {
      await record(name, () => client.getPrompt({ name }));
      await record(name, () => client.getPrompt({ name, arguments: { ...script.promptArguments } }));
    }
  }
  if (completions !== undefined && script.completion !== undefined) {
    const { prompt, argument, value } = script.completion;
    const ref = { type: 'ref/prompt' as const, name: prompt };
    await record('complete', () => client.complete({ ref, argument: { name: argument, value } }));
  }
  await client.close();
  const notes = script.isTalkative === true ? [] : told.filter(each => !JSON.stringify(each).includes(WARM));
  const distinct = new Set(asked.map(each => JSON.stringify(steady(each))));
  const asks = script.isTalkative === true ? [...distinct] : steady(asked);
  return [...seen, { asked: asks, told: steady(notes) }];
}

function callTool(client: Client | ClientV1, name: string, args: object, onprogress?: (each: unknown) => void) {
  const call = { name, arguments: { ...args } };
  const options = onprogress === undefined ? {} : { onprogress };
  return client instanceof Client ? client.callTool(call, options) : client.callTool(call, undefined, options);
}

/** @throws {Error} if nothing comes */
async function warmUp(client: Client | ClientV1, tool: string, told: readonly unknown[]): Promise<void> {
  for (let calls = 0; told.length === 0; calls += 1) {
    if (calls === 1_000) throw new Error('no stream for what belongs to no call');
    await callTool(client, tool, {});
  }
}
