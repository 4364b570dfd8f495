import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** A port that no other test of this machine gets. Given back when it is disposed of, or when the process ends. */
export interface ReservedPort extends Disposable {
  readonly port: number;
}

/** A cluster node also listens on the port with this offset, its bus. */
export const BUS_OFFSET = 10_000;

/**
 * Below the range from which Linux takes the ports of outgoing connections (32768 and above), so that none of them takes a port while
 * its server restarts. The range of the buses begins where this one ends.
 */
const FIRST = 12_000;
const COUNT = BUS_OFFSET;
const MOST_TRIES = 200;

/**
 * Reserves a port of the loopback address on which, as on that of its cluster bus, no process listens. Tests of all processes
 * respect the reservation; another program may still take the port, so bind it with a retry where that matters.
 */
export async function reservePort(): Promise<ReservedPort> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const port = FIRST + randomInt(COUNT);
    const claim = await claimed(port);
    if (claim === undefined) continue;
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) {
      return { port, [Symbol.dispose]: () => void claim.close() };
    }
    claim.close();
  }
  throw new Error('No port is free.');
}

/** A port as `reservePort` finds it, reserved until this process ends. */
export async function freePort(): Promise<number> {
  return (await reservePort()).port;
}

/** The name of an abstract socket belongs to one process and is given back by the kernel. Only Linux has them. */
function claimed(port: number): Promise<Server | undefined> {
  return process.platform === 'linux' ? listening(`\0postern-test-port-${port}`) : Promise.resolve(createServer());
}

async function isFree(port: number): Promise<boolean> {
  const probe = await listening({ port, host: '127.0.0.1' });
  if (probe === undefined) return false;
  probe.close();
  await once(probe, 'close');
  return true;
}

/** Undefined where the address is taken. */
async function listening(address: string | { port: number; host: string }): Promise<Server | undefined> {
  const server = createServer(socket => socket.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  if (typeof address === 'string') server.listen(address, resolve);
  else server.listen(address, resolve);
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return undefined;
    throw error;
  }
  server.unref();
  return server;
}
