import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Damage, type HonestAnswer, type RawAnswer, whole } from './raw-answer.ts';

export interface AnsweredRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** An active damage. Disposing it ends the damage. */
export interface Order extends Disposable {
  /** Number of requests that got a damaged response. */
  readonly count: number;
  /**
   * Number of bytes that each flood sent, by connection. Resolves once the clients have left. Includes bytes in socket buffers.
   */
  floods(): Promise<readonly number[]>;
}

/**
 * A server on a raw socket that can send any response, valid HTTP or not. By default it forwards requests to a server behind it
 * and relays the response.
 */
export interface AnsweringMachine extends AsyncDisposable {
  readonly port: number;
  /** Damages the response to every matching request. The server behind it has already handled the request. */
  answer(matches: (request: AnsweredRequest) => boolean, damage: Damage): Order;
  /** Sets the server behind it: its port, or a function that responds. Default: 200 with `{}`. */
  behind(target: number | Behind): void;
  /** Requests so far. */
  readonly requests: readonly AnsweredRequest[];
  /** Connections that are open. */
  readonly connections: number;
}

type Behind = (request: AnsweredRequest) => HonestAnswer | Promise<HonestAnswer>;

const DRIP_MS = 10;
/** Maximum size of a flood, for clients that read everything. */
export const FLOOD_BYTES = 64 * 1024 * 1024;
/** Connections to the servers behind. */
const agent = new Agent({ keepAlive: true });

export async function startAnsweringMachine(): Promise<AnsweringMachine> {
  const sockets = new Set<Socket>();
  const orders: {
    readonly matches: (request: AnsweredRequest) => boolean;
    readonly damage: Damage;
    readonly floods: Promise<number>[];
    count: number;
  }[] = [];
  const requests: AnsweredRequest[] = [];
  let target: number | Behind = () => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{}'),
  });

  async function answer(request: AnsweredRequest, socket: Socket): Promise<void> {
    const honest = typeof target === 'number' ? await forward(request, target) : await target(request);
    const order = orders.find(({ matches }) => matches(request));
    if (order === undefined) return send(socket, whole(honest.status, honest.body, Object.entries(honest.headers)));
    order.count += 1;
    const damaged = order.damage(honest);
    if (damaged.after === 'flood') order.floods.push(flood(socket, damaged));
    else send(socket, damaged);
  }

  async function serve(socket: Socket): Promise<void> {
    for await (const request of requestsOf(socket)) {
      requests.push(request);
      await answer(request, socket);
    }
  }

  const listener = createServer(socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Clients disconnect during responses that violate the protocol.
    socket.on('error', () => socket.destroy());
    serve(socket).catch(() => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');

  return {
    port: (listener.address() as AddressInfo).port,
    requests,
    get connections() {
      return sockets.size;
    },
    behind(next) {
      target = next;
    },
    answer(matches, damage) {
      const order = { matches, damage, floods: [], count: 0 };
      orders.unshift(order);
      return {
        get count() {
          return order.count;
        },
        floods: () => Promise.all(order.floods),
        [Symbol.dispose]: () => void orders.splice(orders.indexOf(order), 1),
      };
    },
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Sends until the client disconnects. @returns the number of bytes that the system accepted */
async function flood(socket: Socket, { bytes, piece = Buffer.from(' ') }: RawAnswer): Promise<number> {
  const left = new Promise<void>(resolve => socket.once('close', () => resolve()));
  if (bytes.length > 0) socket.write(bytes);
  const block = Buffer.concat(Array.from({ length: Math.ceil((64 * 1024) / piece.length) }, () => piece));
  while (!socket.destroyed && socket.bytesWritten < FLOOD_BYTES)
    if (!socket.write(block)) await Promise.race([new Promise(resolve => socket.once('drain', resolve)), left]);
  const sent = socket.bytesWritten - socket.writableLength;
  socket.destroy();
  await left;
  return sent;
}

function send(socket: Socket, { bytes, after }: RawAnswer): void {
  if (socket.destroyed) return;
  switch (after) {
    case 'flood':
    case 'keep':
    case 'silence':
      socket.write(bytes);
      return;
    case 'end':
      socket.end(bytes);
      return;
    case 'reset':
      if (bytes.length === 0) socket.resetAndDestroy();
      else socket.write(bytes, () => socket.resetAndDestroy());
      return;
    case 'drip': {
      socket.write(bytes);
      const timer = setInterval(() => socket.write(' '), DRIP_MS);
      socket.on('close', () => clearInterval(timer));
    }
  }
}

/** Reads the requests of one connection in the formats of this repository's clients: with `content-length` or without a body. */
async function* requestsOf(socket: Socket): AsyncGenerator<AnsweredRequest> {
  let rest = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const end = rest.indexOf('\r\n\r\n');
      if (end === -1) break;
      const [requestLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
      const headers = Object.fromEntries(
        lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
      if (rest.length < bodyEnd) break;
      const [method = '', path = ''] = requestLine.split(' ');
      const body = rest.subarray(end + 4, bodyEnd);
      rest = rest.subarray(bodyEnd);
      yield { method, path, headers, body };
    }
  }
}

async function forward({ method, path, headers, body }: AnsweredRequest, port: number): Promise<HonestAnswer> {
  const outgoing = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent });
  outgoing.end(body);
  const [incoming] = await once(outgoing, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const kept = Object.entries(incoming.headers as Record<string, string | string[]>).flatMap(([name, value]) =>
    /^(connection|keep-alive|transfer-encoding|content-length)$/.test(name)
      ? []
      : // A list only for `set-cookie`, which this map cannot hold twice: one header line per cookie.
        [[name, Array.isArray(value) ? value.join(`\r\n${name}: `) : value] as const],
  );
  return { status: incoming.statusCode, headers: Object.fromEntries(kept), body: Buffer.concat(chunks) };
}
