import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { memberOf } from '@postern/api/json';
import {
  type Answer,
  type ClientConnection,
  callIdOf,
  type IncomingCall,
  LOCAL_OWNER,
  NotSentError,
  OutcomeUnknownError,
  ownId,
  ownMetaOf,
  rendered,
} from './call.ts';
import { ClientRequests, notificationText } from './client-requests.ts';
import type { Guard, GuardOptions } from './guard.ts';
import {
  idOf,
  isMessage,
  linesOf,
  type Message,
  RpcError,
  readClientMessage,
  readUpstreamMessage,
  requestText,
  textOf,
} from './message.ts';
import type { Rules } from './rules.ts';
import { SentSecrets } from './sent-secrets.ts';
import { listedFor, ToolList } from './tool-list.ts';
import type { UpstreamProcess } from './upstream-process.ts';

/** Of calls that wait for a decision. */
const MAX_HELD = 1_000;
/** How long the last output of an upstream that has ended may take, in ms. */
const LAST_WORDS_MS = 1_000;
/** How long the upstream may take to list its tools, in ms. */
const LIST_MS = 10_000;

export interface StdioProxyOptions {
  readonly guard: Guard;
  readonly rules: Rules;
  readonly log: GuardOptions['log'];
  /** Whose MCP client it is. Default: the one person of this machine. */
  readonly client?: Pick<ClientConnection, 'owner' | 'sessionId'> & Pick<IncomingCall, 'authInfo'>;
  readonly input: Readable;
  readonly output: Writable;
  readonly child: Pick<UpstreamProcess, 'stdin' | 'stdout' | 'stderr' | 'ended' | 'stop'>;
  /** Gets the log of the upstream, if it is read here. Default: standard error. */
  readonly errorOutput?: Writable;
}

/**
 * One MCP client on standard input and output, and one upstream. What no rule names passes as the bytes that came, in order. Both ends
 * keep their ids: there is one connection on either side.
 */
export class StdioProxy {
  readonly #p: StdioProxyOptions;
  readonly #tools: ToolList;
  readonly #secrets: SentSecrets;
  readonly #guard: Guard;
  /** What a 2025-11-25 client has said of itself. */
  #initialize: string | undefined;
  #connection: ClientConnection | undefined;
  readonly #closed = new AbortController();
  readonly #stopping = new AbortController();
  /** Requests of this proxy, by id as it is written. */
  readonly #toUpstream = new Map<string, PromiseWithResolvers<Message>>();
  readonly #clientRequests = new ClientRequests();
  /** Calls of the MCP client that have not gone to the upstream yet, by id. */
  readonly #held = new Map<string, AbortController>();
  /** Confirmed calls that have. */
  readonly #sent = new Map<string, PromiseWithResolvers<Message> & { readonly held: AbortController | undefined }>();
  /** Its requests for a list that will be changed. */
  readonly #lists = new Set<string>();
  /** Calls that are being answered. */
  readonly #answering = new Set<Promise<void>>();

  constructor(p: StdioProxyOptions) {
    this.#p = p;
    this.#tools = new ToolList((method, params) => this.#askUpstream(method, params));
    this.#guard = p.guard;
    this.#secrets = new SentSecrets(p.log);
  }

