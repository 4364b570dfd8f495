import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { StreamedAnswer } from '../gateway-transport.ts';
import { exampleElicitation } from '../testing/example-elicitation.ts';
import { watchEnd } from './await-end.ts';
import { EventBus } from './event-bus.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const GREETING = 'retry: 2000\nid: 1-0\n\n';
const HEARTBEAT = ':\n\n';
const event = (elicitationId: string, id: string) =>
  `event: elicitation.declined\nid: ${id}\ndata: ${JSON.stringify({ type: 'elicitation.declined', elicitationId })}\n\n`;

/** One stream of the gateway that the test speaks on. */
class Opened {
  readonly after: string | undefined;
  readonly signal: AbortSignal;
  readonly #pieces: string[] = [];
  #isOver = false;
  #error: Error | undefined;
  #wake = () => {};

  constructor(after: string | undefined, signal: AbortSignal) {
    this.after = after;
    this.signal = signal;
    signal.addEventListener('abort', () => this.#wake());
  }

  async say(...pieces: string[]): Promise<void> {
    this.#pieces.push(...pieces);
    this.#wake();
    await settled();
  }

  async end(error?: Error): Promise<void> {
    this.#isOver = true;
    this.#error = error;
    this.#wake();
    await settled();
  }

  async *chunks(): AsyncGenerator<string> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) yield piece;
      else if (this.signal.aborted) throw this.signal.reason;
      else if (this.#error !== undefined) throw this.#error;
      else if (this.#isOver) return;
      else await new Promise<void>(resolve => (this.#wake = resolve));
    }
  }
}

/** What is left to do without time going by. */
const settled = () => vi.advanceTimersByTimeAsync(0);

function setUp() {
  const opened: Opened[] = [];
  /** Instead of streams, in order. */
  const refusals: { status: number; headers?: Record<string, string> }[] = [];
  const errors: Error[] = [];
  let attempts = 0;
  const bus = new EventBus({
    random: () => 0.5,
    onError: error => errors.push(error),
    async open(after, signal): Promise<StreamedAnswer> {
      attempts += 1;
      const refusal = refusals.shift();
      if (refusal?.status === 0) throw new Error('ECONNREFUSED');
      const stream = new Opened(after, signal);
      if (refusal === undefined) opened.push(stream);
      const headers: Record<string, string> = refusal?.headers ?? { 'content-type': 'text/event-stream' };
      return { status: refusal?.status ?? 200, header: name => headers[name], chunks: stream.chunks() };
    },
  });
  const last = () => {
    const stream = opened.at(-1);
    if (stream === undefined) throw new Error('no stream');
    return stream;
  };
  return {
    ...{ bus, opened, refusals, errors, last },
    get attempts() {
      return attempts;
    },
    async live() {
      const listening = bus.listen('warm-up');
      await settled();
      await last().say(GREETING, HEARTBEAT);
      expect(bus.phase).toBe('live');
      return listening;
    },
  };
}

const signal = new AbortController().signal;
const hears = (listening: { next(ms: number, signal: AbortSignal): Promise<string> }, ms = 45_000) => {
  const heard: string[] = [];
  void listening.next(ms, signal).then(one => heard.push(one));
  return heard;
};

describe('one stream', () => {
  test('serves thousands who listen, each only for its own', async () => {
    const world = setUp();
    await world.live();
    const listening = Array.from({ length: 5_000 }, (_, at) => world.bus.listen(`el-${at}`));
    const heard = [17, 18, 4999].map(at => hears(listening[at] ?? expect.unreachable()));
    await world.last().say(event('el-17', '2-0'), event('el-4999', '3-0'), event('el-elsewhere', '4-0'));
    expect(heard).toEqual([['ended'], [], ['ended']]);
    expect(world.attempts).toBe(1);
  });

  test('is opened for the first and closed some time after the last', async () => {
    const world = setUp();
    expect(world.attempts).toBe(0);
    const listening = await world.live();
    listening[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(50_000 - 15_000);
    await world.last().say(HEARTBEAT);
    const again = world.bus.listen('again');
    await vi.advanceTimersByTimeAsync(30_000);
    expect(world.bus.phase).toBe('live');
    again[Symbol.dispose]();
    await world.last().say(HEARTBEAT);
    await vi.advanceTimersByTimeAsync(30_000);
    await world.last().say(HEARTBEAT);
    await vi.advanceTimersByTimeAsync(31_000);
    expect(world.last().signal.aborted).toBe(true);
    expect([world.bus.phase, world.attempts]).toEqual(['off', 1]);
    // Whoever comes then begins where the feed is.
    world.bus.listen('anew');
    await settled();
    expect(world.last().after).toBeUndefined();
  });

  test('remembers a bounded number of ends that nobody listened for', async () => {
    const world = setUp();
    await world.live();
    const since = performance.now();
    await vi.advanceTimersByTimeAsync(1);
    await world.last().say(event('el-early', '2-0'));
    expect(world.bus.covers(since)).toBe(true);
    await world.last().say(Array.from({ length: 2_100 }, (_, at) => event(`el-${at}`, `3-${at}`)).join(''));
    expect(world.bus.covers(since)).toBe(false);
    const late = hears(world.bus.listen('el-early'));
    await settled();
    expect(late).toEqual([]);
  });

  test('is read in whatever pieces it comes', async () => {
    const world = setUp();
    await world.live();
    const heard = hears(world.bus.listen('el-1'));
    for (const letter of event('el-1', '2-0').replaceAll('\n', '\r\n')) await world.last().say(letter);
    expect(heard).toEqual(['ended']);
  });

  test('that sends a frame without an end is left', async () => {
    const world = setUp();
    await world.live();
    await world.last().say(`data: ${'x'.repeat(70_000)}`);
    expect(world.last().signal.aborted).toBe(true);
  });
});

describe('an event that comes', () => {
  test('before anybody listens for it is heard by whoever does next', async () => {
    const world = setUp();
    await world.live();
    await world.last().say(event('el-1', '2-0'));
    const heard = hears(world.bus.listen('el-1'));
    await settled();
    expect(heard).toEqual(['ended']);
  });

  test('between the reading and the wait is not lost', async () => {
    const world = setUp();
    await world.live();
    const declined = exampleElicitation({ elicitationId: 'el-1', status: 'declined' });
    const reads: number[] = [];
    const client = {
      async read(_: string, seconds: number) {
        reads.push(seconds);
        if (reads.length > 1) return declined;
        const pending = exampleElicitation({ elicitationId: 'el-1' });
        await world.last().say(event('el-1', '2-0'));
        return pending;
      },
    };
    using watch = watchEnd(client, world.bus, 'el-1');
    expect(await watch.read(45, signal)).toBe(declined);
    expect(reads).toEqual([0, 0]);
  });
});

describe('a stream that ends or breaks', () => {
  test('is resumed where it was, after the pause that it asked for, and then everybody looks', async () => {
    const world = setUp();
    await world.live();
    const heard = hears(world.bus.listen('el-1'));
    await world.last().say(event('other', '7-0'), 'retry: 800\n\n');
    await world.last().end();
    expect(world.bus.phase).toBe('resuming');
    await vi.advanceTimersByTimeAsync(799);
    expect(world.attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(world.last().after).toBe('7-0');
    expect(heard).toEqual([]);
    await world.last().say(GREETING);
    expect([world.bus.phase, heard]).toEqual(['live', ['check']]);
  });

  test('is nothing to rely on when it does not go on soon', async () => {
    const world = setUp();
    await world.live();
    const heard = hears(world.bus.listen('el-1'));
    world.refusals.push(...Array.from({ length: 30 }, () => ({ status: 0 })));
    await world.last().end(new Error('ECONNRESET'));
    expect(world.bus.isLive).toBe(true);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([world.bus.phase, heard]).toEqual(['off', ['check']]);
    // With longer and longer pauses.
    const before = world.attempts;
    await vi.advanceTimersByTimeAsync(120_000);
    expect(world.attempts - before).toBeLessThan(8);
    expect(world.attempts - before).toBeGreaterThan(2);
  });

  test('that came too late (410) begins anew, and everybody looks', async () => {
    const world = setUp();
    await world.live();
    const heard = hears(world.bus.listen('el-1'));
    world.refusals.push({ status: 410 });
    await world.last().say('retry: 500\n\n');
    await world.last().end();
    await vi.advanceTimersByTimeAsync(500);
    expect(world.attempts).toBe(3);
    expect(world.last().after).toBeUndefined();
    await world.last().say(GREETING);
    expect([world.bus.phase, heard]).toEqual(['live', ['check']]);
  });

  test('is not hammered when it never lasts', async () => {
    const world = setUp();
    await world.live();
    const from = world.attempts;
    for (let elapsed = 0; elapsed < 60_000; elapsed += 500) {
      if (!world.last().signal.aborted) {
        await world.last().say(GREETING);
        await world.last().end();
      }
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(world.attempts - from).toBeLessThan(12);
  });

  test('that has gone silent is given up, and thousands look in turns', async () => {
    const world = setUp();
    await world.live();
    const heard = Array.from({ length: 1_000 }, (_, at) => hears(world.bus.listen(`el-${at}`), 600_000));
    const count = () => heard.filter(one => one.length > 0).length;
    await vi.advanceTimersByTimeAsync(40_000);
    expect([world.bus.phase, count()]).toEqual(['live', 0]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(world.last().signal.aborted).toBe(true);
    expect(world.bus.phase).toBe('off');
    expect(count()).toBeGreaterThan(0);
    expect(count()).toBeLessThan(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(count()).toBe(1_000);
    expect(world.errors).toMatchObject([{ code: 'timeout' }]);
  });
});

/** A gateway that always says the same; `reads`: for how long it was asked to wait. */
function answering(elicitation: ReturnType<typeof exampleElicitation>) {
  const reads: number[] = [];
  const read = async (_: string, seconds: number) => {
    reads.push(seconds);
    return elicitation;
  };
  return { client: { read }, reads };
}

describe('until it is known that events come in time', () => {
  const pending = exampleElicitation({ elicitationId: 'el-1' });
  const declined = exampleElicitation({ elicitationId: 'el-1', status: 'declined' });

  test.each([404, 403, 401, 501, 302])(
    'HTTP %i: the gateway is asked to wait, and events now and then',
    async status => {
      const world = setUp();
      world.refusals.push(...Array.from({ length: 12 }, () => ({ status })));
      const { client, reads } = answering(declined);
      using watch = watchEnd(client, world.bus, 'el-1');
      expect(await watch.read(45, signal)).toBe(declined);
      expect(reads).toEqual([45]);
      await vi.advanceTimersByTimeAsync(3_600_000);
      expect(world.attempts).toBeGreaterThan(3);
      expect(world.attempts).toBeLessThan(12);
      expect(world.errors).toEqual([]);
    },
  );

  test.each([429, 503])('HTTP %i: not before the time that the gateway asks for', async status => {
    const world = setUp();
    world.refusals.push({ status, headers: { 'retry-after': '30' } });
    world.bus.listen('el-1');
    await vi.advanceTimersByTimeAsync(29_999);
    expect(world.attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(world.attempts).toBe(2);
  });

  test('an answer that is no stream is none', async () => {
    const world = setUp();
    world.refusals.push({ status: 200, headers: { 'content-type': 'text/html' } });
    world.bus.listen('el-1');
    await vi.advanceTimersByTimeAsync(20_000);
    expect([world.bus.phase, world.attempts]).toEqual(['off', 1]);
  });

  test.each([
    ['nothing', []],
    ['the greeting and no heartbeat', [GREETING]],
  ])('a proxy that lets through %s is noticed, and delays nothing', async (_name, said) => {
    const world = setUp();
    const { client, reads } = answering(pending);
    using watch = watchEnd(client, world.bus, 'el-1');
    await settled();
    await world.last().say(...said);
    expect(world.bus.isLive).toBe(false);
    await watch.read(45, signal);
    expect(reads).toEqual([45]);
    await vi.advanceTimersByTimeAsync(31_000);
    expect(world.last().signal.aborted).toBe(true);
    expect(world.errors).toMatchObject([{ code: 'timeout' }]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(world.attempts).toBe(1);
  });

  test('a proxy that passes on what has piled up is not relied on', async () => {
    const world = setUp();
    world.bus.listen('el-1');
    await settled();
    await world.last().say(GREETING);
    for (let at = 2; at < 6; at += 1) {
      // The waiting read knew it long before.
      world.bus.foundEnded(`el-${at}`);
      await vi.advanceTimersByTimeAsync(12_000);
      await world.last().say(`${event(`el-${at}`, `${at}-0`)}${HEARTBEAT}`);
      expect(world.bus.phase).toBe('proving');
    }
  });

  test.each(['before', 'after'])('an event on time, %s the answer to a waiting read, is proof', async order => {
    const world = setUp();
    world.bus.listen('el-1');
    await settled();
    await world.last().say(GREETING);
    if (order === 'after') world.bus.foundEnded('el-1');
    await world.last().say(event('el-1', '2-0'));
    if (order === 'before') world.bus.foundEnded('el-1');
    expect(world.bus.phase).toBe('live');
  });

  test('an end that was not told costs the trust for a while', async () => {
    const world = setUp();
    await world.live();
    const heard = hears(world.bus.listen('el-1'));
    world.bus.missed();
    await settled();
    expect([world.bus.phase, heard]).toEqual(['proving', ['check']]);
    await world.last().say(HEARTBEAT);
    expect(world.bus.phase).toBe('proving');
    for (let elapsed = 0; elapsed < 60_000; elapsed += 15_000) {
      await vi.advanceTimersByTimeAsync(15_000);
      await world.last().say(HEARTBEAT);
    }
    expect(world.bus.phase).toBe('live');
  });
});

test('closing ends the stream and wakes everybody', async () => {
  const world = setUp();
  await world.live();
  const heard = hears(world.bus.listen('el-1'));
  world.bus.close();
  await settled();
  expect([world.last().signal.aborted, heard, world.attempts]).toEqual([true, ['check'], 1]);
  world.bus.listen('el-2');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(world.attempts).toBe(1);
});
