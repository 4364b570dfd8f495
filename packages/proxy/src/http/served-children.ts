import { randomUUID } from 'node:crypto';
import type { VerifiedToken } from '@postern/mcp/adapter';
import { Guard, type GuardOptions } from '../guard.ts';
import { RpcError, readClientMessage, textOf } from '../message.ts';
import { type UpstreamCommand, UpstreamProcess } from '../upstream-process.ts';
import { ChildSession } from './child-session.ts';
import {
  acceptsEvents,
  notAllowed,
  ownerOf,
  readPost,
  rpcResponse,
  streamEnd,
  unknownSession,
} from './client-request.ts';

/** Of programs that run at once, of all people and of one. */
const MAX_CHILDREN = 100;
const MAX_CHILDREN_OF_ONE = 10;
/** How long a session may be unused, in ms. */
const IDLE_MS = 30 * 60_000;
/** A program that ends sooner has failed, in ms. */
const FAILED_MS = 5_000;
/** How long no program is started after several failures, in ms. */
const BACK_OFF_MS = 30_000;
const MAX_FAILURES = 5;

export interface ServedChildrenOptions extends GuardOptions {
  readonly command: UpstreamCommand;
  /** Of a request of an MCP client. */
  readonly maxBodyBytes: number;
}

/** MCP clients of revision 2025-11-25 over HTTP before a program: each session has one of its own, so nobody shares one with another person. */
export class ServedChildren {
  readonly #p: ServedChildrenOptions;
  readonly #guard: Guard;
  readonly #sessions = new Map<string, ChildSession>();
  readonly #idle = new Map<string, NodeJS.Timeout>();
  /** When programs have failed, in epoch ms, and whose they were: one person's do not keep another's from starting. */
  #failures: { readonly at: number; readonly owner: string }[] = [];
  /** Whose programs are being started. */
  readonly #starting: string[] = [];
  #isClosed = false;

  constructor(p: ServedChildrenOptions) {
    this.#p = p;
    this.#guard = new Guard(p);
  }

  /** @throws {PosternUsageError} `invalid_options` if the gateway of the options cannot be used */
  prepare(): Promise<void> {
    return this.#guard.prepare();
  }

  /** Starts no more programs, and ends those without a request. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions.values()].map(session => session.drain()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(session => session.close()));
    await this.#guard.close();
  }

  /** Answers a request whose source was checked. */
  async answer(request: Request, authInfo: VerifiedToken | undefined): Promise<Response> {
    const owner = ownerOf(authInfo);
    const id = request.headers.get('mcp-session-id');
    const session = id === null ? undefined : this.#sessions.get(id);
    if (id !== null && session?.owner !== owner) return unknownSession();
    switch (request.method) {
      case 'POST':
        return await this.#post(request, authInfo, session);
      case 'GET':
        return session === undefined
          ? needsSession()
          : await this.#used(session, session.get(streamEnd(request, authInfo)));
      case 'DELETE':
        if (session === undefined) return needsSession();
        await session.close();
        return new Response(null, { status: 200 });
      default:
        return notAllowed();
    }
  }

  async #post(
    request: Request,
    authInfo: VerifiedToken | undefined,
    known: ChildSession | undefined,
  ): Promise<Response> {
    const body = await readPost(request, this.#p.maxBodyBytes);
    if (body instanceof Response) return body;
    // It may have ended meanwhile.
    if (known !== undefined && !this.#sessions.has(known.id)) return unknownSession();
    let id: string | undefined;
    try {
      const message = readClientMessage(body, false);
      if (!('root' in message)) throw new RpcError(-32600, 'a batch');
      id = message.id;
      if (known === undefined && message.method !== 'initialize') return needsSession();
      const session = known ?? (await this.#open(authInfo));
      if (session === undefined) return unavailable('No server can be started', id);
      if (session.isFull) return unavailable('The server does not read', id);
      const response = session.post(message, { mayStream: acceptsEvents(request), signal: request.signal });
      const { status, headers, body: answer } = await this.#used(session, response);
      return new Response(answer, {
        status,
        headers: { ...Object.fromEntries(headers), ...(known === undefined && { 'mcp-session-id': session.id }) },
      });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.#p.log('message of the MCP client refused', { error: error.message });
      return rpcResponse(400, error, { id });
    }
  }

  /** Starts a program. Undefined if too many run, or have failed. */
  async #open(authInfo: VerifiedToken | undefined): Promise<ChildSession | undefined> {
    const owner = ownerOf(authInfo);
    const { rules, log, command } = this.#p;
    const now = Date.now();
    this.#failures = this.#failures.filter(({ at }) => at > now - BACK_OFF_MS);
    const failures = this.#failures.filter(failure => failure.owner === owner).length;
    const count = this.#sessions.size + this.#starting.length;
    if (this.#isClosed || count >= MAX_CHILDREN || failures >= MAX_FAILURES) return undefined;
    const own = [...this.#sessions.values()].filter(session => session.owner === owner);
    const unused = own.find(({ use, isClosing }) => use === 0 && !isClosing);
    const isFull = own.length + this.#starting.filter(one => one === owner).length >= MAX_CHILDREN_OF_ONE;
    if (isFull && unused === undefined) return undefined;
    // Counted before the first await, so that calls at once cannot exceed the limits.
    this.#starting.push(owner);
    try {
      if (isFull) await unused?.close();
      const child = await UpstreamProcess.start(command);
      const session = new ChildSession({ id: randomUUID(), owner, authInfo, child, guard: this.#guard, rules, log });
      this.#sessions.set(session.id, session);
      void session.ended.finally(() => {
        this.#sessions.delete(session.id);
        clearTimeout(this.#idle.get(session.id));
        this.#idle.delete(session.id);
        if (!session.isClosing && Date.now() - now < FAILED_MS) this.#failures.push({ at: now, owner });
      });
      return session;
    } catch (error) {
      this.#failures.push({ at: now, owner });
      log('cannot start the server', { error: textOf(error) });
      return undefined;
    } finally {
      this.#starting.splice(this.#starting.indexOf(owner), 1);
    }
  }

  /** An unused session ends after a while. */
  async #used<T>(session: ChildSession, work: Promise<T>): Promise<T> {
    clearTimeout(this.#idle.get(session.id));
    const timer = setInterval(() => {
      if (session.use === 0) void session.close();
    }, IDLE_MS);
    timer.unref();
    this.#idle.set(session.id, timer);
    return await work;
  }
}

const needsSession = (): Response => rpcResponse(400, new RpcError(-32000, 'Mcp-Session-Id header is required'));
const unavailable = (text: string, id: string | undefined): Response =>
  rpcResponse(503, new RpcError(-32603, text), { id, headers: { 'retry-after': '30' } });
