import { eventsIn, eventText, type StreamEvent } from './events.ts';

/** Between two signs of life, in ms: proxies on the way give up on silence. The first one opens the stream. */
const KEEP_ALIVE_MS = 10_000;

/**
 * The response to a call that may take long: a stream of events as soon as there is something to say before the answer, and else JSON
 * (MCP, Streamable HTTP).
 */
export class AnswerStream {
  readonly #response = Promise.withResolvers<Response>();
  readonly #mayStream: boolean;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #hasEnded = false;
  #room = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout;

  /** @param mayStream whether the MCP client accepts a stream */
  constructor(mayStream: boolean) {
    this.#mayStream = mayStream;
    this.#timer = setInterval(() => this.#keepAlive(), KEEP_ALIVE_MS);
  }

  get response(): Promise<Response> {
    return this.#response.promise;
  }

  /** Sends something before the answer. Resolves when the MCP client takes more. @throws {Error} if it cannot be sent */
  async send(event: StreamEvent): Promise<void> {
    if (!this.#mayStream || this.#hasEnded) throw new Error('The MCP client takes nothing but the answer.');
    const controller = this.#open();
    controller.enqueue(new TextEncoder().encode(eventText(event)));
    while ((controller.desiredSize ?? 0) < 0 && !this.#hasEnded) await this.#room.promise;
  }

  /** Begins the stream, although there is nothing to say yet. */
  begin(): void {
    this.#open();
  }

  /** Sends the answer. @param status of a response without a stream */
  end(answer: string | Buffer, status = 200): void {
    if (this.#hasEnded) return;
    this.#finish();
    const headers = { 'content-type': 'application/json' };
    if (this.#controller === undefined)
      this.#response.resolve(new Response(new Uint8Array(Buffer.from(answer)), { status, headers }));
    else this.#controller.enqueue(new TextEncoder().encode(eventText({ data: answer.toString() })));
    this.#controller?.close();
  }

  /** Answers with another response. @throws {Error} if it breaks, or cannot be sent: this one has no end then */
  async adopt(response: Response): Promise<void> {
    if (this.#controller === undefined) {
      this.#finish();
      this.#response.resolve(response);
      return;
    }
    // It is one message, or events as these.
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
    if (!isStream) return this.end(await response.text());
    for await (const event of eventsIn(response.body ?? [])) await this.send(event);
    this.abandon();
  }

  /** Ends a response that has no answer. */
  abandon(): void {
    if (this.#hasEnded) return;
    this.#finish();
    if (this.#controller === undefined) this.#response.resolve(new Response(null, { status: 202 }));
    else this.#controller.close();
  }

  #finish(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
    this.#room.resolve();
  }

  #keepAlive(): void {
    if (!this.#mayStream || this.#hasEnded) return;
    this.#open().enqueue(new TextEncoder().encode(':\n\n'));
  }

  #open(): ReadableStreamDefaultController<Uint8Array> {
    if (this.#controller !== undefined) return this.#controller;
    const opened: ReadableStreamDefaultController<Uint8Array>[] = [];
    const body = new ReadableStream<Uint8Array>({
      // Runs before the constructor returns.
      start: controller => void opened.push(controller),
      pull: () => {
        this.#room.resolve();
        this.#room = Promise.withResolvers();
      },
      cancel: () => this.#finish(),
    });
    const [controller] = opened;
    if (controller === undefined) throw new TypeError('a stream that has started');
    this.#controller = controller;
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };
    this.#response.resolve(new Response(body, { headers }));
    return controller;
  }
}
