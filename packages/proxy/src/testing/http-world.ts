import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { z } from 'zod/v4';
import { createRules, upstreamSchema } from '../config.ts';
import { eventsIn, type StreamEvent } from '../http/events.ts';
import { HttpProxy, type HttpProxyOptions } from '../http/http-proxy.ts';
import type { WireMessage } from './wire-world.ts';

/** A request that has reached the upstream, and waits for the test to answer it. */
export interface Received {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly message: WireMessage;
  readonly response: ServerResponse;
  /** Answers with JSON. A text is sent as it is. */
  json(body: object | string, headers?: Readonly<Record<string, string>>): void;
  result(result: object, headers?: Readonly<Record<string, string>>): void;
}

/** What is asked of an upstream, one request after another. */
class Requests {
  readonly #arrived: Received[] = [];
  readonly #waiting: ((received: Received) => void)[] = [];
  count = 0;

  async add(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await buffer(request)).toString();
    const message = text === '' ? undefined : JSON.parse(text);
    const json: Received['json'] = (body, headers = {}) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    };
    const received = {
      method: request.method ?? '',
      headers: request.headers,
      text,
      message,
      response,
      json,
      result: (result: object, headers = {}) => json({ jsonrpc: '2.0', id: message.id, result }, headers),
    };
    this.count += 1;
    const next = this.#waiting.shift();
    if (next === undefined) this.#arrived.push(received);
    else next(received);
  }

  async next(): Promise<Received> {
    const received = this.#arrived.shift();
    if (received !== undefined) return received;
    const { promise, resolve } = Promise.withResolvers<Received>();
    this.#waiting.push(resolve);
    return await promise;
  }
}

export interface HttpWorld extends AsyncDisposable {
  /** Of the proxied upstream `files`. */
  readonly url: string;
  /** What reaches the upstream. */
  readonly requests: Requests;
  readonly upstreamUrl: URL;
  readonly log: readonly string[];
  /** Another replica of the proxy: the URL of the same upstream there. */
  replica(): Promise<string>;
  /** POST of a message. */
  post(message: object | string, headers?: Readonly<Record<string, string>>, url?: string): Promise<Response>;
  /** Ends the upstream: nothing listens there any more. */
  stopUpstream(): Promise<void>;
}

export const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

export interface HttpWorldOptions {
  readonly rules?: Partial<z.input<typeof upstreamSchema>>;
  readonly gate: HttpProxyOptions['gate'];
  readonly admission?: HttpProxyOptions['admission'];
  readonly headers?: Readonly<Record<string, string>>;
}

/** An upstream that the test plays, and the proxy before it. */
export async function startHttp({
  rules = {},
  gate,
  admission = {},
  headers = {},
}: HttpWorldOptions): Promise<HttpWorld> {
  const stack = new AsyncDisposableStack();
  const requests = new Requests();
  const server = createServer((request, response) => void requests.add(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  async function stopUpstream(): Promise<void> {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  }
  stack.defer(stopUpstream);
  const upstreamUrl = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const log: string[] = [];
  const parsed = await createRules(upstreamSchema.parse({ url: upstreamUrl.href, ...rules }));
  async function replica(): Promise<string> {
    const proxy = new HttpProxy({
      upstreams: { files: { url: upstreamUrl, headers, rules: parsed } },
      gate,
      admission,
      log: () => (event, details) => log.push(details === undefined ? event : `${event} ${JSON.stringify(details)}`),
    });
    const port = await proxy.listen(0, '127.0.0.1');
    stack.defer(async () => {
      server.closeAllConnections();
      await proxy.close();
    });
    return `http://127.0.0.1:${port}/files`;
  }
  const url = await replica();
  return {
    url,
    requests,
    upstreamUrl,
    log,
    replica,
    post: (message, more = {}, to = url) =>
      fetch(to, {
        method: 'POST',
        headers: { ...ACCEPT, ...more },
        body: typeof message === 'string' ? message : JSON.stringify(message),
      }),
    stopUpstream,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The events of a response. */
export class Events {
  readonly #events: AsyncGenerator<StreamEvent>;

  constructor(response: Response) {
    this.#events = eventsIn(buffers(response));
  }

  /** @throws at the end */
  async next(): Promise<WireMessage> {
    const { value, done } = await this.#events.next();
    if (done === true) throw new Error('the stream has ended');
    return JSON.parse(value.data);
  }

  async end(): Promise<boolean> {
    return (await this.#events.next()).done === true;
  }
}

async function* buffers({ body }: Response): AsyncGenerator<Buffer> {
  for await (const chunk of body ?? []) yield Buffer.from(chunk);
}
