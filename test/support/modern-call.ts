import { z } from 'zod';

const MODERN_REVISION = '2026-07-28';

export interface ModernCall {
  readonly tool: string;
  readonly args?: Record<string, unknown>;
  /** Subject of the bearer token. */
  readonly subject: string;
  /** `elicitation` of the declared capabilities; `undefined` declares none. Default: form and URL mode. */
  readonly elicitation?: Record<string, unknown> | undefined;
  readonly inputResponses?: Record<string, unknown>;
  readonly requestState?: string | undefined;
  readonly progressToken?: number;
  /** Added to the `_meta` of the request. */
  readonly meta?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const messageSchema = z.looseObject({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
  result: z
    .looseObject({
      resultType: z.string().optional(),
      isError: z.boolean().optional(),
      content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
      requestState: z.string().optional(),
      inputRequests: z
        .record(z.string(), z.looseObject({ method: z.string(), params: z.record(z.string(), z.unknown()) }))
        .optional(),
      _meta: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  error: z.looseObject({ code: z.number(), message: z.string(), data: z.looseObject({}).optional() }).optional(),
});
type Message = z.infer<typeof messageSchema>;

export interface ModernAnswer {
  readonly httpStatus: number;
  /** The whole body as received. */
  readonly wire: string;
  readonly notifications: readonly Message[];
  readonly result: NonNullable<Message['result']> | undefined;
  readonly error: Message['error'];
  /** Text of the first content block. */
  readonly text: string | undefined;
}

let lastId = 0;

/** A handwritten `tools/call` of revision 2026-07-28, so that no client code interprets it. */
export async function modernCall(url: URL, call: ModernCall): Promise<ModernAnswer> {
  lastId += 1;
  const id = lastId;
  const elicitation = 'elicitation' in call ? call.elicitation : { form: {}, url: {} };
  const response = await fetch(url, {
    method: 'POST',
    signal: call.signal ?? null,
    headers: {
      authorization: `Bearer ${call.subject}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN_REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': call.tool,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: {
        name: call.tool,
        arguments: call.args ?? {},
        inputResponses: call.inputResponses,
        requestState: call.requestState,
        _meta: {
          ...call.meta,
          progressToken: call.progressToken,
          'io.modelcontextprotocol/protocolVersion': MODERN_REVISION,
          'io.modelcontextprotocol/clientInfo': { name: 'Conformance Host', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': elicitation === undefined ? {} : { elicitation },
        },
      },
    }),
  });
  const wire = await response.text();
  const texts = wire.startsWith('{') ? [wire] : [...wire.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => data);
  const messages = texts.map(text => messageSchema.parse(JSON.parse(text)));
  const answer = messages.find(message => message.id === id);
  return {
    httpStatus: response.status,
    wire,
    notifications: messages.filter(message => message.id === undefined),
    result: answer?.result,
    error: answer?.error,
    text: answer?.result?.content?.[0]?.text,
  };
}

/** The URL-mode request of an `input_required` result. @throws if there is not exactly one */
export function urlRequestOf(answer: ModernAnswer): {
  key: string;
  params: Record<string, unknown>;
  url: string;
  requestState: string;
} {
  const [entry, ...others] = Object.entries(answer.result?.inputRequests ?? {});
  const { url } = entry?.[1].params ?? {};
  const { requestState } = answer.result ?? {};
  if (entry === undefined || others.length > 0 || typeof url !== 'string' || requestState === undefined)
    throw new Error(`not one URL-mode request: ${answer.wire}`);
  return { key: entry[0], params: entry[1].params, url, requestState };
}
