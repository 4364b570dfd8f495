import type { FastifyReply } from 'fastify';
import type { ApiKeyList } from './api-key-list.ts';
import type { RegisteredMcpServer } from './registered-mcp-server.ts';

/** Finds the MCP server of an API key, or of a JWT signed with its registered key (modelled on RFC 7523 section 3). */
export interface CallerDirectory {
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  /**
   * Returns undefined for every invalid credential, without a reason. Names a recognised API key in the audit trail, valid or not.
   * @throws ProblemError `api_keys_unavailable`
   */
  identify(bearer: string): Promise<Caller | undefined>;
}

/** An authenticated caller. */
export interface Caller {
  readonly mcpServer: RegisteredMcpServer;
  /** The API key that it sent. Undefined for a JWT. */
  readonly apiKey:
    | { readonly apiKeyId: string; readonly source: 'file' | 'store'; readonly digest: string }
    | undefined;
}

/**
 * The callers of the configuration in force. Requests that began under an earlier configuration end under it, but only these callers
 * get a response. An MCP server that a reload does not change stays the same object.
 */
export interface CallersInForce {
  replace(callers: CallerDirectory): void;
  /** Number of MCP servers. */
  readonly count: number;
  /** Whether the configuration in force has this MCP server, unchanged, and the API key is not revoked. */
  includes(caller: Caller): boolean;
  /**
   * Whether a request of this caller may still get its response: its credential is still one of this MCP server.
   * @throws ProblemError `api_keys_unavailable`
   */
  admits(caller: Caller, bearer: string): Promise<boolean>;
}

export function createCallersInForce(apiKeys: Pick<ApiKeyList, 'isRevoked' | 'isValid'>): CallersInForce {
  let inForce: CallerDirectory | undefined;
  const isKeyValid = ({ apiKey }: Caller) =>
    apiKey === undefined ||
    (apiKey.source === 'store' ? apiKeys.isValid(apiKey.digest) : !apiKeys.isRevoked(apiKey.digest));
  const includes: CallersInForce['includes'] = caller =>
    inForce?.mcpServers.get(caller.mcpServer.mcpServerId) === caller.mcpServer && isKeyValid(caller);
  return {
    get count() {
      return inForce?.mcpServers.size ?? 0;
    },
    replace(callers) {
      inForce = callers;
    },
    includes,
    async admits(caller, bearer) {
      if (includes(caller)) return true;
      return (await inForce?.identify(bearer))?.mcpServer.mcpServerId === caller.mcpServer.mcpServerId;
    },
  };
}

/** Signals of the requests that wait: for the end of an elicitation, or for a token that another replica refreshes. */
export interface WaitingRequests {
  /**
   * Returns a signal that aborts when the caller disconnects, the replica stops, a reload changes or removes the MCP server, or the
   * API key is revoked. A waiting read then responds with the current status, so that its caller can retry.
   */
  signalOf(reply: FastifyReply, caller: Caller): AbortSignal;
  /** Aborts the requests whose callers were changed or removed, or whose API keys were revoked. */
  endOutdated(): void;
}

export function createWaitingRequests(
  closing: AbortSignal,
  callers: Pick<CallersInForce, 'includes'>,
): WaitingRequests {
  // One listener for all waiting reads: removing one of thousands of listeners from a signal is a linear search.
  const waiting = new Map<AbortController, Caller>();
  closing.addEventListener(
    'abort',
    () => {
      for (const each of waiting.keys()) each.abort();
    },
    { once: true },
  );
  return {
    signalOf({ raw }, caller) {
      const end = new AbortController();
      if (closing.aborted || !callers.includes(caller)) end.abort();
      waiting.set(end, caller);
      raw.once('close', () => {
        waiting.delete(end);
        if (!raw.writableFinished) end.abort();
      });
      return end.signal;
    },
    endOutdated() {
      for (const [end, caller] of waiting) if (!callers.includes(caller)) end.abort();
    },
  };
}
