import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';

async function directoryOf(redis: Redis): Promise<string> {
  const [, directory = ''] = (await redis.config('GET', 'dir')) as string[];
  return directory;
}

async function withRedis<T>(url: string, run: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await run(redis);
  } finally {
    redis.disconnect();
  }
}

/** The append-only file of a Redis on this machine, as stored on disk. */
export function appendOnlyFile(url: string): Promise<string> {
  return withRedis(url, async redis => {
    // While an fsync is in progress, `everysec` postpones writes for up to two seconds. `always` writes before it replies.
    const [, policy = ''] = (await redis.config('GET', 'appendfsync')) as string[];
    await redis.config('SET', 'appendfsync', 'always');
    const home = join(await directoryOf(redis), 'appendonlydir');
    await redis.config('SET', 'appendfsync', policy);
    return readdirSync(home)
      .map(name => readFileSync(join(home, name), 'latin1'))
      .join('\n');
  });
}

/** An RDB snapshot of a Redis on this machine, uncompressed so that it can be searched. */
export function snapshot(url: string): Promise<string> {
  return withRedis(url, async redis => {
    await redis.config('SET', 'rdbcompression', 'no');
    await redis.save();
    const [, name = ''] = (await redis.config('GET', 'dbfilename')) as string[];
    return readFileSync(join(await directoryOf(redis), name), 'latin1');
  });
}

/** Records every command that a Redis runs from now on, with arguments, including those of scripts (MONITOR). */
export async function watchCommands(url: string): Promise<{ readonly text: () => string } & Disposable> {
  const { hostname, port, username, password } = new URL(url);
  const asks = [
    ...(password === '' ? [] : [['AUTH', decodeURIComponent(username) || 'default', decodeURIComponent(password)]]),
    ['MONITOR'],
  ];
  const commands: string[] = [];
  const socket = connect(Number(port || 6379), hostname.replace(/^\[|\]$/g, ''));
  try {
    await new Promise<void>((resolve, reject) => {
      let answers = 0;
      // A reply may share a packet with the first lines, which may arrive in any pieces.
      createInterface({ input: socket }).on('line', line => {
        if (answers === asks.length) return void commands.push(argumentsIn(line));
        if (!line.startsWith('+')) return reject(new Error(`Redis refused MONITOR: ${line}`));
        answers += 1;
        if (answers === asks.length) resolve();
      });
      socket.on('error', reject).on('close', () => reject(new Error('Redis closed the connection.')));
      socket.setEncoding('latin1').write(asks.map(inRedisProtocol).join(''));
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return {
    text: () => commands.join('\n'),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** Serializes as RESP, in which an argument may contain anything. */
function inRedisProtocol(command: readonly string[]): string {
  const parts = command.map(part => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
  return `*${command.length}\r\n${parts.join('')}`;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

/** Parses a line of MONITOR, e.g. `+1339518083.1 [0 127.0.0.1:6379] "set" "a" "b"`, byte for byte. */
function argumentsIn(line: string): string {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
    .map(([, quoted = '']) =>
      quoted.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex?: string, character = '') =>
        hex === undefined ? (ESCAPES[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16)),
      ),
    )
    .join(' ');
}
