import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type FaultProxy, type FaultProxyOptions, startFaultProxy, type Toxic } from './fault-proxy.ts';
import { createRespFrames, wordsOf } from './resp-frames.ts';
import { chanceBy, slices } from './toxics.ts';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

interface Far {
  readonly proxy: FaultProxy;
  /** What has arrived at the server so far, of all connections. */
  readonly received: () => string;
  readonly untilReceived: (length: number) => Promise<void>;
}

/** A server that answers every chunk with what `answer` makes of it, behind a proxy. */
async function behindProxy(options: FaultProxyOptions = {}, answer = (text: string) => text): Promise<Far> {
  let text = '';
  const checks = new Set<() => void>();
  const sockets = new Set<Socket>();
  const far = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1');
      for (const check of checks) check();
      if (socket.writable) socket.write(answer(data.toString('latin1')));
    });
  }).listen(0, '127.0.0.1');
  await once(far, 'listening');
  stack.defer(async () => {
    const closed = once(far, 'close');
    far.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const proxy = stack.use(await startFaultProxy((far.address() as AddressInfo).port, options));
  return {
    proxy,
    received: () => text,
    async untilReceived(length) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = () => void (text.length >= length && resolve());
      checks.add(check);
      check();
      await promise;
    },
  };
}

interface Near {
  readonly socket: Socket;
  /** Sizes of what came back, as it came. */
  readonly pieces: readonly number[];
  text(): string;
  untilText(length: number): Promise<void>;
  /** The code of the error that it ended with, if any. */
  readonly ended: Promise<string | undefined>;
}

function dial(port: number): Near {
  const socket = connect(port, '127.0.0.1');
  stack.defer(() => void socket.destroy());
  const pieces: number[] = [];
  let text = '';
  let code: string | undefined;
  const checks = new Set<() => void>();
  socket.on('data', (data: Buffer) => {
    pieces.push(data.byteLength);
    text += data.toString('latin1');
    for (const check of checks) check();
  });
  socket.on('error', error => {
    code = 'code' in error ? String(error.code) : error.name;
  });
  return {
    socket,
    pieces,
    text: () => text,
    async untilText(length) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = () => void (text.length >= length && resolve());
      checks.add(check);
      check();
      await promise;
    },
    ended: new Promise(resolve => socket.on('close', () => resolve(code))),
  };
}

async function echoed(near: Near, text: string): Promise<number> {
  const before = near.text().length;
  const began = performance.now();
  near.socket.write(text);
  await near.untilText(before + text.length);
  return performance.now() - began;
}

const upstream = (toxic: Partial<Toxic> & Pick<Toxic, 'type'>): Toxic => ({ direction: 'upstream', ...toxic }) as Toxic;
const downstream = (toxic: Partial<Toxic> & Pick<Toxic, 'type'>): Toxic =>
  ({ direction: 'downstream', ...toxic }) as Toxic;

