/**
 * Many waiting callers of one gateway. Each holds a connection with a waiting read or an event stream, and reports when it got its
 * response. Does little per connection, because it shares the machine with the processes under test.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { z } from 'zod';

/** From the parent. */
export const waiterCommandSchema = z.discriminatedUnion('do', [
  /** Opens one connection for each path. */
  z.strictObject({ do: z.literal('hold'), port: z.int(), paths: z.array(z.string()), headers: z.string() }),
  z.strictObject({ do: z.literal('release') }),
]);
export type WaiterCommand = z.infer<typeof waiterCommandSchema>;

/** To the parent. Times are in ms, by the monotonic clock that all processes of the machine share. */
export const waiterReportSchema = z.union([
  z.strictObject({ held: z.int() }),
  z.strictObject({ answered: z.int(), status: z.int(), at: z.number() }),
  z.strictObject({ released: z.literal(true) }),
]);
export type WaiterReport = z.infer<typeof waiterReportSchema>;

/** Milliseconds by the clock of the machine. */
export const machineNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Concurrent connection attempts, fewer than the gateway's backlog. */
const AT_ONCE = 250;
/**
 * An address has 28,000 ports, and closed connections block theirs for a minute. So each group of connections uses another source address
 * of 127.0.0.0/8.
 */
const PER_ADDRESS = 5_000;

const report = (message: WaiterReport) => process.send?.(message);

if (import.meta.main) {
  let sockets: Socket[] = [];
  let opened = 0;
  const nextAddress = () => {
    const nth = Math.floor(opened / PER_ADDRESS);
    opened += 1;
    return `127.1.${Math.floor(nth / 250)}.${1 + (nth % 250)}`;
  };

  async function hold(nth: number, port: number, path: string, headers: string): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', localAddress: nextAddress() });
    socket.on('error', () => socket.destroy());
    await once(socket, 'connect');
    const request = `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;
    let isStream = false;
    socket.on('data', chunk => {
      const at = machineNow();
      if (isStream) return;
      const answer = chunk.toString('latin1');
      isStream = answer.includes('text/event-stream');
      if (isStream) return;
      report({ answered: nth, status: Number(answer.slice(9, 12)), at });
      // The wait timed out without a change. Like real callers, it reads again.
      if (answer.includes('"status":"pending"')) socket.write(request);
    });
    socket.write(request);
    return socket;
  }

  process.on('message', async (message: unknown) => {
    const command = waiterCommandSchema.parse(message);
    if (command.do === 'release') {
      const closed = Promise.all(sockets.map(socket => (socket.destroyed ? undefined : once(socket, 'close'))));
      for (const socket of sockets) socket.destroy();
      await closed;
      sockets = [];
      report({ released: true });
      return;
    }
    const { port, paths, headers } = command;
    for (let at = 0; at < paths.length; at += AT_ONCE) {
      const opening = paths.slice(at, at + AT_ONCE).map((path, n) => hold(at + n, port, path, headers));
      sockets.push(...(await Promise.all(opening)));
    }
    report({ held: sockets.length });
  });
  process.once('SIGTERM', () => process.exit(0));
  process.send?.({ ready: true });
}
