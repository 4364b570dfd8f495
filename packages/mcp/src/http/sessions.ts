import { randomUUID } from 'node:crypto';
import { asError } from '../errors.ts';
import { jsonRpcError, type RequestInputs } from './admission.ts';

/** The part that both SDKs' web-standard server transports have in common. */
export interface SessionTransport {
  readonly sessionId?: string | undefined;
  onclose?: (() => void) | undefined;
  handleRequest(request: Request, inputs: RequestInputs): Promise<Response>;
  send(message: object, options?: { relatedRequestId?: string | number }): Promise<void>;
  close(): Promise<void>;
}

export interface SessionLimits {
  /** Maximum number of open sessions of this endpoint. */
  readonly maxSessions: number;
  readonly maxSessionsPerUser: number;
  /** Milliseconds without an open request after which a session ends. An open stream counts as a request. */
  readonly sessionIdleMs: number;
}

interface Session {
  readonly id: string;
  readonly owner: string;
  /** Undefined while the MCP server of the session is being created. */
  transport: SessionTransport | undefined;
  openRequests: number;
  /** Whether the session's own stream (GET) is open. */
  isStreaming: boolean;
  /** Completion notices that had no stream, at most {@link MISSED_NOTICES}. */
  missed: object[];
  idle: NodeJS.Timeout | undefined;
}

const MISSED_NOTICES = 64;
/** Milliseconds after which a stream of a user with a token ends. */
const MAX_STREAM_MS = 3_600_000;

/**
 * The sessions of revision 2025-11-25 at one endpoint, each with its own `McpServer`. A session id is not a credential: every request
 * must come from the user who opened the session.
 */
export class McpSessions {
  readonly #limits: SessionLimits;
  readonly #onEnd: (sessionId: string) => void;
  readonly #onError: (error: Error) => void;
  /** By session id. Least recently used first. */
  readonly #sessions = new Map<string, Session>();

  constructor(
    limits: SessionLimits,
    { onEnd, onError }: { onEnd: (sessionId: string) => void; onError: (error: Error) => void },
  ) {
    this.#limits = limits;
    this.#onEnd = onEnd;
    this.#onError = onError;
  }

  /** Opens a session for an `initialize` request. `connect` creates its MCP server. */
  async open(
    owner: string,
    connect: (sessionId: string) => Promise<SessionTransport>,
    request: Request,
    inputs: RequestInputs,
  ): Promise<Response> {
    if (!this.#makeRoom(owner)) {
      return jsonRpcError(503, -32000, 'Too many sessions', { 'retry-after': '60' });
    }
    const session: Session = {
      id: randomUUID(),
      owner,
      transport: undefined,
      openRequests: 0,
      isStreaming: false,
      missed: [],
      idle: undefined,
    };
    // Counted before the first await, so that concurrent requests cannot exceed the limits.
    this.#sessions.set(session.id, session);
    try {
      session.transport = await connect(session.id);
      this.#follow(session, session.transport);
      return await this.#handle(session, session.transport, request, inputs);
    } finally {
      // The SDK refused the request, or the session ended meanwhile.
      if (session.transport?.sessionId === undefined || !this.#sessions.has(session.id)) await this.#end(session);
    }
  }

  async handle(sessionId: string, owner: string, request: Request, inputs: RequestInputs): Promise<Response> {
    const session = this.#sessions.get(sessionId);
    // A session of another user and an unknown session get the same response: 404 makes the MCP client open a new session.
    if (session?.transport === undefined || session.owner !== owner) {
      return jsonRpcError(404, -32001, 'Session not found');
    }
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, session);
    return await this.#handle(session, session.transport, request, inputs);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(session => this.#end(session)));
  }

  async #handle(
    session: Session,
    transport: SessionTransport,
    request: Request,
    inputs: RequestInputs,
  ): Promise<Response> {
    this.#begin(session);
    let response: Response;
    try {
      response = await transport.handleRequest(request, inputs);
    } catch (error) {
      this.#finish(session);
      throw error;
    }
    if (request.method !== 'GET' || !response.ok) return whenSent(response, () => this.#finish(session));
    session.isStreaming = true;
    const missed = session.missed.splice(0);
    for (const notice of missed) await transport.send(notice);
    const onEnd = () => {
      session.isStreaming = false;
      this.#finish(session);
    };
    // A stream is one request, so its token is checked once: the MCP client opens it again with a token that is valid then.
    const expiry = inputs.authInfo?.expiresAt;
    const longest = Date.now() + MAX_STREAM_MS;
    const endsAt = expiry === undefined ? longest : Math.min(longest, expiry * 1000);
    return whenSent(response, onEnd, inputs.authInfo && endsAt);
  }

  /** Keeps completion notices until the stream opens, and notices the end of the session, whatever ended it. */
  #follow(session: Session, transport: SessionTransport): void {
    const send = transport.send.bind(transport);
    transport.send = async (message, options) => {
      if (session.isStreaming || options?.relatedRequestId !== undefined || !isCompletionNotice(message)) {
        return await send(message, options);
      }
      session.missed = [...session.missed, message].slice(-MISSED_NOTICES);
    };
    const closed = transport.onclose;
    transport.onclose = () => {
      this.#forget(session);
      closed?.();
    };
  }

  #begin(session: Session): void {
    session.openRequests += 1;
    clearTimeout(session.idle);
  }

  #finish(session: Session): void {
    session.openRequests -= 1;
    if (session.openRequests > 0 || !this.#sessions.has(session.id)) return;
    session.idle = setTimeout(() => void this.#end(session), this.#limits.sessionIdleMs);
    session.idle.unref();
  }

  /** Ends the user's least recently used session at the user's limit, and any user's unused one at the limit of the endpoint. */
  #makeRoom(owner: string): boolean {
    const all = [...this.#sessions.values()];
    const own = all.filter(session => session.owner === owner);
    const isUnused = ({ openRequests, transport }: Session) => openRequests === 0 && transport !== undefined;
    if (own.length >= this.#limits.maxSessionsPerUser) {
      const leaving = own.find(isUnused) ?? own[0];
      if (leaving !== undefined) void this.#end(leaving);
    }
    if (this.#sessions.size < this.#limits.maxSessions) return true;
    const leaving = all.find(session => isUnused(session) && this.#sessions.has(session.id));
    if (leaving === undefined) return false;
    void this.#end(leaving);
    return true;
  }

  #forget(session: Session): void {
    clearTimeout(session.idle);
    this.#sessions.delete(session.id);
    this.#onEnd(session.id);
  }

  async #end(session: Session): Promise<void> {
    this.#forget(session);
    try {
      await session.transport?.close();
    } catch (error) {
      this.#onError(asError(error));
    }
  }
}

function isCompletionNotice(message: object): boolean {
  return 'method' in message && message.method === 'notifications/elicitation/complete';
}

/** Calls `done` once, when the body has been read to its end or cancelled. */
function whenSent(response: Response, done: () => void, endsAt?: number): Response {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(timer);
    if (!isOver) done();
    isOver = true;
  };
  if (response.body === null) {
    end();
    return response;
  }
  const reader = response.body.getReader();
  if (endsAt !== undefined) {
    timer = setTimeout(() => void reader.cancel(), Math.max(0, endsAt - Date.now()));
    timer.unref();
  }
  const body = new ReadableStream({
    async pull(controller) {
      try {
        const chunk = await reader.read();
        if (!chunk.done) return controller.enqueue(chunk.value);
        if (!isOver) controller.close();
      } catch (error) {
        controller.error(error);
      }
      end();
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  });
  return new Response(body, response);
}
