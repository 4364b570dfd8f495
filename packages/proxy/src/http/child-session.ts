import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { memberOf } from '@postern/api/json';
import type { VerifiedToken } from '@postern/mcp/adapter';
import { errorText } from '../call.ts';
import { linesOf, type Message, RpcError, textOf, upstreamMessagesIn } from '../message.ts';
import { StdioProxy, type StdioProxyOptions } from '../stdio-proxy.ts';
import { AnswerStream } from './answer-stream.ts';

/** Of messages that wait for a stream. */
const MAX_DUE = 100;
/** Of messages that wait for the program. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** How long the last answers of a program that has ended may take, in ms. */
const LAST_WORDS_MS = 1_000;

export interface ChildSessionOptions extends Pick<StdioProxyOptions, 'guard' | 'rules' | 'log' | 'child'> {
  readonly id: string;
  readonly owner: string;
  readonly authInfo: VerifiedToken | undefined;
}

/** A request whose response waits for the upstream. */
interface Waiting {
  readonly stream: AnswerStream;
  /** As JSON text. */
  readonly progressToken: string | undefined;
}

/** A session of an MCP client over HTTP, and the program of its own that serves it. */
export class ChildSession {
  readonly id: string;
  readonly owner: string;
  /** Whether it ends because it should. */
  isClosing = false;
  readonly #child: ChildSessionOptions['child'];
  readonly #proxy: StdioProxy;
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  /** Requests by id, as JSON text. */
  readonly #waiting = new Map<string, Waiting>();
  /** Of the MCP client, for messages that belong to no request. */
  #stream: AnswerStream | undefined;
  #due: string[] = [];
  /** Resolves when the program has ended. */
  readonly ended: Promise<void>;

  constructor({ id, owner, authInfo, child, ...p }: ChildSessionOptions) {
    this.id = id;
    this.owner = owner;
    this.#child = child;
    this.#proxy = new StdioProxy({
      ...p,
      child,
      client: { owner, sessionId: id, authInfo },
      input: this.#input,
      output: this.#output,
    });
    const read = this.#read().catch((error: unknown) => {
      p.log('cannot read from the server', { error: textOf(error) });
      this.#output.resume();
      void child.stop();
    });
    this.ended = this.#proxy.run().then(async () => {
      this.#output.end();
      await read;
      this.#endStreams();
    });
  }

  /** Open requests and streams. */
  get use(): number {
    return this.#waiting.size + (this.#stream === undefined ? 0 : 1);
  }

  /** Ends what waits for a person, the stream that belongs to no request, and the program if it has no request. */
  async drain(): Promise<void> {
    this.#proxy.stopAsking();
    this.#stream?.abandon();
    this.#stream = undefined;
    if (this.use === 0) await this.close();
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await this.#child.stop();
    await Promise.race([this.ended, delay(LAST_WORDS_MS)]);
    // An MCP client that does not read would hold it up.
    this.#endStreams();
    await this.ended;
  }

  #endStreams(): void {
    for (const [request, { stream }] of this.#waiting)
      stream.end(errorText(request, new RpcError(-32603, 'The server has ended.')));
    this.#stream?.abandon();
  }

  /** Whether the program leaves what it gets unread. */
  get isFull(): boolean {
    return this.#input.writableLength + this.#input.readableLength > MAX_UNREAD_BYTES;
  }

  /** @throws {RpcError} for an id that another request has */
  async post(message: Message, { mayStream, signal }: { readonly mayStream: boolean; readonly signal: AbortSignal }) {
    const { id, method } = message;
    const isRequest = id !== undefined && method !== undefined;
    if (isRequest && this.#waiting.has(id)) throw new RpcError(-32600, 'an id that another request has');
    const stream = new AnswerStream(mayStream);
    if (isRequest) {
      const progressToken = message.textOf(memberOf(memberOf(message.params, '_meta'), 'progressToken'));
      this.#waiting.set(id, { stream, progressToken });
      const leave = () => {
        stream.abandon();
        this.#proxy.giveUp(id);
        if (this.#waiting.get(id)?.stream === stream) this.#waiting.delete(id);
      };
      signal.addEventListener('abort', leave, { once: true });
    } else {
      stream.abandon();
    }
    this.#input.write(`${onOneLine(message.text)}\n`);
    return await stream.response;
  }

  /** The stream for messages that belong to no request. A later one replaces it. */
  async get(signal: AbortSignal): Promise<Response> {
    this.#stream?.abandon();
    const stream = new AnswerStream(true);
    this.#stream = stream;
    signal.addEventListener(
      'abort',
      () => {
        stream.abandon();
        if (this.#stream === stream) this.#stream = undefined;
      },
      { once: true },
    );
    stream.begin();
    // Not awaited: nobody reads before the response is there.
    for (const data of this.#due.splice(0)) void stream.send({ data }).catch(() => this.#keep(data));
    return await stream.response;
  }

  async #read(): Promise<void> {
    for await (const line of linesOf(this.#output))
      for (const message of upstreamMessagesIn(line)) await this.#deliver(message);
  }

  async #deliver(message: Message): Promise<void> {
    const { id, method } = message;
    const waiting = id === undefined || method !== undefined ? undefined : this.#waiting.get(id);
    if (id !== undefined && waiting !== undefined) {
      this.#waiting.delete(id);
      return waiting.stream.end(message.bytes);
    }
    // A response to a request whose MCP client has left.
    if (method === undefined) return;
    const data = message.bytes.toString();
    const stream = this.#requestOf(message)?.stream ?? this.#stream ?? [...this.#waiting.values()].at(-1)?.stream;
    // The MCP client of a stream may have left, and may come back.
    if (stream === undefined) this.#keep(data);
    else await stream.send({ data }).catch(() => this.#keep(data));
  }

  /** A program does not tell what its messages belong to, but for progress. */
  #requestOf(message: Message): Waiting | undefined {
    if (message.method !== 'notifications/progress') return undefined;
    const token = message.textOf(memberOf(message.params, 'progressToken'));
    return [...this.#waiting.values()].find(({ progressToken }) => token !== undefined && progressToken === token);
  }

  #keep(text: string): void {
    this.#due = [...this.#due, text].slice(-MAX_DUE);
  }
}

/** Line ends stand between the parts of JSON only: within a string they are escaped. */
const onOneLine = (text: string): string => text.replace(/[\r\n]/g, ' ');
