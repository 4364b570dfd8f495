import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { z } from 'zod/v4';
import { LocalError, MAX_MESSAGE } from './messages.ts';

/** Bytes that may wait for a reader that does not read. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** JSON messages over a socket, one a line. */
export class MessageLine implements Disposable {
  readonly #socket: Socket;
  readonly #messages: AsyncGenerator<unknown>;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Read by the iterator too. A socket that fails between two reads must not end the process.
    socket.on('error', () => {});
    this.#messages = messagesOf(socket);
  }

  /** Does nothing after the end. A reader that does not read ends the connection. */
  send(message: unknown): void {
    if (!this.#socket.writable) return;
    this.#socket.write(`${JSON.stringify(message)}\n`);
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy();
  }

  /**
   * The next message, or undefined at the end of the connection.
   * @throws LocalError `bad_message`, `timeout`
   */
  async next<T>(schema: z.ZodType<T>, timeoutMs?: number): Promise<T | undefined> {
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => this.#socket.destroy(new LocalError('timeout', 'No message in time.')), timeoutMs);
    try {
      const { value, done } = await this.#messages.next();
      if (done === true) return undefined;
      const { data } = schema.safeParse(value);
      if (data === undefined) throw new LocalError('bad_message', 'The message is not one of this protocol.');
      return data;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends what waits, then closes. */
  end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.once('close', resolve);
    this.#socket.end(resolve);
    return promise;
  }

  /** The connection keeps no process alive any more. */
  unref(): void {
    this.#socket.unref();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

async function* messagesOf(socket: Socket): AsyncGenerator<unknown> {
  const decoder = new StringDecoder('utf8');
  let text = '';
  try {
    for await (const chunk of socket) {
      text += decoder.write(chunk);
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        if (end > MAX_MESSAGE) break;
        yield jsonOf(text.slice(0, end));
        text = text.slice(end + 1);
      }
      if (text.length > MAX_MESSAGE) throw new LocalError('bad_message', 'The message is too long.');
    }
  } catch (error) {
    // The other process has ended without closing.
    if (error instanceof LocalError || !(error instanceof Error && 'code' in error)) throw error;
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new LocalError('bad_message', 'The message is no JSON.');
  }
}
