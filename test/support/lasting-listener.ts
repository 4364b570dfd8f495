import { setTimeout as delay } from 'node:timers/promises';
import { type HeardEvent, listen } from './event-listener.ts';

/** An MCP server that listens to its events until it is disposed, at any replica that responds. */
export interface LastingListener extends AsyncDisposable {
  /** Drops the connection; the listener resumes with its last event id. */
  drop(): void;
}

export interface LastingListenerOptions {
  readonly apiKey: string;
  /** Selects the replica of the next attempt. */
  readonly nextAddress: () => string;
  /** Called for each received event, including repeats. */
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
    using stream = await listen(nextAddress(), { apiKey, lastEventId });
    // The requested position is no longer stored: start from now.
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
    // The connection has ended. The listener reconnects whatever the reason.
    await stream.until(take).catch(() => undefined);
    take();
  }

  const loop = (async () => {
    while (!isOver) {
      // That replica is down; resume at another one with the same id.
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
