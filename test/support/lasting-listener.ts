import { setTimeout as delay } from 'node:timers/promises';
import { type HeardEvent, listen } from './event-listener.ts';

/** An MCP server that listens to its events until it is disposed of, wherever it is answered. */
export interface LastingListener extends AsyncDisposable {
  /** As a lost connection: it comes back with the id that it has heard last. */
  drop(): void;
}

export interface LastingListenerOptions {
  readonly apiKey: string;
  /** Which replica is asked next. */
  readonly nextAddress: () => string;
  /** Called for each event, as often as it comes. */
  readonly onEvent: (event: HeardEvent) => void;
}

const RETURN_MS = 50;

/** @returns once a stream is open */
export async function listenLastingly({
  apiKey,
  nextAddress,
  onEvent,
}: LastingListenerOptions): Promise<LastingListener> {
  const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>();
  let lastEventId: string | undefined;
  let current: { drop(): void } | undefined;
  let isOver = false;

  async function listenOnce(): Promise<void> {
    using stream = await listen(nextAddress(), { apiKey, ...(lastEventId === undefined ? {} : { lastEventId }) });
    // What it asked for is no longer kept: it begins anew.
    if (stream.status === 410) lastEventId = undefined;
    if (stream.status !== 200) return;
    current = stream;
    onOpen();
    let taken = 0;
    const take = () => {
      for (const event of stream.heard.slice(taken)) onEvent(event);
      taken = stream.heard.length;
      if (stream.lastId !== '') lastEventId = stream.lastId;
      return isOver;
    };
    // Over when the connection is; how it ended makes no difference to who comes back.
    await stream.until(take).catch(() => undefined);
    take();
  }

  const loop = (async () => {
    while (!isOver) {
      // That replica is gone; another one is asked with the same id.
      await listenOnce().catch(() => undefined);
      current = undefined;
      if (!isOver) await delay(RETURN_MS);
    }
  })();
  await opened;
  return {
    drop: () => current?.drop(),
    async [Symbol.asyncDispose]() {
      isOver = true;
      current?.drop();
      await loop;
    },
  };
}
