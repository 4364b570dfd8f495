import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import ipaddr from 'ipaddr.js';

const trusted = new WeakMap<readonly string[], ReturnType<typeof proxyAddr.compile>>();

/** Returns the address of the caller before routing, as `request.ip` does afterwards. */
export function addressOf(request: IncomingMessage, { trustProxy }: { readonly trustProxy: string[] }): string {
  if (trustProxy.length === 0 || request.headers['x-forwarded-for'] === undefined)
    return request.socket.remoteAddress ?? '';
  const trust = trusted.get(trustProxy) ?? proxyAddr.compile(trustProxy);
  trusted.set(trustProxy, trust);
  return proxyAddr(request, trust);
}

/** Returns the part of an address that its owner cannot choose: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  return networksOf(address)[0];
}

/** The network of an address and the site around it: the first 64 and 48 bits of an IPv6 address, an IPv4 address twice. */
export function networksOf(address: string): readonly [network: string, site: string] {
  // Some proxies forward the port too. A caller could choose any other text.
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/.exec(address) ?? [];
  const text = bracketed ?? plain ?? address;
  if (!ipaddr.isValid(text)) return ['unknown', 'unknown'];
  const parsed = ipaddr.process(text);
  if (!(parsed instanceof ipaddr.IPv6)) return [parsed.toString(), parsed.toString()];
  // Behind NAT64, all IPv4 addresses have one prefix (RFC 6052).
  if (parsed.range() === 'rfc6052') return networksOf(ipaddr.fromByteArray(parsed.toByteArray().slice(12)).toString());
  const start = (groups: number) =>
    `${parsed.parts
      .slice(0, groups)
      .map(part => part.toString(16))
      .join(':')}::/${groups * 16}`;
  return [start(4), start(3)];
}

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
/** Of a body without a declared length. */
const UNDECLARED_BYTES = 256 * 1024;
/** Maximum that a declared length counts: more than any route reads. */
const LARGEST_BODY = 512 * 1024;
/** What Node keeps for a piece of a body, a chunk or what one packet brings, until it is read: objects, whatever its length. */
const PIECE_BYTES = 400;
/** Pieces between two measurements. */
const PIECES = 64;
/** Maximum pieces of a body. In packets of 1,400 bytes the longest that a route reads has 240. */
export const MAX_PIECES = 1_024;
/** How long a caller may take to read a response, in ms, from when it is the first on its connection. */
export const UNREAD_MS = 60_000;
/** Of so many, the oldest that waits for its caller is closed. A search of all would take longer than the requests. */
const EVICTABLE = 64;
/** Interval at which the gateway measures what no event reports, in ms: partial headers, and responses that wait for others. */
const SWEEP_MS = 100;

/** Without it, Node answers requests without a host, of which 3,000 fit into one packet, before anyone can count them. */
export const SERVER_OPTIONS = { requireHostHeader: false } as const;

/** Result of Node's hook for a request: what follows is of another protocol. */
const STOP_PARSING = 2;
/** Where a parser of Node keeps its function for the pieces of a body. */
const ON_BODY = 3;

/** Bytes for one connection, or for one request on it. */
interface Held {
  readonly socket: Socket;
  readonly account: Account;
  /** All sets that it is in, oldest first. */
  readonly sets: readonly Set<Held>[];
  readonly measure: () => number;
  /** Whether it lasts as long as its caller wants, and not as long as the gateway works. */
  readonly isLeftOpen: () => boolean;
  bytes: number;
}

type Measured = Pick<Held, 'measure' | 'isLeftOpen'>;

/**
 * Who pays. To requests of a `caller`, such as an MCP server or an operator, other limits apply while they are under way: it pays only
 * for those that wait behind another on their connection, and for responses that it does not read.
 */
interface Payer {
  readonly kind: 'address' | 'person' | 'caller';
  readonly id: string;
}

interface Account extends Payer {
  readonly held: Set<Held>;
  bytes: number;
}

const identifies = new WeakMap<IncomingMessage, (payer: Payer) => void>();

