import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from './addresses.ts';

/** Bytes that the process holds for callers that it does not know yet. */
const PROCESS_BYTES = 64 * 1024 * 1024;
/** Of them, for one address. A signed-in person may cause as many. */
const ACCOUNT_BYTES = 16 * 1024 * 1024;
/** Objects of a connection, or of a request on it, without headers and body. */
const BASE_BYTES = 8 * 1024;
/** What Node keeps for a byte of an incomplete header: the shortest names and values are objects too. */
const PARTIAL_HEADER_FACTOR = 12;
/** As above, for each name and value of a complete header. */
const HEADER_BYTES = 64;
/** Of a body without a declared length, before any of it. */
const UNDECLARED_BYTES = 256 * 1024;
/** What Node keeps for a byte of such a body: each chunk is an object of some 400 bytes, and the shortest have 6. */
const CHUNKED_FACTOR = 64;
/** Maximum that a declared length counts: more than any route reads. */
const LARGEST_BODY = 512 * 1024;
/** Of so many, the oldest that waits for its caller is closed. A search of all would take longer than the requests. */
const EVICTABLE = 64;
/** Interval at which the gateway measures what no event reports, in ms: partial headers, and responses that wait for others. */
const SWEEP_MS = 100;

/** Without it, Node answers requests without a host, of which 3,000 fit into one packet, before anyone can count them. */
export const SERVER_OPTIONS = { requireHostHeader: false } as const;

/** Result of Node's hook for a request: what follows is of another protocol. */
const STOP_PARSING = 2;

/** Bytes for one connection, or for one request on it. */
interface Held {
  readonly socket: Socket;
  readonly account: Account;
  readonly measure: () => number;
  /** Whether it lasts as long as its caller wants, and not as long as the gateway works. */
  readonly isLeftOpen: () => boolean;
  bytes: number;
}

type Measured = Pick<Held, 'measure' | 'isLeftOpen'>;

/** An address, or a signed-in person. */
interface Account {
  readonly name: string;
  readonly isPerson: boolean;
  /** Oldest first. */
  readonly held: Set<Held>;
  bytes: number;
}

const identifies = new WeakMap<IncomingMessage, (person: string | undefined) => void>();

/**
 * Ends the charge of a request once its MCP server or operator is known, because other limits apply to them. If a person has signed in, the
 * charge moves from the address to the person.
 */
export function identified({ raw }: { readonly raw: IncomingMessage }, person?: string): void {
  identifies.get(raw)?.(person);
}

/**
 * One budget, on all listeners, for what the process holds before it knows the caller: silent connections, headers, bodies, pipelined
 * requests, unread responses. If an address exceeds its share, or all addresses the budget, the oldest connection that waits for
 * its caller is closed: an honest request arrives, and its response is read, within milliseconds. A request that waits for the gateway is
 * closed only if all do, so a flood from the same address does not cut it off.
 */
export class UnidentifiedBytes implements Disposable {
  /** Of all addresses, oldest first. */
  readonly #held = new Set<Held>();
  readonly #accounts = new Map<string, Account>();
  /** Connections of known callers without a request, each with a function that charges it once it has sent something. */
  readonly #silent = new Map<Socket, () => void>();
  readonly #onEvicted: () => void;
  readonly #timer = setInterval(() => this.sweep(), SWEEP_MS).unref();
  #bytes = 0;

  /** @param onEvicted called for each connection that is closed */
  constructor(onEvicted: () => void) {
    this.#onEvicted = onEvicted;
  }

