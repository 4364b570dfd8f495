import { hash } from 'node:crypto';
import { memberOf } from '@postern/api/json';
import type { VerifiedToken } from '@postern/mcp/adapter';
import { LRUCache } from 'lru-cache';
import {
  callIdOf,
  errorText,
  type IncomingCall,
  NotSentError,
  OutcomeUnknownError,
  ownId,
  ownMetaOf,
  rendered,
} from '../call.ts';
import { ClientRequests, notificationText } from '../client-requests.ts';
import { Guard, type GuardOptions } from '../guard.ts';
import {
  idOf,
  MAX_MESSAGE_BYTES,
  type Message,
  RpcError,
  readClientMessage,
  readUpstreamMessage,
  requestText,
  textOf,
  whole,
} from '../message.ts';
import { SentSecrets } from '../sent-secrets.ts';
import { listedFor } from '../tool-list.ts';
import { AnswerStream } from './answer-stream.ts';
import {
  acceptsEvents,
  notAllowed,
  ownerOf,
  readPost,
  refuseOtherHeaders,
  refuseOtherParameters,
  rpcResponse,
  streamEnd,
  unknownSession,
} from './client-request.ts';
import { eventsIn, eventText } from './events.ts';
import { HttpConnection } from './http-connection.ts';
import { type HttpUpstream, passedHeaders } from './http-upstream.ts';
import type { UpstreamResponse } from './masked-body.ts';
import type { SessionIds } from './session-ids.ts';

/** Of connections that are remembered. A session that is forgotten goes on from what its id says. */
const MAX_CONNECTIONS = 10_000;
/** Of calls that wait for a decision. */
const MAX_HELD = 1_000;
/** How long the upstream may take to list its tools, in ms. */
const LIST_MS = 10_000;

export interface ServedUpstreamOptions extends GuardOptions {
  readonly target: HttpUpstream;
  readonly sessionIds: SessionIds;
  /** Of a request of an MCP client. */
  readonly maxBodyBytes: number;
}

/** One HTTP request of an MCP client. */
interface ClientRequest {
  readonly request: Request;
  readonly authInfo: VerifiedToken | undefined;
  readonly connection: HttpConnection;
}

/**
 * MCP clients over HTTP before one upstream over HTTP. What no rule names passes as it came: a body in both directions is the same bytes,
 * and only headers of MCP go with it.
 */
export class ServedUpstream {
  readonly #p: ServedUpstreamOptions;
  readonly #guard: Guard;
  readonly #clientRequests = new ClientRequests();
  readonly #connections = new LRUCache<string, HttpConnection>({ max: MAX_CONNECTIONS });
  /** By person: another connection could get what the upstream has got on one. */
  readonly #secrets = new LRUCache<string, SentSecrets>({ max: MAX_CONNECTIONS });
  readonly #closed = new AbortController();
  #held = 0;

  constructor(p: ServedUpstreamOptions) {
    this.#p = p;
    this.#guard = new Guard(p);
  }

