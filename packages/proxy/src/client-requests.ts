import { memberOf } from '@postern/api/json';
import { ownId } from './call.ts';
import { type Message, requestText } from './message.ts';

interface OpenRequest {
  readonly connection: object | string;
  readonly resolve: (response: Message) => void;
}

/** Requests of this proxy to MCP clients, and what they answer. */
export class ClientRequests {
  /** By id, as JSON text. */
  readonly #open = new Map<string, OpenRequest>();

  /**
   * Sends `elicitation/create`. Resolves with the result. Aborting the signal cancels the request.
   *
   * @param connection from which the response must come: an object, or the id of a session that nobody else can use
   */
  async elicit(
    connection: object | string,
    params: object,
    signal: AbortSignal,
    tell: (message: string) => Promise<void>,
  ): Promise<unknown> {
    signal.throwIfAborted();
    const id = ownId();
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    this.#open.set(id, { connection, resolve });
    const giveUp = () => {
      reject(signal.reason);
      // An MCP client that is gone needs no cancellation.
      tell(notificationText('notifications/cancelled', { requestId: JSON.parse(id) as string })).catch(() => {});
    };
    signal.addEventListener('abort', giveUp, { once: true });
    // Also before it is awaited.
    promise.catch(() => {});
    try {
      await tell(requestText(id, 'elicitation/create', JSON.stringify(params)));
      const response = await promise;
      return response.valueOf(memberOf(response.root, 'result'));
    } finally {
      signal.removeEventListener('abort', giveUp);
      this.#open.delete(id);
    }
  }

  /** Whether a message is a response to such a request, which nobody else needs then. */
  take(connection: object | string, message: Message): boolean {
    const { id, method } = message;
    const open = id === undefined || method !== undefined ? undefined : this.#open.get(id);
    if (id === undefined || open === undefined || open.connection !== connection) return false;
    this.#open.delete(id);
    open.resolve(message);
    return true;
  }
}

export const notificationText = (method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params });
