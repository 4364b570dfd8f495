import { globalAgent, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { boundedText, chunksOf } from './bounded-text.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Milliseconds for the answer, or for the head of one that is streamed. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

interface Head {
  readonly status: number;
  header(name: string): string | undefined;
}

/** How long the answer asks to be left alone, in milliseconds. */
export function retryAfterMsOf({ header }: Pick<Head, 'header'>): number | undefined {
  const seconds = Number(header('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

export interface TransportAnswer extends Head {
  readonly text: string;
}

/** An answer that is read while it comes. Whoever opened it ends it, by the signal of the request. */
export interface StreamedAnswer extends Head {
  readonly chunks: AsyncIterable<string>;
}

/** The gateway could not be reached, or said what no gateway says. Its cause has a code of the system, and nothing else. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly kind: 'timeout' | 'network' | 'oversized';

  constructor(kind: TransportError['kind'], options?: ErrorOptions) {
    super(kind, options);
    this.kind = kind;
  }
}

/**
 * Requests to one gateway over connections that stay open. No redirect is followed: it would carry the credential, or the user's
 * token, somewhere else. Both methods throw {@link TransportError}, or the reason of the signal.
 */
export interface GatewayTransport {
  send(request: TransportRequest): Promise<TransportAnswer>;
  stream(request: TransportRequest): Promise<StreamedAnswer>;
}

/** Characters of one answer. The longest of the contract are lists of one person's connections. */
const MAX_ANSWER = 4 * 1024 * 1024;
/** Interim responses (1xx) to one request. A gateway sends none; proxies send a few while they wait. */
const MAX_INTERIM = 100;

/** @param fetchImplementation instead of `node:http`, which takes a third of the processor time of the global `fetch` */
export function createGatewayTransport(url: string, fetchImplementation: typeof fetch | undefined): GatewayTransport {
  return fetchImplementation === undefined ? nodeTransport(url) : fetchTransport(url, fetchImplementation);
}

function nodeTransport(url: string): GatewayTransport {
  const base = urlToHttpOptions(new URL(url));
  const prefix = new URL(url).pathname.replace(/\/$/, '');
  const isSecure = base.protocol === 'https:';
  const begin = isSecure ? httpsRequest : httpRequest;
  let agent: HttpAgent | undefined;

  /** Made with the first request: by then the process has said whether proxies of its environment are to be used. */
  function agentOf(): HttpAgent {
    // Not in the types, and the only place that says whether `--use-env-proxy` and its like are set.
    const { proxyEnv } = (globalAgent as { options?: { proxyEnv?: NodeJS.ProcessEnv } }).options ?? {};
    const options = { keepAlive: true, scheduling: 'lifo', ...(proxyEnv === undefined ? {} : { proxyEnv }) } as const;
    return isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  }

  function exchange<T>(
    { method, path, headers, body, timeoutMs, signal }: TransportRequest,
    onHead: (incoming: IncomingMessage, done: (value: T) => void, fail: (error: unknown) => void) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      agent ??= agentOf();
      const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
      const outgoing = begin({ ...base, agent, method, path: `${prefix}${path}`, headers: { ...headers, ...length } });
      const fail = (error: unknown) => {
        clearTimeout(timer);
        reject(error);
        outgoing.destroy();
      };
      const done = (value: T) => {
        clearTimeout(timer);
        resolve(value);
      };
      const abort = () => fail(signal?.reason);
      const timer = setTimeout(() => fail(new TransportError('timeout')), timeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      let interim = 0;
      outgoing.on('information', () => {
        interim += 1;
        if (interim > MAX_INTERIM) fail(new TransportError('network'));
      });
      let isAnswered = false;
      outgoing.once('close', () => {
        signal?.removeEventListener('abort', abort);
        // A switch of protocols (101) closes the connection without a response and without an error.
        if (!isAnswered) fail(new TransportError('network'));
      });
      outgoing.on('error', error => fail(new TransportError('network', networkCause(error))));
      outgoing.once('response', incoming => {
        isAnswered = true;
        onHead(incoming, done, fail);
      });
      outgoing.end(body);
    });
  }

  return {
    send: request =>
      exchange<TransportAnswer>(request, (incoming, done, fail) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > MAX_ANSWER) fail(new TransportError('oversized'));
        });
        incoming.once('error', error => fail(new TransportError('network', networkCause(error))));
        incoming.once('end', () => done({ ...headOf(incoming), text }));
      }),

    stream: request =>
      exchange<StreamedAnswer>(request, (incoming, done) => {
        incoming.setEncoding('utf8');
        // An error is met where it is read; one that comes after the reader has gone is nobody's.
        incoming.on('error', () => undefined);
        // Waiting for events is no reason for a process to live on.
        incoming.socket.unref();
        done({ ...headOf(incoming), chunks: incoming });
      }),
  };
}

function headOf({ statusCode = 0, headers }: IncomingMessage): Head {
  return {
    status: statusCode,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
  };
}

function fetchTransport(url: string, fetchImplementation: typeof fetch): GatewayTransport {
  async function begin(request: TransportRequest, signal: AbortSignal, deadline: AbortSignal): Promise<Response> {
    const { method, path, headers, body } = request;
    return await failing(request.signal, deadline, () =>
      fetchImplementation(`${url}${path}`, {
        // Not `error`, which leaves the connection of a redirect open, with its body unread.
        ...{ method, headers, signal, redirect: 'manual' },
        ...(body === undefined ? {} : { body }),
      }),
    );
  }
  const headOfResponse = ({ status, headers }: Response): Head => ({
    status,
    header: name => headers.get(name) ?? undefined,
  });

  return {
    async send(request) {
      const deadline = AbortSignal.timeout(request.timeoutMs);
      const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline;
      const response = await begin(request, signal, deadline);
      const text = await failing(request.signal, deadline, () => boundedText(response, MAX_ANSWER));
      if (text === undefined) throw new TransportError('oversized');
      return { ...headOfResponse(response), text };
    },

    async stream(request) {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), request.timeoutMs);
      const signal = request.signal ? AbortSignal.any([request.signal, late.signal]) : late.signal;
      try {
        const response = await begin(request, signal, late.signal);
        return { ...headOfResponse(response), chunks: chunksOf(response) };
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

async function failing<T>(signal: AbortSignal | undefined, deadline: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) throw new TransportError('timeout');
    throw new TransportError('network', networkCause(error instanceof Error ? error.cause : undefined));
  }
}

/** The system's code (`ECONNREFUSED`) is worth keeping; the error itself may quote the request. */
function networkCause(cause: unknown): ErrorOptions {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? { cause: new Error(code) } : {};
}