  /** In session ids: an id of one address is none for another one of the same name. */
  get #name(): string {
    return hash('sha256', JSON.stringify([this.#p.upstream, this.#p.instance]), 'base64url');
  }

  /** @throws {PosternUsageError} `invalid_options` if the gateway of the options cannot be used */
  prepare(): Promise<void> {
    return this.#guard.prepare();
  }

  /** Ends what waits for a person, and streams that belong to no call. */
  async drain(): Promise<void> {
    this.#closed.abort();
    await this.#guard.close();
  }

  async close(): Promise<void> {
    await this.#p.target.close();
  }

  /** Answers a request whose source was checked. */
  async answer(request: Request, authInfo: VerifiedToken | undefined): Promise<Response> {
    const owner = ownerOf(authInfo);
    const connection = await this.#connectionOf(request, owner);
    if (connection === undefined) return unknownSession();
    const from = { request, authInfo, connection };
    try {
      switch (request.method) {
        case 'POST':
          return await this.#post(from);
        case 'GET':
          return await this.#stream(from);
        case 'DELETE':
          return await this.#end(from);
        default:
          return notAllowed();
      }
    } catch (error) {
      return unreachable(error);
    }
  }

  async #connectionOf(request: Request, owner: string): Promise<HttpConnection | undefined> {
    const id = request.headers.get('mcp-session-id');
    const revision = request.headers.get('mcp-protocol-version') ?? undefined;
    const key = id ?? JSON.stringify([owner, revision]);
    // The id is opened each time: it says whose it is.
    const state = id === null ? undefined : await this.#p.sessionIds.open(id, { upstream: this.#name, owner });
    if (id !== null && state === undefined) return undefined;
    const session = id === null || state === undefined ? undefined : { id, state };
    const secrets = this.#secretsBy(owner);
    // Looked up after the last await: of requests at once, the first one opens the connection.
    const known = this.#connections.get(key);
    const connection = known ?? new HttpConnection({ owner, session, secrets, ask: (...p) => this.#ask(...p) });
    connection.revision = revision;
    this.#connections.set(key, connection);
    return connection;
  }

  #secretsBy(owner: string): SentSecrets {
    const known = this.#secrets.get(owner) ?? new SentSecrets(this.#p.log);
    this.#secrets.set(owner, known);
    return known;
  }

  async #post(from: ClientRequest): Promise<Response> {
    const { request } = from;
    const body = await readPost(request, this.#p.maxBodyBytes);
    if (body instanceof Response) return body;
    let id: string | undefined;
    try {
      const message = readClientMessage(body, false);
      if (!('root' in message)) {
        this.#guard.refuseBatch(message, from.connection.tools);
        return await this.#forward(from, body);
      }
      id = message.id;
      refuseOtherHeaders(request.headers, message);
      return await this.#postOne(from, message);
    } catch (error) {
      if (!(error instanceof RpcError)) return unreachable(error, id);
      this.#p.log('message of the MCP client refused', { error: error.message });
      return rpcResponse(400, error, { id });
    }
  }

  async #postOne(from: ClientRequest, message: Message): Promise<Response> {
    const { connection } = from;
    const { bytes, params } = message;
    switch (message.method) {
      case undefined:
        if (this.#clientRequests.take(connection.sessionId ?? connection, message))
          return new Response(null, { status: 202 });
        break;
      case 'initialize':
        return await this.#initialize(from, message);
      case 'notifications/cancelled': {
        const held = connection.held.get(idOf(memberOf(params, 'requestId')) ?? '');
        held?.abort();
        if (held !== undefined) return new Response(null, { status: 202 });
        break;
      }
      case 'tools/list':
        if (this.#p.rules.changesLists) return await this.#list(from, message);
        break;
      case 'tools/call':
        if (this.#guard.isPassed(message, connection.tools)) break;
        return await this.#call(from, message);
    }
    return await this.#forward(from, bytes, message);
  }

  /** The MCP client gets an id that says all about its session, whether or not the upstream gives one. */
  async #initialize(from: ClientRequest, message: Message): Promise<Response> {
    const { sessionIds } = this.#p;
    const response = await this.#exchange(from, 'POST', message.bytes);
    if (response.status !== 200) return this.#relayed(response);
    const state = { upstream: this.#name, owner: from.connection.owner, id: response.sessionId };
    const id = await sessionIds.seal(state, message.valueOf(message.params));
    return this.#relayed(response, response.body, { 'mcp-session-id': id });
  }

  async #list(from: ClientRequest, message: Message): Promise<Response> {
    const response = await this.#exchange(from, 'POST', message.bytes);
    const { rules } = this.#p;
    if (response.status !== 200) return this.#relayed(response);
    return this.#relayed(
      response,
      response.isStream ? listedEvents(response.body, rules) : listedJson(response.body, rules),
    );
  }

  /** A call that a rule may hold. */
  async #call(from: ClientRequest, message: Message): Promise<Response> {
    const { connection, request } = from;
    const id = callIdOf(message);
    refuseOtherParameters(request.headers, memberOf(message.params, 'arguments'));
    if (this.#held >= MAX_HELD) throw new RpcError(-32603, `more than ${MAX_HELD} calls wait`);
    if (connection.lasts && connection.held.has(id)) throw new RpcError(-32600, 'an id that another call has');
    const stream = new AnswerStream(acceptsEvents(request));
    this.#held += 1;
    void this.#answerCall(from, message, id, stream).finally(() => {
      this.#held -= 1;
    });
    return await stream.response;
  }