describe('toxics', () => {
  it('without any, everything goes through in order', async () => {
    const { proxy, received } = await behindProxy();
    const near = dial(proxy.port);
    for (const text of ['one ', 'two ', 'x'.repeat(300_000)]) await echoed(near, text);
    expect(near.text()).toBe(`one two ${'x'.repeat(300_000)}`);
    expect(received()).toBe(near.text());
  });

  it('latency: later, by its time, in the same order, until it is taken away', async () => {
    const { proxy } = await behindProxy();
    const near = dial(proxy.port);
    const toxic = proxy.add(downstream({ type: 'latency', latencyMs: 60, jitterMs: 10 }));
    near.socket.write('a');
    near.socket.write('b');
    expect(await echoed(near, 'c')).toBeGreaterThanOrEqual(45);
    toxic[Symbol.dispose]();
    near.socket.write('d');
    await near.untilText(4);
    expect(near.text()).toBe('abcd');
  });

  it('bandwidth: so many bytes take so long', async () => {
    const { proxy } = await behindProxy();
    proxy.add(upstream({ type: 'bandwidth', bytesPerSecond: 100_000 }));
    expect(await echoed(dial(proxy.port), 'x'.repeat(10_000))).toBeGreaterThanOrEqual(90);
  });

  it('timeout: nothing gets through, and the connection ends', async () => {
    const { proxy, received } = await behindProxy();
    proxy.add(upstream({ type: 'timeout', timeoutMs: 30 }));
    const near = dial(proxy.port);
    near.socket.write('lost');
    await near.ended;
    expect(received()).toBe('');
  });

  it('timeout without end: it stays open, and goes on when it is taken away', async () => {
    const { proxy, received } = await behindProxy();
    const near = dial(proxy.port);
    await echoed(near, 'before ');
    const toxic = proxy.add(downstream({ type: 'timeout', timeoutMs: 0 }));
    near.socket.write('swallowed ');
    await expect.poll(received).toBe('before swallowed ');
    toxic[Symbol.dispose]();
    await echoed(near, 'after');
    expect(near.text()).toBe('before after');
  });

  it('reset_peer: the connection is reset', async () => {
    const { proxy } = await behindProxy();
    const near = dial(proxy.port);
    await echoed(near, 'hello');
    proxy.add(downstream({ type: 'reset_peer', timeoutMs: 0 }));
    expect(await near.ended).toBe('ECONNRESET');
  });

  it('slow_close: the end comes late, everything before it does not', async () => {
    const { proxy } = await behindProxy();
    proxy.add(upstream({ type: 'slow_close', delayMs: 80 }));
    const near = dial(proxy.port);
    await echoed(near, 'last words');
    const began = performance.now();
    near.socket.end();
    await near.ended;
    expect(performance.now() - began).toBeGreaterThanOrEqual(75);
  });

  it('slicer: in pieces', async () => {
    const { proxy } = await behindProxy({ seed: 7 });
    proxy.add(downstream({ type: 'slicer', averageBytes: 20, variationBytes: 5, delayMs: 3 }));
    const near = dial(proxy.port);
    await echoed(near, 'x'.repeat(200));
    expect(near.pieces.length).toBeGreaterThan(3);
    const sizes = slices(
      200,
      { direction: 'upstream', type: 'slicer', averageBytes: 20, variationBytes: 5 },
      chanceBy(7),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(200);
    expect(sizes.slice(0, -1).every(size => size >= 15 && size <= 25)).toBe(true);
  });

  it('limit_data: so many bytes, and the end', async () => {
    const { proxy } = await behindProxy();
    proxy.add(downstream({ type: 'limit_data', bytes: 7 }));
    const near = dial(proxy.port);
    near.socket.write('0123456789');
    await near.ended;
    expect(near.text()).toBe('0123456');
  });

  it('down: open connections are reset and new ones refused, until it is up', async () => {
    const { proxy } = await behindProxy();
    const near = dial(proxy.port);
    await echoed(near, 'x');
    proxy.down();
    expect(await near.ended).toBe('ECONNRESET');
    const refused = dial(proxy.port);
    await refused.ended;
    expect(refused.text()).toBe('');
    proxy.up();
    await echoed(dial(proxy.port), 'back');
  });

  it('toxicity: some connections, the same ones for the same seed', async () => {
    const stricken = async (seed: number) => {
      const { proxy } = await behindProxy({ seed });
      proxy.add(downstream({ type: 'limit_data', bytes: 0, toxicity: 0.5 }));
      const fates: boolean[] = [];
      for (let n = 0; n < 12; n += 1) {
        const near = dial(proxy.port);
        near.socket.write('x');
        fates.push(await Promise.race([near.untilText(1).then(() => false), near.ended.then(() => true)]));
      }
      return fates;
    };
    const fates = await stricken(3);
    expect(new Set(fates).size).toBe(2);
    expect(await stricken(3)).toEqual(fates);
  });
});

describe('requests and their answers', () => {
  it.each(['disconnect', 'stall'] as const)('loses an answer: %s', async loss => {
    const { proxy, received } = await behindProxy();
    const near = dial(proxy.port);
    const lost = proxy.loseAnswerTo('marked', loss);
    await echoed(near, 'plain');
    near.socket.write('marked');
    await lost;
    expect(received()).toBe('plainmarked');
    if (loss === 'disconnect') await near.ended;
    else expect(near.socket.destroyed).toBe(false);
    expect(near.text()).toBe('plain');
  });

  it('disconnects all, and lets new ones through', async () => {
    const { proxy } = await behindProxy();
    const near = dial(proxy.port);
    await echoed(near, 'x');
    proxy.disconnectAll();
    await near.ended;
    await echoed(dial(proxy.port), 'y');
  });

  const command = (...words: string[]) =>
    `*${words.length}\r\n${words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
  /** Answers each command with its own number. */
  function counting(): (text: string) => string {
    const frames = createRespFrames();
    let count = 0;
    return text =>
      frames
        .take(Buffer.from(text, 'latin1'))
        .map(() => {
          count += 1;
          return `:${count}\r\n`;
        })
        .join('');
  }

  it.each([
    { moment: 'request_arrives', arrives: ['GET a'], comesBack: '' },
    { moment: 'request_passed', arrives: ['GET a', 'GET b'], comesBack: '' },
    { moment: 'answer_arrives', arrives: ['GET a', 'GET b', 'GET c'], comesBack: ':1\r\n' },
  ] as const)('Redis commands of one packet are told apart: $moment', async ({ moment, arrives, comesBack }) => {
    const { proxy, received, untilReceived } = await behindProxy({ protocol: 'resp' }, counting());
    const near = dial(proxy.port);
    const seen: string[] = [];
    const met = proxy.watch({
      moment,
      matches: ({ words }) => words[1] === 'b',
      act({ words }) {
        seen.push(words.join(' '));
        return moment === 'request_passed' ? 'stall' : 'cut';
      },
    });
    near.socket.write(['a', 'b', 'c'].map(key => command('GET', key)).join(''));
    await met;
    expect(seen).toEqual(['GET b']);
    const expected = arrives.map(words => command(...words.split(' '))).join('');
    if (moment !== 'request_arrives') await untilReceived(expected.length);
    if (moment !== 'request_passed') await near.ended;
    expect(expected.startsWith(received())).toBe(true);
    expect(comesBack.startsWith(near.text())).toBe(true);
  });

  it('the nth of them, and how many were answered', async () => {
    const { proxy } = await behindProxy({ protocol: 'resp' }, counting());
    const near = dial(proxy.port);
    const answered = proxy.answered(({ words }) => words[0] === 'SET');
    const words: string[] = [];
    const met = proxy.watch({
      moment: 'answer_passed',
      nth: 2,
      matches: request => request.words[0] === 'SET',
      act(request) {
        words.push(...request.words);
        return undefined;
      },
    });
    for (const key of ['a', 'b', 'c']) {
      near.socket.write(command('SET', key, 'v') + command('GET', key));
    }
    await met;
    await near.untilText(':1\r\n'.length * 6);
    expect(words).toEqual(['SET', 'b', 'v']);
    expect(answered()).toBe(3);
  });

  it('an answer that asks for the text of a script is not yet the answer', async () => {
    const replies = ['-NOSCRIPT No matching script\r\n', ':1\r\n'];
    const { proxy } = await behindProxy({ protocol: 'resp' }, () => replies.shift() ?? '');
    const near = dial(proxy.port);
    const answered = proxy.answered(({ words }) => /^eval/i.test(words[0] ?? ''));
    near.socket.write(command('EVALSHA', 'f00', '0'));
    await near.untilText(30);
    expect(answered()).toBe(0);
    near.socket.write(command('EVAL', 'return 1', '0'));
    await near.untilText(34);
    expect(answered()).toBe(1);
  });

  it('from a subscription on, what comes back answers nothing', async () => {
    const { proxy } = await behindProxy({ protocol: 'resp' }, () => '*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n');
    const near = dial(proxy.port);
    const answered = proxy.answered(() => true);
    near.socket.write(command('SUBSCRIBE', 'c'));
    await near.untilText(20);
    expect(answered()).toBe(0);
  });
});

describe('frames of the Redis protocol', () => {
  const messages = [
    '+OK\r\n',
    ':12\r\n',
    '$-1\r\n',
    '*-1\r\n',
    '$5\r\na\r\nbc\r\n',
    '*2\r\n$1\r\na\r\n*2\r\n:1\r\n$0\r\n\r\n',
    '%1\r\n+k\r\n~2\r\n:1\r\n:2\r\n',
    '|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n',
    '>2\r\n+message\r\n,1.5\r\n',
    '_\r\n',
    '*0\r\n',
  ];

  it.each([1, 2, 3, 7, 1_000])('come whole out of pieces of %i bytes', size => {
    const all = Buffer.from(messages.join(''));
    const frames = createRespFrames();
    const found: string[] = [];
    for (let at = 0; at < all.byteLength; at += size)
      found.push(...frames.take(all.subarray(at, at + size)).map(frame => frame.toString()));
    expect(found).toEqual(messages);
    expect(frames.rest.byteLength).toBe(0);
  });

  it('words of a command', () => {
    expect(wordsOf(Buffer.from('*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n'))).toEqual(['GET', 'a\r\nb']);
    expect(wordsOf(Buffer.from('PING now\r\n'))).toEqual(['PING', 'now']);
  });
});
