import { Agent, request as send } from 'undici';
import { NotSentError, OutcomeUnknownError } from '../call.ts';
import { MAX_MESSAGE_BYTES, type Message, upstreamMessagesIn, whole } from '../message.ts';
import type { SentSecrets } from '../sent-secrets.ts';
import { eventsIn, type StreamEvent } from './events.ts';
import { masked, type UpstreamResponse } from './masked-body.ts';

/** How long a connection may take to open, in ms. An answer may take as long as it does. */
const CONNECT_MS = 10_000;

/** What of an MCP client's request goes to the upstream: never its access token, its cookies or where it comes from. */
const PASSED = /^(?:accept|last-event-id|mcp-(?!session-id$).+|traceparent|tracestate)$/;
/** What of a response goes to the MCP client. A challenge of the upstream would be about the proxy's credential. */
const RETURNED = /^(?:content-type|cache-control|retry-after|allow|mcp-(?!session-id$).+)$/;

/** Errors before anything was sent: of names, of TCP and of TLS. */
const BEFORE =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.+|CERT_.+|DEPTH_.+|SELF_SIGNED_.+|UNABLE_TO_.+)$/;

/** Statuses of a server that has not run a call. Others, such as 408 of a balancer, leave that open. */
const REFUSALS: ReadonlySet<number> = new Set([
  400, 401, 403, 404, 405, 406, 409, 411, 413, 414, 415, 421, 422, 429, 431,
]);

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Headers with secrets of the person. */
  readonly injected?: Readonly<Record<string, string>> | undefined;
  /** Hidden in the response. */
  readonly secrets?: SentSecrets | undefined;
}

export interface HttpUpstreamOptions {
  readonly url: URL;
  /** Of every request, such as a credential of the proxy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An MCP server over HTTP. Redirects are not followed, and nothing is sent twice. */
export class HttpUpstream {
  readonly #p: HttpUpstreamOptions;
  readonly #agent = new Agent({ connectTimeout: CONNECT_MS, headersTimeout: 0, bodyTimeout: 0 });

  constructor(p: HttpUpstreamOptions) {
    this.#p = p;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** @throws {NotSentError} @throws {OutcomeUnknownError} */
  async exchange({ method, headers, body, signal, injected, secrets }: UpstreamRequest): Promise<UpstreamResponse> {
    try {
      const response = await send(this.#p.url, {
        method,
        // Never the content type of the MCP client: another charset would be another message.
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }), ...this.#p.headers, ...injected },
        body: body ?? null,
        signal: signal ?? null,
        dispatcher: this.#agent,
      });
      const flat = flatHeaders(response.headers);
      const answered = {
        status: response.statusCode,
        headers: only(flat, RETURNED),
        sessionId: flat['mcp-session-id'],
        isStream: isStream(flat['content-type']),
        body: response.body,
      };
      return secrets === undefined ? answered : masked(answered, secrets);
    } catch (error) {
      if (BEFORE.test(codeOf(error))) throw new NotSentError('The server cannot be reached.');
      throw new OutcomeUnknownError();
    }
  }

  /**
   * Sends a request and reads its response.
   *
   * @param id of the request, as JSON text
   * @param onEvent gets whatever comes before the response
   * @throws {NotSentError} if the upstream refuses it
   * @throws {OutcomeUnknownError} if it does not answer
   */
  async ask(
    id: string,
    request: UpstreamRequest,
    onEvent: (event: StreamEvent, message: Message) => Promise<void>,
  ): Promise<Message> {
    const response = await this.exchange(request);
    try {
      const message = response.isStream
        ? await fromStream(id, response.body, onEvent)
        : await fromJson(id, response.body);
      // A server that wants another credential has not run the call, whatever it says.
      if (message !== undefined && response.status !== 401) return message;
    } catch {
      // The connection broke.
      throw new OutcomeUnknownError();
    } finally {
      response.body.destroy();
    }
    const { status } = response;
    if (REFUSALS.has(status)) throw new NotSentError(`The server answered HTTP ${status}.`, status);
    throw new OutcomeUnknownError();
  }
}

async function fromStream(
  id: string,
  body: AsyncIterable<Buffer>,
  onEvent: (event: StreamEvent, message: Message) => Promise<void>,
): Promise<Message | undefined> {
  for await (const event of eventsIn(body))
    for (const message of upstreamMessagesIn(Buffer.from(event.data))) {
      if (isResponseTo(id, message)) return message;
      await onEvent(event, message);
    }
  return undefined;
}

async function fromJson(id: string, body: AsyncIterable<Buffer>): Promise<Message | undefined> {
  return upstreamMessagesIn(await whole(body, MAX_MESSAGE_BYTES)).find(message => isResponseTo(id, message));
}

const isResponseTo = (id: string, message: Message): boolean => message.isResponse && message.id === id;

/** The headers of a request of an MCP client that go to the upstream. */
export const passedHeaders = (headers: Headers): Record<string, string> => only(Object.fromEntries(headers), PASSED);

function only(headers: Readonly<Record<string, string>>, names: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.test(name)));
}

function flatHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(', ')]],
    ),
  );
}

const isStream = (contentType = ''): boolean => /^text\/event-stream\s*(?:;|$)/i.test(contentType);

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code);