  async #answerCall(from: ClientRequest, message: Message, id: string, stream: AnswerStream): Promise<void> {
    const { connection, request, authInfo } = from;
    const held = new AbortController();
    // Without a session, ids of different calls may be equal, and no message cancels a call.
    if (connection.lasts) connection.held.set(id, held);
    const ownMeta = connection.lasts ? undefined : ownMetaOf(message);
    const tell = (data: string) => stream.send({ data });
    const call: IncomingCall = {
      message,
      client: connection,
      authInfo,
      // The MCP client leaves: nobody could be told the answer. A yes that comes later is for the next equal call.
      signal: AbortSignal.any([held.signal, request.signal, connection.closed, this.#closed.signal]),
      ownMeta,
      elicit: (params, until) => this.#clientRequests.elicit(connection.sessionId ?? connection, params, until, tell),
      notify: (method, params) => tell(notificationText(method, params)),
      send: async (bytes, injected) => {
        connection.held.delete(id);
        const request = { method: 'POST', headers: this.#headersOf(from), body: bytes, injected } as const;
        try {
          // The MCP client may be gone. The call runs all the same.
          return await this.#asked(connection, id, request, event => stream.send(event).catch(() => {}));
        } finally {
          // The proxy may send the call again. Until then, the MCP client's cancellation is for the proxy.
          if (connection.lasts) connection.held.set(id, held);
        }
      },
    };
    try {
      const answer = await this.#guard.answer(call);
      if (answer === undefined)
        return await stream.adopt(
          await this.#forward(from, message.bytes, message).catch(error => unreachable(error, id)),
        );
      if (connection.isGone) return stream.end(errorText('null', new RpcError(-32001, 'Session not found')), 404);
      stream.end(rendered(id, answer, ownMeta !== undefined));
    } catch (error) {
      if (held.signal.aborted || request.signal.aborted) return stream.abandon();
      stream.end(errorText(id, this.#errorOf(error)));
    } finally {
      if (connection.held.get(id) === held) connection.held.delete(id);
    }
  }

  #errorOf(error: unknown): RpcError {
    if (this.#closed.signal.aborted) return new RpcError(-32603, 'The proxy is stopping. Nothing was done.');
    if (error instanceof RpcError) return error;
    this.#p.log('a call failed', { error: textOf(error) });
    return new RpcError(-32603, 'Internal error');
  }

  async #stream(from: ClientRequest): Promise<Response> {
    const { connection, authInfo, request } = from;
    const ends = [streamEnd(request, authInfo), connection.closed, this.#closed.signal];
    const response = await this.#exchange(from, 'GET', undefined, ends);
    return this.#relayed(
      response,
      response.isStream && connection.lasts ? connection.within(response.body) : response.body,
    );
  }

  async #end(from: ClientRequest): Promise<Response> {
    const { sessionId, upstreamSessionId } = from.connection;
    const response = upstreamSessionId === undefined ? undefined : await this.#exchange(from, 'DELETE');
    if (sessionId !== undefined) {
      from.connection.close();
      this.#connections.delete(sessionId);
    }
    return response === undefined ? new Response(null, { status: 200 }) : this.#relayed(response);
  }

  async #forward(from: ClientRequest, body: Buffer, message?: Message): Promise<Response> {
    // It lasts, as the stream of a session does.
    const ends =
      message?.method === 'subscriptions/listen' ? [streamEnd(from.request, from.authInfo), this.#closed.signal] : [];
    return this.#relayed(await this.#exchange(from, 'POST', body, ends));
  }

  #exchange(
    from: ClientRequest,
    method: 'GET' | 'POST' | 'DELETE',
    body?: Buffer,
    ends: readonly AbortSignal[] = [],
  ): Promise<UpstreamResponse> {
    const signal = AbortSignal.any([from.request.signal, ...ends]);
    const secrets = this.#secretsOf(from.connection);
    return this.#p.target.exchange({ method, headers: this.#headersOf(from), body, signal, secrets });
  }

  #secretsOf({ secrets }: HttpConnection): SentSecrets | undefined {
    return this.#p.rules.injectsAny ? secrets : undefined;
  }

