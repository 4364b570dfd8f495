import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  inputResponse,
  type McpServer,
  PROTOCOL_VERSION_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod/v4';
import { admitted } from '../http/origin-check.ts';
import type { SessionOf } from '../legacy-session.ts';
import { OwnRequestState } from '../request-state.ts';
import { clientAnswerSchema, declaresForm, type RequestKind, type ToolCall, traceContextOf } from '../tool-call.ts';

/** The key of our only input request; keys are unique within one result (MRTR). */
export const INPUT_REQUEST_KEY = 'gate';

interface Surroundings {
  readonly name: string | undefined;
  readonly server: McpServer | undefined;
  readonly sessionOf: SessionOf<McpServer>;
}

/** The first revision of the modern era. Revisions are dates, so they compare as text. */
const FIRST_MODERN_REVISION = '2026-07-28';

export function toToolCall(args: unknown, ctx: ServerContext, { name, server, sessionOf }: Surroundings): ToolCall {
  const { mcpReq } = ctx;
  const common = {
    args,
    signal: mcpReq.signal,
    authInfo: ctx.http?.authInfo,
    toolName: name,
    isUncheckedHttp: (ctx.sessionId ?? ctx.http?.req) !== undefined && admitted.getStore() === undefined,
    reportProgress: progressReporter(ctx),
    trace: traceContextOf(mcpReq._meta),
  };
  const envelope = modernEnvelope(ctx, server);
  if (envelope !== undefined) {
    const response = inputResponse(mcpReq.inputResponses, INPUT_REQUEST_KEY);
    return {
      ...common,
      era: 'modern',
      mcpClientName: envelope[CLIENT_INFO_META_KEY]?.name,
      declaresUrl: envelope[CLIENT_CAPABILITIES_META_KEY]?.elicitation?.url !== undefined,
      declaresForm: declaresForm(envelope[CLIENT_CAPABILITIES_META_KEY]?.elicitation),
      requestState: OwnRequestState.sealedIn(mcpReq.requestState()),
      clientAnswer: response.kind === 'elicit' ? { action: response.action, content: response.content } : undefined,
    };
  }
  // A transport without a session id is a shared channel (stdio), unless the message arrived with an HTTP request.
  const lasts = ctx.sessionId !== undefined || ctx.http?.req === undefined;
  if (server === undefined || !lasts) return { ...common, era: 'legacy-stateless', mcpClientName: undefined };
  return {
    ...common,
    era: 'legacy-session',
    revision: server.server.getNegotiatedProtocolVersion(),
    mcpClientName: server.server.getClientVersion()?.name,
    declaresUrl: server.server.getClientCapabilities()?.elicitation?.url !== undefined,
    declaresForm: declaresForm(server.server.getClientCapabilities()?.elicitation),
    session: sessionOf(server),
    elicitForm: (formAsk, signal) =>
      mcpReq.send(
        { method: 'elicitation/create', params: { mode: 'form', ...formAsk } },
        // More lenient than the SDK's schema: this package handles invalid content itself, by asking again.
        clientAnswerSchema,
        { signal, timeout: 2_147_483_647 },
      ),
    async elicitUrl(request, signal) {
      const { action } = await mcpReq.send(
        { method: 'elicitation/create', params: { mode: 'url', ...request } },
        // The gateway's expiry limits the wait: the signal aborts when the elicitation has ended.
        { signal, timeout: 2_147_483_647 },
      );
      return action;
    },
  };
}

const envelopeSchema = z.object({
  [PROTOCOL_VERSION_META_KEY]: z.string(),
  [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }).optional().catch(undefined),
  [CLIENT_CAPABILITIES_META_KEY]: z
    .object({ elicitation: z.looseObject({ url: z.looseObject({}).optional() }).optional() })
    .optional()
    .catch(undefined),
});

/**
 * Reads the per-request envelope of revision 2026-07-28. A 2025 client may put the same keys into its `_meta`, so a connection of
 * the older era stays in that era. Without a session, the SDK's HTTP entry has classified the request by exactly these keys.
 */
function modernEnvelope(ctx: ServerContext, server: McpServer | undefined): z.infer<typeof envelopeSchema> | undefined {
  const negotiated = server?.server.getNegotiatedProtocolVersion();
  if (ctx.sessionId !== undefined || (negotiated !== undefined && negotiated < FIRST_MODERN_REVISION)) return undefined;
  const envelope = envelopeSchema.safeParse(ctx.mcpReq.envelope);
  if (!envelope.success || envelope.data[PROTOCOL_VERSION_META_KEY] < FIRST_MODERN_REVISION) return undefined;
  return envelope.data;
}

const REQUEST_KINDS: Readonly<Record<string, RequestKind>> = {
  'tools/call': 'tool',
  'prompts/get': 'prompt',
  'resources/read': 'resource',
};

/**
 * Returns what `Mcp-Name` names (SEP-2243). The SDK checks that it matches the body in requests of 2026-07-28; in those of older
 * revisions any client may send any name.
 */
export function requestedIn(ctx: ServerContext, server: McpServer | undefined) {
  const request = REQUEST_KINDS[ctx.mcpReq.method];
  const value = ctx.http?.req?.headers.get('mcp-name')?.trim();
  if (request === undefined || value === undefined || modernEnvelope(ctx, server) === undefined) return undefined;
  const encoded = value.match(/^=\?base64\?(.*)\?=$/i)?.[1];
  const name = encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
  return { request, name: request === 'resource' ? (URL.parse(name)?.href ?? name) : name };
}

function progressReporter({ mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress: number, message: string) =>
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
}
