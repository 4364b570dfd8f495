import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Node.js closes idle connections after five seconds. */
const IDLE_MS = 3000;

/**
 * One keep-alive HTTP/1.1 connection with one request at a time. Does little work, because it shares the machine with the processes under
 * test. Responses are decoded as ASCII.
 */
export class HttpConnection implements Disposable {
  readonly #port: number;
  #socket: Socket;
  #received = '';
  #usedAt = performance.now();
  #waiting: PromiseWithResolvers<HttpAnswer> | undefined;
  #onPart: ((received: string) => void) | undefined;

  private constructor(port: number, socket: Socket) {
    this.#port = port;
    this.#socket = this.#use(socket);
  }

  static async open(port: number): Promise<HttpConnection> {
    return new HttpConnection(port, await connected(port));
  }

  /** @param onPart receives what has arrived of the response, each time that more of it arrives */
  async request(text: string, onPart?: (received: string) => void): Promise<HttpAnswer> {
    if (this.#waiting !== undefined) throw new TypeError('one request at a time');
    // While the other side was measured, this connection was idle: the peer has closed it, or does so while the request arrives.
    if (this.#socket.readyState !== 'open' || performance.now() - this.#usedAt > IDLE_MS) {
      this.#socket.removeAllListeners('close').destroy();
      this.#socket = this.#use(await connected(this.#port));
    }
    this.#usedAt = performance.now();
    this.#waiting = Promise.withResolvers();
    this.#onPart = onPart;
    this.#socket.write(text, 'latin1');
    return this.#waiting.promise;
  }

  /** For an endless stream: receives everything after the response headers. */
  async stream(text: string, onText: (text: string) => void): Promise<void> {
    const head = Promise.withResolvers<void>();
    let pending = '';
    this.#socket.removeAllListeners('data');
    this.#socket.on('data', chunk => {
      pending += chunk.toString('latin1');
      const end = pending.indexOf('\r\n\r\n');
      if (end === -1) return;
      if (!pending.startsWith('HTTP/1.1 200')) return head.reject(new Error(pending.slice(0, end)));
      head.resolve();
      this.#socket.removeAllListeners('data');
      this.#socket.on('data', more => onText(more.toString('latin1')));
      onText(pending.slice(end + 4));
    });
    this.#socket.write(text, 'latin1');
    await head.promise;
  }

  [Symbol.dispose](): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #use(socket: Socket): Socket {
    socket.setNoDelay(true);
    socket.on('data', chunk => {
      this.#received += chunk.toString('latin1');
      this.#onPart?.(this.#received);
      this.#settle();
    });
    socket.on('error', error => this.#waiting?.reject(error));
    socket.once('close', () => this.#waiting?.reject(new Error('the connection was closed')));
    return socket;
  }

  #settle(): void {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1 || this.#waiting === undefined) return;
    const head = this.#received.slice(0, headEnd);
    const found = bodyOf(head, this.#received, headEnd + 4);
    if (found === undefined) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#received = this.#received.slice(found.end);
    waiting.resolve({ status: Number(head.slice(9, 12)), head, body: found.body });
  }
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

function bodyOf(head: string, text: string, start: number): { body: string; end: number } | undefined {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const end = start + Number(length);
    return text.length < end ? undefined : { body: text.slice(start, end), end };
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return { body: '', end: start };
  let body = '';
  for (let at = start; ; ) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (text.length < next) return undefined;
    if (size === 0) return { body, end: next };
    body += text.slice(lineEnd + 2, next - 2);
    at = next;
  }
}

export function httpRequest(
  method: string,
  path: string,
  port: number,
  headers: Readonly<Record<string, string>>,
  body?: string,
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === undefined && method === 'GET' ? '' : `content-length: ${Buffer.byteLength(body ?? '')}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: localhost:${port}\r\n${lines.join('')}${length}\r\n${body ?? ''}`;
}

export function headerOf({ head }: HttpAnswer, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: *([^\\r\\n]*)`, 'i').exec(head)?.[1];
}
