import { hash, randomUUID } from 'node:crypto';
import { memberOf, stringOf } from '@postern/api/json';
import type { AuthInfo, ToolCall } from '@postern/mcp/adapter';
import { type Message, RpcError } from './message.ts';
import type { Decision } from './rules.ts';
import type { SentSecrets } from './sent-secrets.ts';
import type { ListedTool, ToolList } from './tool-list.ts';

/** What an MCP client gets for a call. */
export type Answer =
  /** The response of the upstream, as it came. */
  | { readonly type: 'response'; readonly bytes: Buffer }
  | { readonly type: 'result'; readonly result: object }
  | { readonly type: 'error'; readonly error: RpcError };

/** The connection of an MCP client. One object for all of its calls, because completion notices are kept by it. */
export type ClientConnection = Extract<ToolCall, { era: 'legacy-session' }>['session'] & {
  /** Whose it is: equal for all connections of one person. */
  readonly owner: string;
  /** What a client of 2025-11-25 has said of itself, as JSON text. Undefined for one that has said nothing. */
  readonly initialize: string | undefined;
  /** Whether it lasts, so that requests can be sent to the MCP client. Revision 2026-07-28 does without. */
  readonly lasts: boolean;
  /** What the upstream says of its tools on this connection. */
  readonly tools: ToolList;
  /** Secrets that the upstream has got on this connection. Everything that it sends goes through `masked`. */
  readonly secrets: SentSecrets;
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
  /** Sends `elicitation/create`. Resolves with the result, and aborting the signal cancels the request. */
  elicit(params: object, signal: AbortSignal): Promise<unknown>;
  notify(method: string, params: object): Promise<void>;
  /**
   * Sends the call to the upstream. A second time only after an answer, or after `NotSentError`.
   *
   * @param headers for an upstream over HTTP, and for no other origin
   * @throws {NotSentError}
   * @throws {OutcomeUnknownError}
   */
  send(bytes: Buffer, headers?: Readonly<Record<string, string>>): Promise<Message>;
}

/** A call that asks a person. */
export interface GuardedCall extends IncomingCall {
  /** The name of the upstream, which the person reads. */
  readonly upstream: string;
  /** What tells it from others of its name. */
  readonly instance: string;
  readonly tool: ListedTool;
  readonly decision: Decision;
  /** JSON text of an object. */
  readonly argumentsText: string;
  /** When an equal call ended without an answer, so that it may have run. ISO 8601. */
  readonly mayHaveRunAt: string | undefined;
}

/** Digest of all that a yes is for. */
export function bindingOf({ upstream, instance, tool, decision, argumentsText }: GuardedCall): string {
  const call = [upstream, instance, tool.name, tool.digest, argumentsText, decision.injections];
  return hash('sha256', JSON.stringify(call), 'base64url');
}

/** Digest of what a round of a call goes on with: it is no other person's. */
export const roundBindingOf = (call: GuardedCall): string => JSON.stringify([call.client.owner, bindingOf(call)]);

/** The call has not run: the upstream was gone before anything of it was written, or has refused it. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
  /** Of the HTTP response. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** The call was written, and no answer came: the tool may have run. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';

  constructor() {
    super('The connection to the server ended without an answer.');
  }
}

/** As in @postern/mcp, which takes 40 MB to import. Member of `_meta` (revision 2026-07-28). Revisions are dates, so they compare as text. */
const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';
const FIRST_MODERN_REVISION = '2026-07-28';

/**
 * What a request of this proxy has of the `_meta` of a call: which MCP client speaks, and no token of the call. Undefined for a call of an
 * older revision.
 */
export function ownMetaOf({ params, text }: Message): string | undefined {
  const meta = memberOf(params, '_meta');
  if (meta?.type !== 'object' || (stringOf(meta, PROTOCOL_VERSION) ?? '') < FIRST_MODERN_REVISION) return undefined;
  const kept = meta.members.filter(({ name }) => /^io\.modelcontextprotocol\/(?:protocolVersion|client)/.test(name));
  return `{${kept.map(({ start, value }) => text.slice(start, value.end)).join(',')}}`;
}

/** The id of a call, as JSON text. @throws {RpcError} for a call without an id of its own */
export function callIdOf({ id }: Message): string {
  if (id === undefined || !/^(?:"|0$|-?[1-9]\d*$)/.test(id))
    throw new RpcError(-32600, 'a call without an id of its own');
  return id;
}

/** An id of a request of this proxy, as JSON text. Unguessable: nobody must answer a request that was not for them. */
export const ownId = (): string => `"postern-${randomUUID()}"`;

/** The JSON-RPC response with an answer. @param id as JSON text */
export function rendered(id: string, answer: Answer, isModern = false): string | Buffer {
  switch (answer.type) {
    case 'response':
      return answer.bytes;
    case 'result':
      return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify({ ...(isModern && { resultType: 'complete' }), ...answer.result })}}`;
    case 'error':
      return errorText(id, answer.error);
  }
}

/** The JSON-RPC response with an error. @param id as JSON text */
export const errorText = (id: string, { code, message, data }: RpcError): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`;

/** The one person of a proxy without access tokens. */
export const LOCAL_OWNER = 'local';
