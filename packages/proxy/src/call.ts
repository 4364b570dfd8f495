import { hash } from 'node:crypto';
import type { AuthInfo, ToolCall } from '@postern/mcp/adapter';
import type { Message, RpcError } from './message.ts';
import type { Decision } from './rules.ts';
import type { ListedTool, ToolList } from './tool-list.ts';

/** What an MCP client gets for a call. */
export type Answer =
  /** The response of the upstream, as it came. */
  | { readonly type: 'response'; readonly bytes: Buffer }
  | { readonly type: 'result'; readonly result: object }
  | { readonly type: 'error'; readonly error: RpcError };

/** The connection of an MCP client, as far as it asks a person. */
export type ClientConnection = Extract<ToolCall, { era: 'legacy-session' }>['session'] & {
  /** What a client of 2025-11-25 has said of itself, as JSON text. Undefined for one that speaks 2026-07-28. */
  readonly initialize: string | undefined;
  /** What the upstream says of its tools on this connection. */
  readonly tools: ToolList;
  /** Sends `elicitation/create`. Resolves with the result, and aborting the signal cancels the request. */
  elicit(params: object, signal: AbortSignal): Promise<unknown>;
  notify(method: string, params: object): Promise<void>;
};

/** A `tools/call` of an MCP client. */
export interface IncomingCall {
  readonly message: Message;
  readonly client: ClientConnection;
  /** The verified access token of the MCP client. Undefined for the one person of this machine. */
  readonly authInfo: AuthInfo | undefined;
  /** Aborts when the MCP client gives the call up. */
  readonly signal: AbortSignal;
  /** `_meta` of a request of this proxy beside the call, as JSON text. Undefined before revision 2026-07-28. */
  readonly ownMeta: string | undefined;
  /**
   * Sends the call to the upstream.
   *
   * @throws {NotSentError}
   * @throws {OutcomeUnknownError}
   */
  send(bytes: Buffer): Promise<Message>;
}

/** A call that a person decides about. */
export interface GuardedCall extends IncomingCall {
  /** The name of the upstream, which the person reads. */
  readonly upstream: string;
  /** What tells it from others of its name. */
  readonly instance: string;
  readonly tool: ListedTool;
  readonly decision: Decision;
  /** JSON text of an object. */
  readonly argumentsText: string;
}

/** Digest of all that a yes is for. */
export const bindingOf = ({ upstream, instance, tool, argumentsText }: GuardedCall): string =>
  hash('sha256', JSON.stringify([upstream, instance, tool.name, tool.digest, argumentsText]), 'base64url');

/** The upstream was gone before anything of the call was written. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** The call was written, and no answer came: the tool may have run. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}
