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
  /** Data that has arrived at the server so far, over all connections. */
  readonly received: () => string;
  readonly untilReceived: (length: number) => Promise<void>;
}

/** A server behind a proxy that answers every chunk with the result of `answer`. */
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
  /** Sizes of the received pieces, in order. */
  readonly pieces: readonly number[];
  text(): string;
  untilText(length: number): Promise<void>;
  /** Error code with which the connection ended, if any. */
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
  it('without a toxic, all data arrives in order', async () => {
    const { proxy, received } = await behindProxy();
    const near = dial(proxy.port);
    for (const text of ['one ', 'two ', 'x'.repeat(300_000)]) await echoed(near, text);
    expect(near.text()).toBe(`one two ${'x'.repeat(300_000)}`);
    expect(received()).toBe(near.text());
  });

  it('latency delays data by its time, in order, until it is removed', async () => {
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

  it('bandwidth limits the bytes per second', async () => {
    const { proxy } = await behindProxy();
    proxy.add(upstream({ type: 'bandwidth', bytesPerSecond: 100_000 }));
    expect(await echoed(dial(proxy.port), 'x'.repeat(10_000))).toBeGreaterThanOrEqual(90);
  });

  it('timeout drops all data, then ends the connection', async () => {
    const { proxy, received } = await behindProxy();
    proxy.add(upstream({ type: 'timeout', timeoutMs: 30 }));
    const near = dial(proxy.port);
    near.socket.write('lost');
    await near.ended;
    expect(received()).toBe('');
  });

  it('timeout without an end keeps the connection open, and data flows after its removal', async () => {
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

  it('reset_peer resets the connection', async () => {
    const { proxy } = await behindProxy();
    const near = dial(proxy.port);
    await echoed(near, 'hello');
    proxy.add(downstream({ type: 'reset_peer', timeoutMs: 0 }));
    expect(await near.ended).toBe('ECONNRESET');
  });

  it('slow_close delays only the end of the connection', async () => {
    const { proxy } = await behindProxy();
    proxy.add(upstream({ type: 'slow_close', delayMs: 80 }));
    const near = dial(proxy.port);
    await echoed(near, 'last words');
    const began = performance.now();
    near.socket.end();
    await near.ended;
    expect(performance.now() - began).toBeGreaterThanOrEqual(75);
  });

  it('slicer splits data into pieces', async () => {
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

  it('limit_data ends the connection after its number of bytes', async () => {
    const { proxy } = await behindProxy();
    proxy.add(downstream({ type: 'limit_data', bytes: 7 }));
    const near = dial(proxy.port);
    near.socket.write('0123456789');
    await near.ended;
    expect(near.text()).toBe('0123456');
  });

  it('down resets open connections and refuses new ones until up', async () => {
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

  it('toxicity affects some connections, the same ones for the same seed', async () => {
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
  it.each(['disconnect', 'stall'] as const)('drops a response: %s', async loss => {
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

  it('disconnectAll breaks open connections and accepts new ones', async () => {
    const { proxy } = await behindProxy();
    const near = dial(proxy.port);
    await echoed(near, 'x');
    proxy.disconnectAll();
    await near.ended;
    await echoed(dial(proxy.port), 'y');
  });

  const command = (...words: string[]) =>
    `*${words.length}\r\n${words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
  /** Answers each command with its number. */
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
  ] as const)('distinguishes Redis commands in one packet: $moment', async ({ moment, arrives, comesBack }) => {
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

  it('watches the nth request, and counts responses', async () => {
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

  it('a NOSCRIPT error does not count as the response', async () => {
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

  it('after a subscription, received data counts as no response', async () => {
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

  it.each([1, 2, 3, 7, 1_000])('frames are complete after pieces of %i bytes', size => {
    const all = Buffer.from(messages.join(''));
    const frames = createRespFrames();
    const found: string[] = [];
    for (let at = 0; at < all.byteLength; at += size)
      found.push(...frames.take(all.subarray(at, at + size)).map(frame => frame.toString()));
    expect(found).toEqual(messages);
    expect(frames.rest.byteLength).toBe(0);
  });

  it('wordsOf returns the words of a command', () => {
    expect(wordsOf(Buffer.from('*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n'))).toEqual(['GET', 'a\r\nb']);
    expect(wordsOf(Buffer.from('PING now\r\n'))).toEqual(['PING', 'now']);
  });
});
