import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createCondition } from './condition.ts';

/** A server-sent event as a client sees it (HTML, section 9.2.6). */
export interface HeardEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Record<string, string>;
}

export interface EventListener extends Disposable {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Events received so far. */
  readonly heard: readonly HeardEvent[];
  /** Time of each event, by `performance.now()`. */
  readonly heardAt: readonly number[];
  /** The `Last-Event-ID` that a client would send now. */
  readonly lastId: string;
  readonly retryMs: number | undefined;
  readonly heartbeats: number;
  /** Resolves when the response ends, for any reason. */
  readonly ended: Promise<void>;
  /** Resolves when the check holds; repeats it on all input. @throws if the response ends first */
  until(holds: () => boolean): Promise<void>;
  /** Stops reading from the connection. */
  stall(): void;
  resume(): void;
  /** Drops the connection. */
  drop(): void;
  /** The body of a response that is not a stream. */
  text(): Promise<string>;
}

export interface ListenOptions {
  readonly apiKey: string;
  readonly query?: string;
  readonly lastEventId?: string;
}

/** Listens as MCP servers do. Resolves with the response headers. */
export async function listen(
  address: string,
  { apiKey, query = '', lastEventId }: ListenOptions,
): Promise<EventListener> {
  const outgoing: ClientRequest = request(`${address}/v1/events${query}`, {
    agent: false,
    headers: {
      authorization: `Bearer ${apiKey}`,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? undefined : { 'last-event-id': lastEventId }),
    },
  });
  outgoing.end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const heard: HeardEvent[] = [];
  const heardAt: number[] = [];
  const changed = createCondition();
  const chunks: string[] = [];
  let buffered = '';
  let lastId = '';
  let retryMs: number | undefined;
  let heartbeats = 0;

  function take(block: string): void {
    const event = { id: '', type: 'message', data: '' };
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === '') heartbeats += 1;
      else if (name === 'id') lastId = value;
      else if (name === 'retry') retryMs = Number(value);
      else if (name === 'event') event.type = value;
      else if (name === 'data') event.data += value;
      else throw new Error('invalid field of a server-sent event');
    }
    if (event.data === '') return;
    heardAt.push(performance.now());
    heard.push({ id: lastId, type: event.type, data: JSON.parse(event.data) as HeardEvent['data'] });
  }

  incoming.setEncoding('utf8');
  incoming.on('data', (chunk: string) => {
    chunks.push(chunk);
    if (incoming.headers['content-type'] !== 'text/event-stream') return;
    const blocks = (buffered + chunk).split('\n\n');
    buffered = blocks.pop() ?? '';
    for (const block of blocks) take(block);
    changed.notify();
  });
  const ended = new Promise<void>(resolve => {
    incoming.once('close', resolve);
    incoming.on('error', () => resolve());
    outgoing.on('error', () => resolve());
  });
  let isOver = false;
  void ended.then(() => {
    isOver = true;
    changed.notify();
  });

  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    heard,
    heardAt,
    get lastId() {
      return lastId;
    },
    get retryMs() {
      return retryMs;
    },
    get heartbeats() {
      return heartbeats;
    },
    ended,
    async until(holds) {
      let isHeld = false;
      await changed.until(() => {
        isHeld = holds();
        return isHeld || isOver;
      });
      if (!isHeld) throw new Error('the stream has ended');
    },
    stall: () => void incoming.pause(),
    resume: () => void incoming.resume(),
    drop: () => void outgoing.destroy(),
    async text() {
      await ended;
      return chunks.join('');
    },
    [Symbol.dispose]: () => void outgoing.destroy(),
  };
}
