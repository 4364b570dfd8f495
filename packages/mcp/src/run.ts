import type { ElicitationBody, IssueElicitationInput } from '@postern/api';
import { type Ask, displayName } from './ask.ts';
import type { CompletionWaiters } from './completion-waiters.ts';
import { digest } from './digest.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { RecentAsks } from './recent-asks.ts';
import type { RequestState, RequestStateCodec } from './request-state.ts';
import type { TokenOpener } from './sealed-token.ts';
import type { Principal } from './subject.ts';
import type { Suspension } from './suspension.ts';
import type { TextFunction } from './texts.ts';
import type { ToolCall } from './tool-call.ts';

/** What every call of one gate shares. */
export interface Environment {
  readonly client: GatewayClient;
  /** Present where access tokens are delivered sealed. */
  readonly tokenOpener: TokenOpener | undefined;
  /** For requests to the APIs of providers. */
  readonly fetch: typeof fetch;
  readonly allowHttp: boolean;
  readonly codec: RequestStateCodec;
  readonly recentAsks: RecentAsks;
  readonly waiters: CompletionWaiters;
  readonly text: TextFunction;
  readonly holdMs: number;
  readonly maxRounds: number;
  readonly legacy: 'url-required-error' | 'push';
  readonly missingCapability: 'plain' | 'error';
  readonly assumeUrlCapability: boolean;
  readonly onBackgroundError: (error: Error) => void;
}

/** One run of a tool handler. A retried call is a new run. */
export interface Run<Call extends ToolCall = ToolCall> {
  readonly environment: Environment;
  readonly call: Call;
  readonly argsDigest: string;
  /** Resolved at the first use: a handler that asks for nothing needs no user. */
  readonly principal: () => Promise<Principal>;
  /** Verified, and bound to this user, tool and arguments. */
  readonly requestState: RequestState | undefined;
  /** Set when the handler was suspended, to notice that it went on regardless. */
  suspension: Suspension | undefined;
}

/** How an ask ended for this run. */
export type Resolution =
  | { readonly by: 'gateway'; readonly elicitation: ElicitationBody }
  /** The MCP client said no. That ends this attempt; the elicitation itself goes on. */
  | { readonly by: 'mcp-client'; readonly action: 'decline' | 'cancel' };

export async function issue(run: Run, ask: Ask, signal: AbortSignal): Promise<ElicitationBody> {
  const tool = displayName(run.call.toolName);
  const mcpClient = displayName(run.call.mcpClientName);
  const body: IssueElicitationInput = {
    ...ask.body,
    subject: (await run.principal()).input,
    ...(tool === undefined && mcpClient === undefined
      ? {}
      : {
          requestedBy: { ...(tool === undefined ? {} : { tool }), ...(mcpClient === undefined ? {} : { mcpClient }) },
        }),
  };
  return await run.environment.client.issue(body, signal);
}

/** Names a call across retries that carry nothing of ours: same user, tool, arguments and ask. */
export async function recentAskKey(run: Run, ask: Ask): Promise<string> {
  const { issuer, subject } = await run.principal();
  return digest([issuer, subject, run.call.toolName ?? '', run.argsDigest, ask.digest]);
}

export async function rememberAsk(run: Run, ask: Ask, elicitation: ElicitationBody): Promise<void> {
  const { elicitationId, expiresAt } = elicitation;
  run.environment.recentAsks.remember(await recentAskKey(run, ask), elicitationId, expiresAt);
}

export async function forgetAsk(run: Run, ask: Ask, elicitation: ElicitationBody): Promise<void> {
  run.environment.recentAsks.forget(await recentAskKey(run, ask), elicitation.elicitationId);
}
