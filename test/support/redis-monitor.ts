import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';

/** A command that Redis has run. */
export interface MonitoredCommand {
  /** The command name first. */
  readonly args: readonly string[];
  /** Whether a script ran the command, as opposed to a client. */
  readonly isFromScript: boolean;
}

/** Commands that a Redis runs from now on, from any client or script (MONITOR). */
export interface RedisMonitor extends Disposable {
  /**
   * Returns the commands since the start or since the last call, in order of execution.
   * @throws if the connection was lost, because commands may be missing
   */
  take(): Promise<readonly MonitoredCommand[]>;
}

/**
 * ioredis has a monitor too, but fails if lines of MONITOR arrive in the same packet as its reply.
 * @param url of a Redis on loopback, without credentials
 */
export async function startRedisMonitor(url: string): Promise<RedisMonitor> {
  await using stack = new AsyncDisposableStack();
  const { hostname, port } = new URL(url);
  const socket = stack.adopt(connect(Number(port), hostname), one => void one.destroy());
  const begun = Promise.withResolvers<void>();
  const marks = new Map<string, PromiseWithResolvers<void>>();
  let commands: MonitoredCommand[] = [];
  let failure: Error | undefined;

  await once(socket, 'connect');
  const fail = (error: Error) => {
    failure ??= error;
    for (const waiting of [begun, ...marks.values()]) waiting.reject(failure);
  };
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the connection of the monitor was closed')));
  createInterface(socket).on('line', line => {
    if (line === '+OK') begun.resolve();
    else if (line.startsWith('-')) fail(new Error(`Redis refused MONITOR: ${line}`));
    else {
      const command = commandIn(line);
      const mark = marks.get(command.args[1] ?? '');
      if (mark === undefined) commands.push(command);
      else mark.resolve();
    }
  });
  socket.write('MONITOR\r\n');
  await begun.promise;

  const redis = stack.adopt(new Redis(url, { retryStrategy: () => null }), one => one.disconnect());
  redis.on('error', fail);
  /** Redis executes commands and reports them in order, so all commands before the mark have been reported when it arrives. */
  async function untilTold(): Promise<void> {
    if (failure !== undefined) throw failure;
    const text = randomUUID();
    const mark = Promise.withResolvers<void>();
    marks.set(text, mark);
    try {
      await Promise.all([mark.promise, redis.echo(text)]);
    } finally {
      marks.delete(text);
    }
  }

  await untilTold();
  commands = [];
  const owned = stack.move();
  return {
    async take() {
      await untilTold();
      const taken = commands;
      commands = [];
      return taken;
    },
    [Symbol.dispose]: () => void owned.disposeAsync(),
  };
}

const NAMED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

/**
 * `+<time> [<database> <address>] "<argument>" …`: `lua` for the address of a script, and `\xHH` for bytes that are not
 * printable ASCII.
 */
export function commandIn(line: string): MonitoredCommand {
  const args = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, quoted = '']) => {
    const bytes = quoted.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, code?: string, name = '') =>
      code === undefined ? (NAMED[name] ?? name) : String.fromCharCode(Number.parseInt(code, 16)),
    );
    return Buffer.from(bytes, 'latin1').toString();
  });
  return { args, isFromScript: /^\+\S+ \[\d+ lua\]/.test(line) };
}
