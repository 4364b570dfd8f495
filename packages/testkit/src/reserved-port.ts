import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** A port that no other test on this machine gets. Disposing it, or the end of the process, releases it. */
export interface ReservedPort extends Disposable {
  readonly port: number;
}

/** Offset of the port of the cluster bus, on which a cluster node also listens. */
const BUS_OFFSET = 10_000;

/**
 * Below the ephemeral ports of Linux (32768 and above), so that no outgoing connection takes a port while its server restarts. The
 * ports of the cluster buses start after this range.
 */
const FIRST = 12_000;
const COUNT = BUS_OFFSET;
const MOST_TRIES = 200;

/**
 * Reserves a free port of the loopback address, together with the port of its cluster bus. Tests in all processes respect the
 * reservation. Another program may still take the port, so retry a bind where that matters.
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

/** Returns a port of `reservePort`, reserved until this process ends. */
export async function freePort(): Promise<number> {
  return (await reservePort()).port;
}

/** Only one process can own the name of an abstract socket, and the kernel releases it. Linux only. */
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

/** Returns undefined if the address is in use. */
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
