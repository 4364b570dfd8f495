import { once } from 'node:events';
import { connect } from 'node:net';

/** What Redis is sent while it is watched (MONITOR), by whoever; what scripts call is left out. */
export interface Monitor extends Disposable {
  readonly seen: readonly (readonly string[])[];
}

/** ioredis has the same, but loses its place when there is something to show in the very moment in which it begins. */
export async function startMonitor(redisUrl: string): Promise<Monitor> {
  const { hostname, port } = new URL(redisUrl);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  const seen: string[][] = [];
  const begun = Promise.withResolvers<void>();
  let pending = '';
  socket.on('data', (chunk: string) => {
    const lines = (pending + chunk).split('\r\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '+OK') begun.resolve();
      else if (!/^\+\S+ \[\d+ lua\]/.test(line)) seen.push(argumentsIn(line));
    }
  });
  socket.on('error', error => begun.reject(error));
  await once(socket, 'connect');
  socket.write('MONITOR\r\n');
  await begun.promise;
  return { seen, [Symbol.dispose]: () => void socket.destroy() };
}

const NAMED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

/** `+<time> [<database> <address>] "<argument>" …`, where bytes that are no printable ASCII are written as `\xHH`. */
export function argumentsIn(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, quoted = '']) => {
    const bytes = quoted.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, code?: string, name = '') =>
      code === undefined ? (NAMED[name] ?? name) : String.fromCharCode(Number.parseInt(code, 16)),
    );
    return Buffer.from(bytes, 'latin1').toString();
  });
}
