import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { RedisLogin } from './redis-access.ts';
import type { RedisTls } from './redis-tls.ts';
import { createRespFrames } from './resp-frames.ts';

const BULK = 0x24;

/** How one command reaches a server, and as whom. */
export interface RedisDoor {
  readonly host: string;
  readonly port: number;
  readonly tls?: RedisTls | undefined;
  readonly login?: RedisLogin | undefined;
  readonly timeoutMs: number;
}

/**
 * Sends one command over a connection of its own. Resolves with the text that redis-cli prints without a terminal, errors of Redis
 * included: starting redis-cli takes a worker with many modules a hundred times as long.
 * @throws if the server does not answer in time, or closes the connection without an answer
 */
export function askRedis(
  { host, port, tls, login, timeoutMs }: RedisDoor,
  command: readonly string[],
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const commands = [...(login === undefined ? [] : [['AUTH', login.name, login.password]]), command];
  const socket =
    tls === undefined
      ? connect(port, host)
      : connectSecurely({
          ...{ port, host, ca: tls.ca.pem, cert: tls.cert.pem, key: tls.key.pem },
          // As redis-cli: a certificate of this authority, for whichever name.
          checkServerIdentity: () => undefined,
        });
  const frames = createRespFrames();
  const replies: Buffer[] = [];
  const timer = setTimeout(
    () => socket.destroy(new Error(`${command.join(' ')}: no answer in ${timeoutMs} ms`)),
    timeoutMs,
  );
  socket.on('data', chunk => {
    replies.push(...frames.take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
    const reply = replies[commands.length - 1];
    if (reply === undefined) return;
    const { text } = printed(reply);
    // As redis-cli does with reports such as that of INFO.
    resolve(reply[0] === BULK && text.endsWith('\n') ? text : `${text}\n`);
    socket.destroy();
  });
  socket.on('error', reject);
  socket.on('close', () => {
    clearTimeout(timer);
    reject(new Error(`${command.join(' ')}: the connection ended`));
  });
  socket.write(Buffer.concat(commands.map(encoded)));
  return promise;
}

function encoded(words: readonly string[]): Buffer {
  const parts = words.flatMap(word => [`$${Buffer.byteLength(word)}\r\n`, word, '\r\n']);
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`);
}

/** One value of RESP2 as redis-cli prints it, and where the next one begins. */
function printed(reply: Buffer, at = 0): { readonly text: string; readonly end: number } {
  const lineEnd = reply.indexOf('\r', at);
  const line = reply.toString('utf8', at + 1, lineEnd);
  const next = lineEnd + 2;
  const size = Number(line);
  switch (String.fromCharCode(reply[at] ?? 0)) {
    case '$':
      return size < 0
        ? { text: '', end: next }
        : { text: reply.toString('utf8', next, next + size), end: next + size + 2 };
    case '*': {
      const texts: string[] = [];
      let end = next;
      for (let nth = 0; nth < size; nth += 1) {
        const member = printed(reply, end);
        texts.push(member.text);
        end = member.end;
      }
      return { text: texts.join('\n'), end };
    }
    case '-':
      return { text: `${line}\n`, end: next };
    default:
      return { text: line, end: next };
  }
}
