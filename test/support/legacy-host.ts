import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { createCondition } from './condition.ts';

export interface UrlRequest {
  readonly elicitationId: string;
  readonly url: string;
  readonly message: string;
}
export type ClientAction = 'accept' | 'decline' | 'cancel';

export interface LegacyHostOptions {
  readonly subject: string;
  /** Default: form and URL mode. */
  readonly capabilities?: Record<string, object>;
  /** Responds to a pushed `elicitation/create`. */
  readonly elicit?: (request: UrlRequest) => ClientAction | Promise<ClientAction>;
}

export interface LegacyAnswer {
  readonly text: string | undefined;
  readonly error: { readonly code: number; readonly data: Record<string, unknown> } | undefined;
}

/** An MCP client of revision 2025-11-25 on the official SDK (1.x), with an open session and an open GET stream. */
export interface LegacyHost extends AsyncDisposable {
  readonly sessionId: string | undefined;
  /** All received messages, as JSON. */
  readonly wire: readonly string[];
  /** Elicitation ids of the completion notices so far. */
  readonly completions: readonly string[];
  /** The first pushed `elicitation/create`. For hosts with {@link LegacyHostOptions.elicit}. */
  readonly asked: Promise<UrlRequest>;
  untilCompleted(count: number): Promise<void>;
  /** Resolves after `count` `notifications/tools/list_changed`. Earlier messages of the stream have then arrived. */
  untilToolsChanged(count: number): Promise<void>;
  call(tool: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<LegacyAnswer>;
}

const errorSchema = z.object({ code: z.number(), data: z.record(z.string(), z.unknown()).default({}) });

export async function connectLegacyHost(url: URL, options: LegacyHostOptions): Promise<LegacyHost> {
  const { promise: streaming, resolve: onStream } = Promise.withResolvers<void>();
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${options.subject}` } },
    // The SDK opens the session's GET stream in the background, without an event when it is open.
    fetch: async (target, init) => {
      const response = await fetch(target, init);
      if (init?.method === 'GET') onStream();
      return response;
    },
  });
  const client = new Client(
    { name: 'Conformance Host', version: '1.0.0' },
    { capabilities: options.capabilities ?? { elicitation: { form: {}, url: {} } } },
  );
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<UrlRequest>();
  const { elicit } = options;
  if (elicit !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      if (params.mode !== 'url') return { action: 'cancel' as const };
      onAsked(params);
      return { action: await elicit(params) };
    });
  }
  await client.connect(transport);

  const wire: string[] = [];
  const arrivals = new Map<string, string[]>();
  const notified = createCondition();
  const deliver = transport.onmessage;
  transport.onmessage = (message: JSONRPCMessage) => {
    wire.push(JSON.stringify(message));
    if ('method' in message && !('id' in message)) {
      const ids = arrivals.get(message.method) ?? [];
      arrivals.set(message.method, [...ids, String(message.params?.['elicitationId'] ?? '')]);
      notified.notify();
    }
    deliver?.(message);
  };
  const arrived = (method: string) => arrivals.get(method) ?? [];
  const until = (method: string, count: number) => notified.until(() => arrived(method).length >= count);
  await streaming;

  return {
    get sessionId() {
      return transport.sessionId;
    },
    wire,
    asked,
    get completions() {
      return arrived('notifications/elicitation/complete');
    },
    untilCompleted: count => until('notifications/elicitation/complete', count),
    untilToolsChanged: count => until('notifications/tools/list_changed', count),
    async call(tool, args = {}, signal) {
      try {
        const result = CallToolResultSchema.parse(
          await client.callTool(
            { name: tool, arguments: args },
            CallToolResultSchema,
            signal === undefined ? {} : { signal },
          ),
        );
        const [first] = result.content;
        return { text: first?.type === 'text' ? first.text : undefined, error: undefined };
      } catch (error) {
        const refused = errorSchema.safeParse(error);
        if (!refused.success) throw error;
        return { text: undefined, error: refused.data };
      }
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const elicitationsSchema = z.object({
  elicitations: z
    .array(z.strictObject({ mode: z.literal('url'), elicitationId: z.string(), url: z.url(), message: z.string() }))
    .length(1),
});

/** Returns the single elicitation of a −32042 error. @throws for any other response */
export function elicitationOf(answer: LegacyAnswer): UrlRequest {
  if (answer.error?.code !== -32042) throw new Error(`not −32042: ${JSON.stringify(answer)}`);
  const [elicitation] = z.strictObject(elicitationsSchema.shape).parse(answer.error.data).elicitations;
  if (elicitation === undefined) throw new Error('no elicitation');
  return elicitation;
}
