import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { RequestedSchema } from '@postern/api';
import { z } from 'zod/v4';
import { type Gate, type PosternOptions, postern } from '../index.ts';
import { ACCESS_TOKEN } from './contract-connections.ts';
import { API_KEY, ContractGateway } from './contract-gateway.ts';
import { McpHttpServer } from './mcp-http-server.ts';
import { outcome } from './outcome-tool.ts';

const REVISION = '2026-07-28';

/** Of the MCP server itself, for tools that no gate wraps. */
const ownCodec = createRequestStateCodec<{ price: number }>({ key: new Uint8Array(32).fill(7) });

/** Tools that return exactly what the handler received. */
export function exampleServer(shared: Gate): McpServer {
  const server = new McpServer(
    { name: 'issues', version: '1.0.0' },
    {
      requestState: {
        verify: async (state, ctx) => (await shared.verifyRequestState(state, ctx)) ?? ownCodec.verify(state, ctx),
      },
    },
  );
  const gate = shared.attach(server);
  const inputSchema = z.object({ title: z.string() });
  const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });

  server.registerTool(
    'create_issue',
    { inputSchema },
    gate.tool(async ({ title }, ctx) => {
      const github = await ctx.gate.authorize('github', { scopes: ['repo'] });
      return say(`created ${title} with ${(await github.accessToken()).startsWith(ACCESS_TOKEN)}`);
    }),
  );
  server.registerTool(
    'outcome',
    { inputSchema },
    gate.tool((args: { title: string }, ctx) => outcome(ctx.gate, args)),
  );
  server.registerTool('not_wrapped', { inputSchema }, async (_args, ctx) => {
    const state = ctx.mcpReq.requestState<{ price: number }>();
    if (state !== undefined) return say(`price ${state.price}`);
    return inputRequired({ requestState: await ownCodec.mint({ price: 100 }, ctx) });
  });
  server.registerTool(
    'two_accounts',
    {},
    gate.tool(async (_args, ctx) => {
      const first = await ctx.gate.authorize('github');
      const second = await ctx.gate.authorize('gitlab');
      return say(`${first.action} ${second.action}`);
    }),
  );
  server.registerTool(
    'swallows',
    {},
    gate.tool(async (_args, ctx) => {
      await ctx.gate.authorize('github').catch(() => undefined);
      return say('went on');
    }),
  );
  server.registerTool(
    'wraps',
    {},
    gate.tool(async (_args, ctx) => {
      try {
        return say((await ctx.gate.authorize('github')).action);
      } catch (cause) {
        throw new Error('wrapped', { cause });
      }
    }),
  );
  server.registerTool(
    'structured',
    { inputSchema, outputSchema: z.object({ ok: z.boolean() }) },
    gate.tool(async (_args, ctx) => {
      await ctx.gate.authorize('github');
      return { content: [], structuredContent: { ok: true } };
    }),
  );
  return server;
}

export interface RawCall {
  readonly name: string;
  readonly args?: Record<string, unknown>;
  readonly elicitation?: Record<string, unknown> | null;
  readonly inputResponses?: Record<string, unknown>;
  readonly requestState?: string | undefined;
  /** The bearer token, which is the subject; null sends none. */
  readonly subject?: string | null;
  readonly progressToken?: number;
  readonly signal?: AbortSignal;
  /** Added to the `_meta` of the request. */
  readonly meta?: Readonly<Record<string, string>>;
}

export interface RawAnswer {
  readonly httpStatus: number;
  readonly frames: string;
  readonly notifications: Record<string, unknown>[];
  readonly result: {
    readonly resultType?: string;
    readonly isError?: boolean;
    readonly content?: { readonly text: string }[];
    readonly requestState?: string;
    readonly inputRequests?: Record<
      string,
      { params: { mode: string; url: string; message: string; requestedSchema: RequestedSchema } }
    >;
    readonly _meta?: Record<string, unknown>;
  };
  readonly error: { code: number; message: string; data?: Record<string, unknown> } | undefined;
}

/** An MCP server of this package behind the real SDK, and raw requests of revision 2026-07-28 to it. */
export async function modernWorld(options: Partial<PosternOptions<ServerContext>> = {}) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await ContractGateway.start());
  const gate = postern({ url: gateway.url, apiKey: API_KEY, ...options });
  const handler = createMcpHandler(() => exampleServer(gate));
  stack.defer(() => handler.close());
  const mcp = stack.use(await McpHttpServer.start(toNodeHandler(handler)));
  let nextId = 0;

  async function call({ name, args = { title: 'Broken' }, ...request }: RawCall): Promise<RawAnswer> {
    nextId += 1;
    const elicitation = request.elicitation === undefined ? { form: {}, url: {} } : request.elicitation;
    const response = await fetch(mcp.url, {
      method: 'POST',
      signal: request.signal ?? null,
      headers: {
        ...(request.subject === null ? {} : { authorization: `Bearer ${request.subject ?? 'alice'}` }),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': REVISION,
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: nextId,
        method: 'tools/call',
        params: {
          name,
          arguments: args,
          inputResponses: request.inputResponses,
          requestState: request.requestState,
          _meta: {
            ...request.meta,
            ...(request.progressToken === undefined ? {} : { progressToken: request.progressToken }),
            'io.modelcontextprotocol/protocolVersion': REVISION,
            'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1.0.0' },
            'io.modelcontextprotocol/clientCapabilities': elicitation === null ? {} : { elicitation },
          },
        },
      }),
    });
    const frames = await response.text();
    const messages = frames.startsWith('{')
      ? [JSON.parse(frames)]
      : [...frames.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
    const answer = messages.find(message => 'id' in message);
    const notifications = messages.filter(message => !('id' in message));
    return { httpStatus: response.status, frames, notifications, result: answer?.result ?? {}, error: answer?.error };
  }

  return { gateway, gate, mcp, call, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

export const accepted = { gate: { action: 'accept' } };

/** Calls the tool `outcome` with the script `title`: for the first time, or as the retry after `before`. */
export const callOutcome = (
  world: Pick<Awaited<ReturnType<typeof modernWorld>>, 'call'>,
  title: string,
  before?: RawAnswer,
  inputResponses: Record<string, unknown> = accepted,
): Promise<RawAnswer> =>
  world.call({
    name: 'outcome',
    args: { title },
    ...(before === undefined ? {} : { inputResponses, requestState: before.result.requestState }),
  });
export const textOf = (answer: RawAnswer) => answer.result.content?.[0]?.text;
