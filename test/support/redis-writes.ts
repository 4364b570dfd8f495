import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';

/** A command that writes, and the key it writes to. */
export interface RedisWrite {
  readonly name: string;
  readonly key: string;
}

/** What is written to a Redis from now on, those commands included that scripts run. */
export interface WriteWatch extends Disposable {
  /**
   * What was written since the watch began, or since the last call, in the order in which Redis ran it: without what gateways do
   * by themselves with what was committed before.
   */
  take(): Promise<RedisWrite[]>;
}

/**
 * The relay carries events that are in an outbox to the feeds, notes how far, and takes turns under a lease, as re-wrapping does;
 * it does so for any commit, at a moment of its own. The commit itself writes elsewhere, and so does every other lease.
 */
const BACKGROUND = /:(?:lease:(?:relay|rewrap)|cursor|feed:[^:]+|fed:[^:]+)$/;

/** @param url of a Redis on loopback, without credentials */
export async function watchWrites(url: string): Promise<WriteWatch> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(new Redis(url), one => one.disconnect());
  const { hostname, port } = new URL(url);
  // Not by the library at hand: it takes what is told in one piece with the answer to MONITOR for an answer that nobody expects.
  const monitor = stack.adopt(connect(Number(port), hostname), one => void one.destroy());
  await once(monitor, 'connect');
  let ran: string[][] = [];
  let onMark: { readonly text: string; readonly resolve: () => void } | undefined;
  createInterface(monitor).on('line', line => {
    const command = commandIn(line);
    if (onMark !== undefined && command[1] === onMark.text) onMark.resolve();
    else ran.push(command);
  });
  monitor.write('MONITOR\r\n');
  await once(monitor, 'data');

  /** Redis runs one command after another and tells them in that order: with the mark, all before it has been told. */
  async function untilTold(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    onMark = { text: randomUUID(), resolve };
    await redis.echo(onMark.text);
    await promise;
  }

  await untilTold();
  ran = [];
  const owned = stack.move();
  return {
    async take() {
      await untilTold();
      const told = ran;
      ran = [];
      const writes = await writesAmong(redis, told);
      return writes.filter(({ key }) => !BACKGROUND.test(key));
    },
    [Symbol.dispose]: () => void owned.disposeAsync(),
  };
}

/** `<time> [<database> <source>] "<name>" "<argument>" …`, in which Redis escapes quotes and whatever is no printable ASCII. */
function commandIn(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word);
}

async function writesAmong(redis: Redis, ran: readonly (readonly string[])[]): Promise<RedisWrite[]> {
  const names = [...new Set(ran.map(([name = '']) => name.toLowerCase()))].filter(name => name !== '');
  if (names.length === 0) return [];
  const infos = (await redis.call('COMMAND', 'INFO', ...names)) as ([string, number, string[], number] | null)[];
  const keyAt = new Map<string, number>();
  for (const info of infos) {
    // Scripts are flagged as writing whatever they do; what they do is told by itself.
    if (info?.[2].includes('write') && !info[0].startsWith('eval')) keyAt.set(info[0], info[3]);
  }
  return ran.flatMap(command => {
    const name = command[0]?.toLowerCase() ?? '';
    const at = keyAt.get(name);
    return at === undefined ? [] : [{ name, key: command[at] ?? '' }];
  });
}
