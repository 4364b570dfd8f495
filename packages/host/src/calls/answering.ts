import type { ElicitationAnswer, ElicitationHandler, ElicitationRequest, McpServerIdentity } from '../elicitation.ts';
import { HostError } from '../errors.ts';
import { checkAnswer } from '../requests.ts';

/**
 * A handler whose answers are checked, and which answers `cancel` as soon as nobody waits any longer. It is not asked in a mode
 * that was not declared.
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

/** Which tools are being called, to name the one behind a pushed request where there is only one. */
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

/** Answers an `elicitation/create` that the SDK hands to the host. */
export async function answerPushed(p: {
  readonly handler: ElicitationHandler;
  readonly request: ElicitationRequest;
  readonly mcpServer: McpServerIdentity;
  readonly calls: CallsInFlight;
  readonly signal: AbortSignal;
}) {
  const toolName = p.calls.only;
  const context = { mcpServer: p.mcpServer, signal: p.signal, ...(toolName === undefined ? {} : { toolName }) };
  return await p.handler(p.request, context);
}
