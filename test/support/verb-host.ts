import {
  type ClientCapabilities,
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { VerbArgs, VerbTool } from './verb-tools.ts';

export type ElicitationAction = 'accept' | 'decline' | 'cancel';
export interface Filled {
  readonly action: ElicitationAction;
  readonly content?: Record<string, string | number | boolean | string[]>;
}

export type DeclaredModes = NonNullable<ClientCapabilities['elicitation']>;

export interface VerbHostOptions {
  readonly sdk: 'v2' | 'v1';
  readonly revision: '2026-07-28' | '2025-11-25';
  readonly subject: string;
  /** Undefined declares nothing. */
  readonly elicitation: DeclaredModes | undefined;
  /** Returns whether the URL was opened. */
  readonly openUrl: (url: string) => ElicitationAction;
  readonly fillForm: (requestedSchema: unknown) => Filled;
  /** Default: the machine's clock. */
  readonly fetch?: typeof fetch;
}

export interface VerbAnswer {
  readonly text: string | undefined;
  /** Link to the page in a plain result. */
  readonly link: string | undefined;
  readonly error: { readonly code: number; readonly data: unknown } | undefined;
}

/** An MCP client on one of the official SDKs. The test plays its user. */
export interface VerbHost extends AsyncDisposable {
  call(tool: VerbTool, args: VerbArgs): Promise<VerbAnswer>;
  /** All messages in both directions, as JSON. */
  readonly frames: readonly string[];
  /** Ids of the completion notices so far. */
  readonly completions: readonly string[];
  untilCompleted(elicitationId: string): Promise<void>;
}

interface Completions {
  readonly ids: string[];
  add(elicitationId: string): void;
  until(elicitationId: string): Promise<void>;
}

function createCompletions(): Completions {
  const ids: string[] = [];
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  return {
    ids,
    add(elicitationId) {
      ids.push(elicitationId);
      waiting.get(elicitationId)?.resolve();
    },
    async until(elicitationId) {
      if (ids.includes(elicitationId)) return;
      const one = waiting.get(elicitationId) ?? Promise.withResolvers<void>();
      waiting.set(elicitationId, one);
      await one.promise;
    },
  };
}

const info = { name: 'Conformance Host', version: '1.0.0' };

export async function connectVerbHost(url: URL, options: VerbHostOptions): Promise<VerbHost> {
  const completions = createCompletions();
  const frames: string[] = [];
  const { promise: streaming, resolve: onStream } = Promise.withResolvers<void>();
  const { fetch: send = fetch } = options;
  const transportOptions = {
    requestInit: { headers: { authorization: `Bearer ${options.subject}` } },
    // The SDKs open the session's GET stream in the background, without an event when it is open.
    fetch: async (target: string | URL, init?: RequestInit) => {
      const response = await send(target, init);
      if (init?.method === 'GET') onStream();
      return response;
    },
  };
  const connected = await (options.sdk === 'v2' ? connectV2 : connectV1)({
    url,
    options,
    completions,
    frames,
    transportOptions,
  });
  if (options.revision === '2025-11-25') await streaming;
  return {
    frames,
    completions: completions.ids,
    untilCompleted: completions.until,
    call: async (tool, args) => await answerOf(connected.call(tool, args)),
    [Symbol.asyncDispose]: connected.close,
  };
}

interface Connecting {
  readonly url: URL;
  readonly options: VerbHostOptions;
  readonly completions: Completions;
  readonly frames: string[];
  readonly transportOptions: {
    requestInit: RequestInit;
    fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  };
}
interface Connected {
  call(tool: VerbTool, args: VerbArgs): Promise<unknown>;
  close(): Promise<void>;
}

async function connectV2({ url, options, completions, frames, transportOptions }: Connecting): Promise<Connected> {
  const { elicitation, revision } = options;
  const client = new ClientV2(info, {
    capabilities: elicitation === undefined ? {} : { elicitation },
    versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' },
  });
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
    completions.add(params.elicitationId),
  );
  if (elicitation !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) =>
      params.mode === 'url' ? { action: options.openUrl(params.url) } : { ...options.fillForm(params.requestedSchema) },
    );
  const transport = new TransportV2(url, transportOptions);
  await client.connect(transport);
  record(transport, frames);
  return {
    call: (name, args) => client.callTool({ name, arguments: { ...args } }),
    close: () => client.close(),
  };
}

async function connectV1({ url, options, completions, frames, transportOptions }: Connecting): Promise<Connected> {
  const { elicitation } = options;
  const client = new ClientV1(info, { capabilities: elicitation === undefined ? {} : { elicitation } });
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
    completions.add(params.elicitationId),
  );
  if (elicitation !== undefined)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      params.mode === 'url' ? { action: options.openUrl(params.url) } : { ...options.fillForm(params.requestedSchema) },
    );
  const transport = new TransportV1(url, transportOptions);
  await client.connect(transport);
  record(transport, frames);
  return {
    call: (name, args) => client.callTool({ name, arguments: { ...args } }, CallToolResultSchema),
    close: () => client.close(),
  };
}

interface RecordedTransport<Message, Extra, Options> {
  onmessage?: ((message: Message, extra?: Extra) => void) | undefined;
  send(message: Message, options?: Options): Promise<void>;
}

function record<Message, Extra, Options>(
  transport: RecordedTransport<Message, Extra, Options>,
  frames: string[],
): void {
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    frames.push(JSON.stringify(message));
    deliver?.(message, extra);
  };
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    frames.push(JSON.stringify(message));
    return send(message, options);
  };
}

const resultSchema = z.looseObject({
  content: z.array(z.looseObject({ text: z.string().optional() })),
  _meta: z.looseObject({ 'dev.postern/elicitation': z.looseObject({ url: z.string() }).optional() }).optional(),
});
const errorSchema = z.object({ code: z.number(), data: z.unknown() });

async function answerOf(call: Promise<unknown>): Promise<VerbAnswer> {
  try {
    const { content, _meta } = resultSchema.parse(await call);
    return { text: content[0]?.text, link: _meta?.['dev.postern/elicitation']?.url, error: undefined };
  } catch (error) {
    const refused = errorSchema.safeParse(error);
    if (!refused.success) throw error;
    return { text: undefined, link: undefined, error: { code: refused.data.code, data: refused.data.data } };
  }
}