/** Moves the charge of a request from its address to who has sent it. */
export function identified({ raw }: { readonly raw: IncomingMessage }, payer: Payer): void {
  identifies.get(raw)?.(payer);
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
   * Guards all requests of `server`, which was created with `SERVER_OPTIONS`: Node answers none of them by itself. Before the connections
   * of `server` reach its maximum, the oldest one of a stranger that waits for its caller is closed, or else the one of a known caller
   * that has been idle for longest, so that there is room for the next.
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
    const connections = new Map<Socket, { requests: number; idle: Held | undefined; isKnown: boolean }>();
    const strangers = new Set<Held>();

    /** Charges a connection without a request, from the second sweep on: a new connection may have sent a request that waits to be read. */
    const idleOf = (socket: Socket, before = socket.bytesRead): Held => {
      // The first time is now.
      let measured = socket.bytesRead > before ? 2 : 0;
      const measure = () => {
        measured += 1;
        return measured > 2 ? BASE_BYTES + (socket.bytesRead - before) * PARTIAL_HEADER_FACTOR : 0;
      };
      const address = { kind: 'address', id: networkOf(socket.remoteAddress ?? '') } as const;
      return this.#hold(socket, address, { measure, isLeftOpen: () => true }, strangers);
    };

    server.on('connection', (socket: Socket) => {
      const connection = { requests: 0, idle: idleOf(socket), isKnown: false };
      connections.set(socket, connection);
      while (connections.size >= (server.maxConnections ?? Infinity)) {
        const stranger = leftOpenIn(strangers);
        const isOther = stranger !== undefined && stranger.socket !== socket;
        // Anyone may become known, and keep connections without a request.
        const closed = isOther ? stranger.socket : firstIn(this.#silent, connections);
        if (closed === undefined) break;
        // At once, because Node tells of its end only later, and others may arrive before that.
        if (isOther) this.#release(stranger);
        this.#silent.delete(closed);
        connections.delete(closed);
        this.#close(closed);
      }
      socket.once('close', () => {
        connections.delete(socket);
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
      let pieces = 0;
      const measured = {
        measure: () => bytes + pieces * PIECE_BYTES + response.writableLength,
        isLeftOpen: () => !request.complete || response.writableEnded,
      };
      let payer: Payer = { kind: 'address', id: networkOf(p.addressOf(request)) };
      const hold = () => this.#hold(socket, payer, measured, strangers);
      let held: Held | undefined = hold();
      identifies.set(request, identity => {
        connection.isKnown = true;
        payer = identity;
        this.#release(held);
        // Node gives the response its socket when it is the first on its connection.
        const isCharged = payer.kind !== 'caller' || response.socket === null;
        held = isCharged && !response.closed ? hold() : undefined;
      });
      // Measured as it arrives: many connections may have a packet full of chunks in one turn of the event loop.
      const push = request.push.bind(request);
      request.push = (piece, encoding) => {
        if (piece === null) return push(piece);
        pieces += 1;
        if (pieces > MAX_PIECES) this.#close(socket);
        else if (pieces % PIECES === 0 && held !== undefined) this.#update(held);
        return socket.destroyed ? false : push(piece, encoding);
      };
      // By now the socket has the whole response, and keeps what the caller does not read.
      response.once('prefinish', () => {
        if (held !== undefined) this.#update(held);
        if (response.writableLength === 0 || response.closed) return;
        held ??= hold();
        const timer = setTimeout(() => this.#close(socket), UNREAD_MS).unref();
        response.once('close', () => clearTimeout(timer));
      });
      response.once('close', () => {
        this.#release(held);
        connection.requests -= 1;
        if (connection.requests > 0) return;
        const read = socket.bytesRead;
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
      // No route reads it, and a waiting read would keep it.
      if (request.method === 'GET' || request.method === 'HEAD') request.resume();
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

  /** @param strangers of the same listener */
  #hold(socket: Socket, { kind, id }: Payer, measured: Measured, strangers: Set<Held>): Held {
    const key = `${kind} ${id}`;
    const account = this.#accounts.get(key) ?? { kind, id: key, held: new Set(), bytes: 0 };
    this.#accounts.set(key, account);
    const sets = kind === 'address' ? [account.held, this.#held, strangers] : [account.held];
    const held = { socket, account, sets, ...measured, bytes: 0 };
    for (const set of sets) set.add(held);
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
    if (held.account.kind === 'address') this.#bytes += bytes;
  }

  #release(held: Held | undefined): void {
    if (held === undefined || !held.account.held.has(held)) return;
    this.#add(held, -held.bytes);
    for (const set of held.sets) set.delete(held);
    if (held.account.held.size === 0) this.#accounts.delete(held.account.id);
  }

  #evict(all: ReadonlySet<Held>): void {
    const [oldest] = all;
    const evicted = leftOpenIn(all) ?? oldest;
    if (evicted === undefined) return;
    this.#release(evicted);
    this.#close(evicted.socket);
  }

  #close(socket: Socket): void {
    if (socket.destroyed) return;
    socket.destroy();
    this.#onEvicted();
    // Node would parse the rest of the packet, up to 64 KiB of requests or chunks, and then abort each. It has no public way to stop that.
    const { parser } = socket as Socket & { parser?: { onIncoming?: unknown; [ON_BODY]?: unknown } | null };
    if (parser?.onIncoming === undefined) return;
    parser.onIncoming = () => STOP_PARSING;
    const onBody = parser[ON_BODY];
    parser[ON_BODY] = undefined;
    // Node sets it only once, and uses the parser again for another connection. By then it has read the packet.
    process.nextTick(() => {
      parser[ON_BODY] = onBody;
    });
  }
}

/** The status of a request that Node would refuse by itself. */
function refusalOf({ headers: { host, expect }, httpVersion }: IncomingMessage): 400 | 417 | undefined {
  if (httpVersion === '1.1' && host === undefined) return 400;
  return expect === undefined || expect.toLowerCase() === '100-continue' ? undefined : 417;
}

/** The first socket of `all` that `some` has. */
function firstIn(all: ReadonlyMap<Socket, unknown>, some: ReadonlyMap<Socket, unknown>): Socket | undefined {
  for (const socket of all.keys()) if (some.has(socket)) return socket;
  return undefined;
}

/** The oldest that waits for its caller, if there is one among the first. */
function leftOpenIn(all: ReadonlySet<Held>): Held | undefined {
  let passed = 0;
  for (const held of all) {
    if (held.isLeftOpen()) return held;
    passed += 1;
    if (passed === EVICTABLE) break;
  }
  return undefined;
}

function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return UNDECLARED_BYTES;
  return Math.min(Number(headers['content-length'] ?? 0), LARGEST_BODY);
}