  /** Serves until one end closes. Resolves with the exit code of the upstream. */
  async run(): Promise<number> {
    const { child, input } = this.#p;
    const fromUpstream = Promise.all([this.#readUpstream(), this.#readLog()]);
    const clientEnds = this.#readClient().finally(() => child.stop());
    // The reader of the output is gone, and with it the MCP client.
    this.#p.output.on('error', () => void child.stop());
    const code = await child.ended;
    // What it has written before its end. A program that it has started may keep the output open.
    await Promise.race([fromUpstream, delay(LAST_WORDS_MS)]);
    this.#closed.abort();
    // Ends what waits until it reads.
    child.stdin.destroy();
    for (const { reject } of this.#toUpstream.values()) reject(new NotSentError('The server has ended.'));
    for (const [id, { reject }] of this.#sent) {
      this.#sent.delete(id);
      reject(new OutcomeUnknownError());
    }
    await Promise.race([Promise.allSettled(this.#answering), delay(LAST_WORDS_MS)]);
    input.destroy();
    await clientEnds;
    return code;
  }

  /** The MCP client has left: a call that waits for a person is not sent. @param id as JSON text */
  giveUp(id: string): void {
    this.#held.get(id)?.abort();
  }

  /** Ends what waits for a person. The upstream goes on with what it has. */
  stopAsking(): void {
    this.#stopping.abort();
  }

  async #readClient(): Promise<void> {
    try {
      for await (const line of linesOf(this.#p.input)) await this.#fromClient(line);
    } catch (error) {
      // The input is destroyed at the end.
      if (!this.#closed.signal.aborted) this.#p.log('cannot read from the MCP client', { error: textOf(error) });
    }
    this.#closed.abort();
  }

  async #readUpstream(): Promise<void> {
    try {
      for await (const line of linesOf(this.#p.child.stdout)) await this.#fromUpstream(line);
    } catch (error) {
      this.#p.log('cannot read from the upstream', { error: textOf(error) });
      void this.#p.child.stop();
    }
  }

  async #readLog(): Promise<void> {
    const { child, errorOutput = process.stderr, log } = this.#p;
    if (child.stderr === undefined) return;
    try {
      for await (const bytes of linesOf(child.stderr)) {
        const line = this.#secrets.masked(bytes);
        if (line !== undefined) await write(errorOutput, line);
      }
    } catch (error) {
      log('cannot read the log of the upstream', { error: textOf(error) });
      // It must not wait for a reader.
      child.stderr.resume();
    }
  }

  async #fromClient(line: Buffer): Promise<void> {
    let message: Message | readonly Message[];
    try {
      message = readClientMessage(line);
    } catch (error) {
      return await this.#refuse(error, readUpstreamMessage(line));
    }
    if ('root' in message) return await this.#fromClientOne(message);
    try {
      this.#guard.refuseBatch(message, this.#tools);
    } catch (error) {
      return await this.#refuse(error, message);
    }
    // The upstream ignores the cancellation of a call that it has not received.
    for (const one of message) if (one.method === CANCELLED) this.#cancel(one);
    await write(this.#p.child.stdin, line);
  }

  async #fromClientOne(message: Message): Promise<void> {
    const { id, method, params, bytes } = message;
    switch (method) {
      case undefined:
        if (this.#clientRequests.take(this, message)) return;
        break;
      case 'initialize':
        this.#initialize = message.textOf(params) ?? '{}';
        break;
      case 'notifications/initialized':
        await write(this.#p.child.stdin, bytes);
        return this.#guard.announce(this.#tools);
      case CANCELLED:
        if (this.#cancel(message) === 'held') return;
        break;
      case 'tools/list':
        if (id !== undefined && this.#p.rules.changesLists) this.#lists.add(id);
        break;
      case 'tools/call':
        if (this.#guard.isPassed(message, this.#tools)) break;
        return this.#fromClientCall(message);
    }
    await write(this.#p.child.stdin, bytes);
  }

  /** Ends the guarded call that a cancellation names, if there is one: no answer is sent for it. Returns where the call was. */
  #cancel({ params }: Message): 'held' | 'sent' | undefined {
    const id = idOf(memberOf(params, 'requestId')) ?? '';
    const held = this.#held.get(id);
    held?.abort();
    if (held !== undefined) return 'held';
    const sent = this.#sent.get(id);
    if (sent === undefined) return undefined;
    this.#sent.delete(id);
    sent.held?.abort();
    sent.reject(new OutcomeUnknownError());
    return 'sent';
  }

  #fromClientCall(message: Message): void {
    const answering = this.#answerCall(message).catch(error => this.#refuse(error, message));
    this.#answering.add(answering);
    void answering.finally(() => this.#answering.delete(answering));
  }

  async #answerCall(message: Message): Promise<void> {
    const id = callIdOf(message);
    if (this.#held.size >= MAX_HELD) throw new RpcError(-32603, `more than ${MAX_HELD} calls wait`);
    if (this.#held.has(id) || this.#sent.has(id)) throw new RpcError(-32600, 'an id that another call has');
    const held = new AbortController();
    this.#held.set(id, held);
    const over = AbortSignal.any([this.#closed.signal, this.#stopping.signal]);
    const signal = AbortSignal.any([held.signal, over]);
    const ownMeta = this.#initialize === undefined ? ownMetaOf(message) : undefined;
    const call: IncomingCall = {
      message,
      client: this.#client(),
      authInfo: this.#p.client?.authInfo,
      signal,
      ownMeta,
      elicit: (params, until) => this.#clientRequests.elicit(this, params, until, text => this.#tell(text)),
      notify: (method, params) => this.#notify(method, params),
      send: (bytes, headers) => this.#send(id, bytes, headers),
    };
    let answer: Answer | undefined;
    try {
      answer = await this.#guard.answer(call);
    } catch (error) {
      // The MCP client has given the call up, and expects no answer.
      if (held.signal.aborted) return;
      throw over.aborted ? new RpcError(-32603, 'The server has ended. Nothing was done.') : error;
    } finally {
      this.#held.delete(id);
    }
    if (held.signal.aborted) return;
    if (answer === undefined) return await write(this.#p.child.stdin, message.bytes);
    await this.#tell(rendered(id, answer, ownMeta !== undefined));
  }

  #client(): ClientConnection {
    this.#connection ??= {
      initialize: this.#initialize,
      tools: this.#tools,
      lasts: true,
      secrets: this.#secrets,
      owner: this.#p.client?.owner ?? LOCAL_OWNER,
      sessionId: this.#p.client?.sessionId,
      closed: this.#closed.signal,
      notifyComplete: elicitationId => this.#notify('notifications/elicitation/complete', { elicitationId }),
    };
    return this.#connection;
  }

  /** The one place from which a confirmed call goes to the upstream. */
  async #send(id: string, bytes: Buffer, headers: Readonly<Record<string, string>> | undefined): Promise<Message> {
    // The file with the rules must not have any.
    if (headers !== undefined) throw new TypeError('a server on stdio has no headers');
    if (this.#closed.signal.aborted || !this.#p.child.stdin.writable) throw new NotSentError('The server has ended.');
    const response = { ...Promise.withResolvers<Message>(), held: this.#held.get(id) };
    // From now on the MCP client's cancellation is for the upstream.
    this.#held.delete(id);
    this.#sent.set(id, response);
    // Not awaited: the upstream may end while it does not read.
    void write(this.#p.child.stdin, bytes);
    return await response.promise;
  }

  async #askUpstream(method: string, params: string): Promise<Message> {
    const id = ownId();
    const response = Promise.withResolvers<Message>();
    const { promise, reject } = response;
    this.#toUpstream.set(id, response);
    // Also before it is awaited: the upstream may not even read.
    promise.catch(() => {});
    const timer = setTimeout(() => reject(new NotSentError(`The server does not answer ${method}.`)), LIST_MS);
    try {
      await write(this.#p.child.stdin, Buffer.from(requestText(id, method, params)));
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#toUpstream.delete(id);
    }
  }

  async #fromUpstream(bytes: Buffer): Promise<void> {
    const line = this.#secrets.masked(bytes);
    if (line === undefined) return;
    const waiting = this.#toUpstream.size + this.#sent.size + this.#held.size + this.#lists.size;
    const mayBeMine = waiting > 0 || line.includes(LIST_CHANGED);
    const message = mayBeMine ? readUpstreamMessage(line) : undefined;
    if (mayBeMine ? message === undefined : !isMessage(line))
      return this.#p.log('not a message', { line: line.toString('utf8', 0, 500) });
    if (message === undefined) return await write(this.#p.output, line);
    const messages = 'root' in message ? [message] : message;
    const taken = messages.map(one => this.#taken(one));
    const isWhole = taken.every((bytes, index) => bytes === messages[index]?.bytes);
    for (const bytes of isWhole ? [line] : taken) if (bytes !== undefined) await write(this.#p.output, bytes);
  }

  /** What the MCP client gets of a message. Undefined: nothing. */
  #taken(message: Message): Buffer | undefined {
    const { id, method, bytes } = message;
    if (method === 'notifications/tools/list_changed') this.#tools.forget();
    if (id === undefined || (method !== undefined && !message.isResponse)) return bytes;
    const own = this.#toUpstream.get(id);
    if (own !== undefined) {
      own.resolve(message);
      return undefined;
    }
    const sent = this.#sent.get(id);
    if (sent !== undefined) {
      this.#sent.delete(id);
      // The proxy may send the call again. Until then, the MCP client's cancellation is for the proxy.
      if (sent.held !== undefined) this.#held.set(id, sent.held);
      sent.resolve(message);
      return undefined;
    }
    if (this.#held.has(id)) {
      this.#p.log('the upstream answers a call that it has not got');
      return undefined;
    }
    return this.#lists.delete(id) ? listedFor(message, this.#p.rules) : bytes;
  }

  /** Answers what is not passed on, so that nobody waits for it. @param of the messages, if there are any */
  async #refuse(error: unknown, of: Message | readonly Message[] | undefined): Promise<void> {
    const isOwn = error instanceof RpcError;
    const answer = isOwn ? error : new RpcError(-32603, 'Internal error');
    if (!isOwn || answer.code === -32700 || answer.code === -32600)
      this.#p.log('message of the MCP client refused', { error: textOf(error) });
    const messages = of === undefined ? [undefined] : 'root' in of ? [of] : of;
    for (const message of messages) {
      // A notification and a response get no answer. What cannot be read may have been a request.
      if (message !== undefined && (message.id === undefined || message.method === undefined)) continue;
      await this.#tell(rendered(message?.id ?? 'null', { type: 'error', error: answer }));
    }
  }

  #notify(method: string, params: object): Promise<void> {
    return this.#tell(notificationText(method, params));
  }

  #tell(message: string | Buffer): Promise<void> {
    return write(this.#p.output, typeof message === 'string' ? Buffer.from(message) : message);
  }
}

const CANCELLED = 'notifications/cancelled';
/** Within the name of the notice, in any spelling that a writer of JSON chooses for its slashes. */
const LIST_CHANGED = 'list_changed';

const LINE_END = Buffer.from('\n');

/** One wait for all that want to write to a stream. */
const drains = new WeakMap<Writable, Promise<void>>();

/** Resolves when the stream takes more. What is written to a stream that has ended is lost. */
async function write(stream: Writable, bytes: Buffer): Promise<void> {
  if (!stream.writable || stream.write(Buffer.concat([bytes, LINE_END]))) return;
  const drain = drains.get(stream) ?? drained(stream).finally(() => drains.delete(stream));
  drains.set(stream, drain);
  await drain;
}

async function drained(stream: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const event of ['drain', 'close', 'error'] as const) stream.once(event, resolve);
  await promise;
  for (const event of ['drain', 'close', 'error'] as const) stream.off(event, resolve);
}
