import type { ElicitationAnswer, ElicitationHandler, ElicitationRequest, McpServerIdentity } from '../elicitation.ts';
import { HostError } from '../errors.ts';
import { checkAnswer } from '../requests.ts';

/**
 * Wraps a handler: validates its answers, returns `cancel` as soon as the request is aborted, and refuses modes that the
 * host did not declare.
 */
export function checked(handler: ElicitationHandler, modes: readonly ElicitationRequest['mode'][]): ElicitationHandler {
  return async (request, context) => {
    if (!modes.includes(request.mode))
      throw new HostError('invalid_request', `${request.mode} mode was not declared to the MCP server`);
    const { promise: aborted, resolve } = Promise.withResolvers<ElicitationAnswer>();
    const abort = () => resolve({ action: 'cancel' });
    context.signal.addEventListener('abort', abort, { once: true });
    try {
      if (context.signal.aborted) return { action: 'cancel' };
      return checkAnswer(request, await Promise.race([handler(request, context), aborted]));
    } finally {
      context.signal.removeEventListener('abort', abort);
    }
  };
}

/** Tracks the tool calls in flight. If there is exactly one, a pushed request belongs to it. */
export class CallsInFlight {
  readonly #names: string[] = [];

  async during<T>(toolName: string, work: () => Promise<T>): Promise<T> {
    this.#names.push(toolName);
    try {
      return await work();
    } finally {
      this.#names.splice(this.#names.indexOf(toolName), 1);
    }
  }

  get only(): string | undefined {
    return this.#names.length === 1 ? this.#names[0] : undefined;
  }
}

/** Handles an `elicitation/create` request from the SDK. */
export async function answerPushed(p: {
  readonly handler: ElicitationHandler;
  readonly request: ElicitationRequest;
  readonly mcpServer: McpServerIdentity;
  readonly calls: CallsInFlight;
  readonly signal: AbortSignal;
}) {
  return await p.handler(p.request, { mcpServer: p.mcpServer, toolName: p.calls.only, signal: p.signal });
}
