import { globalAgent, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { boundedText } from './bounded-text.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Timeout in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** A process that has nothing else to do may end before the response. With `fetch`, that is up to its implementation. */
  readonly isBackground?: boolean;
}

interface Head {
  readonly status: number;
  header(name: string): string | undefined;
}

/** Returns `Retry-After` in milliseconds. */
export function retryAfterMsOf({ header }: Pick<Head, 'header'>): number | undefined {
  const seconds = Number(header('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

export interface TransportAnswer extends Head {
  readonly text: string;
}

/** The gateway could not be reached, or its response is invalid. The cause contains only a system error code. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly kind: 'timeout' | 'network' | 'oversized';

  constructor(kind: TransportError['kind'], options?: ErrorOptions) {
    super(kind, options);
    this.kind = kind;
  }
}

/**
 * Sends requests to one gateway over persistent connections. Does not follow redirects, which would carry the credential or the
 * user's token to another host. Throws {@link TransportError}, or the reason of the signal.
 */
export interface GatewayTransport {
  send(request: TransportRequest): Promise<TransportAnswer>;
}

/** Maximum length of a response in characters. The longest are lists of a user's connections. */
const MAX_ANSWER = 4 * 1024 * 1024;
/** Maximum number of interim responses (1xx) to one request. Proxies send a few while they wait. */
const MAX_INTERIM = 100;

/** @param fetchImplementation replaces `node:http`, which needs a third of the processor time of the global `fetch` */
export function createGatewayTransport(url: string, fetchImplementation: typeof fetch | undefined): GatewayTransport {
  return fetchImplementation === undefined ? nodeTransport(url) : fetchTransport(url, fetchImplementation);
}

function nodeTransport(url: string): GatewayTransport {
  const base = urlToHttpOptions(new URL(url));
  const prefix = new URL(url).pathname.replace(/\/$/, '');
  const isSecure = base.protocol === 'https:';
  const begin = isSecure ? httpsRequest : httpRequest;
  let agent: HttpAgent | undefined;

  /** Created with the first request, after the process has set whether to use the proxies of its environment. */
  function agentOf(): HttpAgent {
    // Untyped, and the only place that shows whether `--use-env-proxy` or an equivalent is set.
    const { proxyEnv } = (globalAgent as { options?: { proxyEnv?: NodeJS.ProcessEnv } }).options ?? {};
    const options = { keepAlive: true, scheduling: 'lifo', proxyEnv } as const;
    return isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  }

  function send({
    method,
    path,
    headers,
    body,
    timeoutMs,
    signal,
    isBackground,
  }: TransportRequest): Promise<TransportAnswer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      agent ??= agentOf();
      const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
      const outgoing = begin({ ...base, agent, method, path: `${prefix}${path}`, headers: { ...headers, ...length } });
      const fail = (error: unknown) => {
        clearTimeout(timer);
        reject(error);
        outgoing.destroy();
      };
      const abort = () => fail(signal?.reason);
      const timer = setTimeout(() => fail(new TransportError('timeout')), timeoutMs);
      if (isBackground === true) {
        timer.unref();
        // The agent refs the connection again when another request uses it.
        outgoing.once('socket', socket => socket.unref());
      }
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
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > MAX_ANSWER) fail(new TransportError('oversized'));
        });
        incoming.once('error', error => fail(new TransportError('network', networkCause(error))));
        incoming.once('end', () => {
          clearTimeout(timer);
          resolve({ ...headOf(incoming), text });
        });
      });
      outgoing.end(body);
    });
  }

  return { send };
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
  return {
    async send({ method, path, headers, body, timeoutMs, signal: given }) {
      const deadline = AbortSignal.timeout(timeoutMs);
      const signal = given ? AbortSignal.any([given, deadline]) : deadline;
      let text: string | undefined;
      let response: Response;
      try {
        response = await fetchImplementation(`${url}${path}`, {
          // Not `error`, which leaves the connection of a redirect open, with its body unread.
          method,
          headers,
          signal,
          redirect: 'manual',
          body: body ?? null,
        });
        text = await boundedText(response, MAX_ANSWER);
      } catch (error) {
        given?.throwIfAborted();
        if (deadline.aborted) throw new TransportError('timeout');
        throw new TransportError('network', networkCause(error instanceof Error ? error.cause : undefined));
      }
      if (text === undefined) throw new TransportError('oversized');
      return { status: response.status, header: name => response.headers.get(name) ?? undefined, text };
    },
  };
}

/** Keeps only the system error code (`ECONNREFUSED`), because the error may quote the request. */
function networkCause(cause: unknown): ErrorOptions {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? { cause: new Error(code) } : {};
}
