import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../../support/event-listener.ts';
import { keyOf } from '../../support/world.ts';
import type { FaultRun } from '../scenario.ts';

/** An MCP server that listens to its events for as long as the run lasts, wherever it is answered. */
export interface Listening extends AsyncDisposable {
  /** Elicitations of which an end was heard, with how. */
  readonly ends: ReadonlyMap<string, string>;
  /** As a lost connection: it comes back with the id that it has heard last. */
  drop(): void;
}

export interface ListeningOptions {
  readonly mcpServerId: string;
  readonly addresses: () => readonly string[];
}

const RETURN_MS = 50;

export async function startListening(
  { history, random }: FaultRun,
  { mcpServerId, addresses }: ListeningOptions,
): Promise<Listening> {
  const own = random.fork(`listener of ${mcpServerId}`);
  const who = `mcp:${mcpServerId}`;
  const ends = new Map<string, string>();
  const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>();
  let lastEventId: string | undefined;
  let current: { drop(): void } | undefined;
  let isOver = false;

  async function listenOnce(): Promise<void> {
    using stream = await listen(own.pick(addresses()), {
      apiKey: keyOf(mcpServerId),
      ...(lastEventId === undefined ? {} : { lastEventId }),
    });
    // What it asked for is no longer kept: it begins anew, and the checker sees what it missed.
    if (stream.status === 410) lastEventId = undefined;
    if (stream.status !== 200) return;
    current = stream;
    onOpen();
    let taken = 0;
    const take = () => {
      for (const { id, type, data } of stream.heard.slice(taken)) {
        const { eventId = '', elicitationId = '', kind = '' } = data;
        const status = type.slice(type.indexOf('.') + 1);
        history.scan(`events of ${mcpServerId}`, JSON.stringify(data));
        history.record({ who, what: 'event', mcpServerId, position: id, eventId, elicitationId, kind, status });
        ends.set(elicitationId, status);
        lastEventId = id;
      }
      taken = stream.heard.length;
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
  history.record({ who: 'harness', what: 'channel', mcpServerId, channel: 'events' });
  return {
    ends,
    drop: () => current?.drop(),
    async [Symbol.asyncDispose]() {
      isOver = true;
      current?.drop();
      await loop;
    },
  };
}
