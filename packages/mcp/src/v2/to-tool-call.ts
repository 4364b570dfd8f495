import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  inputResponse,
  type McpServer,
  PROTOCOL_VERSION_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { SessionOf } from '../session-of.ts';
import { clientAnswerSchema, declaresForm, type ToolCall } from '../tool-call.ts';
import { traceContextOf } from '../trace-context.ts';
import { INPUT_REQUEST_KEY } from './answers.ts';

interface Surroundings {
  readonly name: string | undefined;
  readonly server: McpServer | undefined;
  readonly sessionOf: SessionOf<McpServer>;
}

/** The first revision of the modern era; revisions are dates, so they compare as text. */
const FIRST_MODERN_REVISION = '2026-07-28';

export function toToolCall(args: unknown, ctx: ServerContext, { name, server, sessionOf }: Surroundings): ToolCall {
  const { mcpReq } = ctx;
  const common = {
    args,
    signal: mcpReq.signal,
    authInfo: ctx.http?.authInfo,
    toolName: name ?? toolNameHeader(ctx),
    reportProgress: progressReporter(ctx),
    trace: traceContextOf(mcpReq._meta),
  };
  const envelope = modernEnvelope(ctx, server);
  if (envelope !== undefined) {
    // Not a string: an author's own verify hook has decoded a state of another kind, which is none of ours.
    const requestState = mcpReq.requestState();
    const response = inputResponse(mcpReq.inputResponses, INPUT_REQUEST_KEY);
    return {
      ...common,
      era: 'modern',
      mcpClientName: envelope[CLIENT_INFO_META_KEY]?.name,
      declaresUrl: envelope[CLIENT_CAPABILITIES_META_KEY]?.elicitation?.url !== undefined,
      declaresForm: declaresForm(envelope[CLIENT_CAPABILITIES_META_KEY]?.elicitation),
      requestState: typeof requestState === 'string' ? requestState : undefined,
      clientAnswer: response.kind === 'elicit' ? { action: response.action, content: response.content } : undefined,
    };
  }
  // A transport without a session id is a shared channel (stdio) unless it came in with an HTTP request.
  const lasts = ctx.sessionId !== undefined || ctx.http?.req === undefined;
  if (server === undefined || !lasts) return { ...common, era: 'legacy-stateless', mcpClientName: undefined };
  return {
    ...common,
    era: 'legacy-session',
    mcpClientName: server.server.getClientVersion()?.name,
    declaresUrl: server.server.getClientCapabilities()?.elicitation?.url !== undefined,
    declaresForm: declaresForm(server.server.getClientCapabilities()?.elicitation),
    session: sessionOf(server),
    elicitForm: (question, signal) =>
      mcpReq.send(
        { method: 'elicitation/create', params: { mode: 'form', ...question } },
        // Not the SDK's own: a content that does not fit is an answer, and answered with the same question.
        clientAnswerSchema,
        { signal, timeout: 2_147_483_647 },
      ),
    async elicitUrl(request, signal) {
      const { action } = await mcpReq.send(
        { method: 'elicitation/create', params: { mode: 'url', ...request } },
        // The gateway's own expiry bounds it: the signal aborts when the elicitation has ended.
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
 * The per-request envelope of revision 2026-07-28. A 2025 client may put the same keys into its `_meta`, so a connection that
 * is known to be of the older era stays so; without a session the SDK's HTTP entry has classified by exactly these keys.
 */
function modernEnvelope(ctx: ServerContext, server: McpServer | undefined): z.infer<typeof envelopeSchema> | undefined {
  const negotiated = server?.server.getNegotiatedProtocolVersion();
  if (ctx.sessionId !== undefined || (negotiated !== undefined && negotiated < FIRST_MODERN_REVISION)) return undefined;
  const envelope = envelopeSchema.safeParse(ctx.mcpReq.envelope);
  if (!envelope.success || envelope.data[PROTOCOL_VERSION_META_KEY] < FIRST_MODERN_REVISION) return undefined;
  return envelope.data;
}

/** `Mcp-Name` (SEP-2243), whose agreement with the body the SDK has checked. */
function toolNameHeader(ctx: ServerContext): string | undefined {
  const value = ctx.http?.req?.headers.get('mcp-name')?.trim();
  const encoded = value?.match(/^=\?base64\?(.*)\?=$/i)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

function progressReporter({ mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress: number, message: string) =>
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
}