  #headersOf({ request, connection }: ClientRequest): Record<string, string> {
    return { ...passedHeaders(request.headers), ...sessionHeader(connection) };
  }

  /** The response for the MCP client. */
  #relayed(
    response: UpstreamResponse,
    body: AsyncIterable<Uint8Array> = response.body,
    more: Readonly<Record<string, string>> = {},
  ): Response {
    const { status, headers } = response;
    // About a credential of this proxy, or an address of the upstream: nothing for the MCP client.
    if (status === 401 || status === 403 || (status >= 300 && status < 400) || status > 599) {
      response.body.destroy();
      this.#p.log('the upstream refuses requests of this proxy', { status: String(status) });
      return rpcResponse(502, new RpcError(-32603, `The server answered HTTP ${status}.`));
    }
    const hasBody = status !== 204 && status !== 205;
    if (!hasBody) response.body.destroy();
    return new Response(hasBody ? ReadableStream.from(body) : null, { status, headers: { ...headers, ...more } });
  }

  /** Sends a request of this proxy. */
  #ask(connection: HttpConnection, method: string, params: string): Promise<Message> {
    const id = ownId();
    const { revision } = connection;
    const headers = {
      accept: 'application/json, text/event-stream',
      ...(revision === undefined ? {} : { 'mcp-protocol-version': revision }),
      ...(connection.lasts ? {} : { 'mcp-method': method }),
      ...sessionHeader(connection),
    };
    const body = Buffer.from(requestText(id, method, params));
    const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(LIST_MS) } as const;
    return this.#asked(connection, id, request, async () => {});
  }

  async #asked(
    connection: HttpConnection,
    ...[id, request, onEvent]: Parameters<HttpUpstream['ask']>
  ): Promise<Message> {
    try {
      const response = await this.#p.target.ask(id, { ...request, secrets: this.#secretsOf(connection) }, onEvent);
      connection.isGone = false;
      return response;
    } catch (error) {
      const isGone =
        error instanceof NotSentError && error.status === 404 && connection.upstreamSessionId !== undefined;
      if (isGone) connection.isGone = true;
      throw error;
    }
  }
}

function sessionHeader({ upstreamSessionId }: HttpConnection): Record<string, string> {
  return upstreamSessionId === undefined ? {} : { 'mcp-session-id': upstreamSessionId };
}

async function* listedEvents(body: AsyncIterable<Buffer>, rules: GuardOptions['rules']): AsyncGenerator<Buffer> {
  for await (const event of eventsIn(body)) {
    const data = listed(Buffer.from(event.data), rules).toString();
    yield Buffer.from(eventText({ ...event, data }));
  }
}

async function* listedJson(body: AsyncIterable<Buffer>, rules: GuardOptions['rules']): AsyncGenerator<Buffer> {
  yield listed(await whole(body, MAX_MESSAGE_BYTES), rules);
}

function listed(bytes: Buffer, rules: GuardOptions['rules']): Buffer {
  const message = readUpstreamMessage(bytes);
  return message !== undefined && 'root' in message ? listedFor(message, rules) : bytes;
}

/** @throws the error, if it is another one */
function unreachable(error: unknown, id?: string): Response {
  if (error instanceof NotSentError || error instanceof OutcomeUnknownError)
    return rpcResponse(502, new RpcError(-32603, error.message), { id });
  throw error;
}