  /** Bytes of all addresses. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Guards all requests of `server`, which was created with `SERVER_OPTIONS`: Node answers none of them by itself.
   * @param p.pipelined requests on one connection without a complete response. Beyond it the connection is closed, because each refusal
   * would stay in memory until the responses before it are sent.
   */
  guard(
    server: Server,
    p: {
      readonly pipelined: number;
      readonly addressOf: (request: IncomingMessage) => string;
      readonly onRequest: RequestListener;
    },
  ): void {
    const connections = new WeakMap<
      Socket,
      { requests: number; read: number; idle: Held | undefined; isKnown: boolean }
    >();

    /** Charges a connection without a request, from the second sweep on: a new connection may have sent a request that waits to be read. */
    const idleOf = (socket: Socket, before = socket.bytesRead): Held => {
      // The first time is now.
      let measured = socket.bytesRead > before ? 2 : 0;
      const measure = () => {
        measured += 1;
        return measured > 2 ? BASE_BYTES + (socket.bytesRead - before) * PARTIAL_HEADER_FACTOR : 0;
      };
      const account = { name: networkOf(socket.remoteAddress ?? ''), isPerson: false };
      return this.#hold(socket, account, { measure, isLeftOpen: () => true });
    };

    server.on('connection', (socket: Socket) => {
      const connection = { requests: 0, read: 0, idle: idleOf(socket), isKnown: false };
      connections.set(socket, connection);
      socket.once('close', () => {
        this.#silent.delete(socket);
        this.#release(connection.idle);
      });
    });

    const onRequest: RequestListener = (request, response) => {
      const { socket } = request;
      const connection = connections.get(socket);
      // Node parses the rest of a packet after its connection has been closed.
      if (connection === undefined || socket.destroyed) return;
      if (connection.requests >= p.pipelined) {
        this.#close(socket);
        return;
      }
      this.#silent.delete(socket);
      this.#release(connection.idle);
      connection.requests += 1;
      const bytes = BASE_BYTES + request.rawHeaders.length * HEADER_BYTES + bodyBytesOf(request);
      const isChunked = request.headers['transfer-encoding'] !== undefined;
      const { read } = connection;
      const measure = () =>
        bytes + response.writableLength + (isChunked ? (socket.bytesRead - read) * CHUNKED_FACTOR : 0);
      const measured = { measure, isLeftOpen: () => !request.complete || response.writableEnded };
      let held = this.#hold(socket, { name: networkOf(p.addressOf(request)), isPerson: false }, measured);
      identifies.set(request, person => {
        connection.isKnown = true;
        this.#release(held);
        if (person !== undefined && !response.closed)
          held = this.#hold(socket, { name: person, isPerson: true }, measured);
      });
      // By now the socket has the whole response, and keeps what the caller does not read.
      response.once('prefinish', () => this.#update(held));
      response.once('close', () => {
        this.#release(held);
        connection.requests -= 1;
        if (connection.requests > 0) return;
        const read = socket.bytesRead;
        connection.read = read;
        if (socket.destroyed) return;
        if (!connection.isKnown) connection.idle = idleOf(socket);
        else
          this.#silent.set(socket, () => {
            if (socket.bytesRead === read) return;
            this.#silent.delete(socket);
            connection.idle = idleOf(socket, read);
          });
      });
      if (socket.destroyed) return;
      const refused = refusalOf(request);
      if (refused === undefined) p.onRequest(request, response);
      else response.writeHead(refused, { connection: 'close' }).end();
    };
    server.on('request', onRequest);
    server.on('checkExpectation', onRequest);
  }

  /** Measures everything that is held. */
  sweep(): void {
    for (const check of this.#silent.values()) check();
    for (const { held } of this.#accounts.values()) for (const each of held) this.#update(each);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #hold(socket: Socket, { name, isPerson }: Pick<Account, 'name' | 'isPerson'>, measured: Measured): Held {
    const key = `${isPerson} ${name}`;
    const account = this.#accounts.get(key) ?? { name: key, isPerson, held: new Set(), bytes: 0 };
    this.#accounts.set(key, account);
    const held = { socket, account, ...measured, bytes: 0 };
    account.held.add(held);
    if (!isPerson) this.#held.add(held);
    this.#update(held);
    return held;
  }

  #update(held: Held): void {
    const { account } = held;
    if (!account.held.has(held)) return;
    this.#add(held, held.measure() - held.bytes);
    while (account.bytes > ACCOUNT_BYTES) this.#evict(account.held);
    while (this.#bytes > PROCESS_BYTES) this.#evict(this.#held);
  }

  #add(held: Held, bytes: number): void {
    held.bytes += bytes;
    held.account.bytes += bytes;
    if (!held.account.isPerson) this.#bytes += bytes;
  }

  #release(held: Held | undefined): void {
    if (held === undefined || !held.account.held.delete(held)) return;
    this.#add(held, -held.bytes);
    this.#held.delete(held);
    if (held.account.held.size === 0) this.#accounts.delete(held.account.name);
  }

  #evict(all: ReadonlySet<Held>): void {
    const evicted = evictableIn(all);
    if (evicted === undefined) return;
    this.#release(evicted);
    this.#close(evicted.socket);
  }

  #close(socket: Socket): void {
    if (socket.destroyed) return;
    socket.destroy();
    // Node would parse the rest of the packet, up to 64 KiB of requests, and then abort each. It has no public way to stop that.
    const { parser } = socket as Socket & { parser?: { onIncoming?: unknown } | null };
    if (parser?.onIncoming !== undefined) parser.onIncoming = () => STOP_PARSING;
    this.#onEvicted();
  }
}

/** The status of a request that Node would refuse by itself. */
function refusalOf({ headers: { host, expect }, httpVersion }: IncomingMessage): 400 | 417 | undefined {
  if (httpVersion === '1.1' && host === undefined) return 400;
  return expect === undefined || expect.toLowerCase() === '100-continue' ? undefined : 417;
}

function evictableIn(all: ReadonlySet<Held>): Held | undefined {
  const [oldest] = all;
  let passed = 0;
  for (const held of all) {
    if (held.isLeftOpen()) return held;
    passed += 1;
    if (passed === EVICTABLE) break;
  }
  return oldest;
}

function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return UNDECLARED_BYTES;
  return Math.min(Number(headers['content-length'] ?? 0), LARGEST_BODY);
}
