import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { compareFeedPositions, type EventFeed, type FeedPage } from '@postern/elicitation';
import { limitDetail, ProblemError } from '../platform/http/problems.ts';
import { EventReader } from './event-reader.ts';
import { type EventFilter, EventStream, eventFrame } from './event-stream.ts';

export interface EventStreamsOptions {
  readonly feeds: EventFeed;
  readonly onError: (error: unknown) => void;
  /** Maximum number of open streams in this process. */
  readonly max: number;
  /** Creates the error for further streams. */
  readonly onFull: () => Error;
}

export interface EventStreamCounts {
  readonly open: number;
  readonly opened: number;
  /** Slow clients that were disconnected. */
  readonly cut: number;
}

export interface OpenEventStream {
  readonly mcpServerId: string;
  /** Maximum number of open streams of this MCP server in this process. */
  readonly max: number;
  /** Undefined for new events only. */
  readonly after: string | undefined;
  readonly filter: EventFilter;
  /** Whether the caller is still admitted as it was authenticated. */
  readonly isCurrent: () => boolean;
}

export interface EventStreams {
  readonly counts: EventStreamCounts;
  /**
   * @param begin sends the response headers after all checks; returns undefined if the client has disconnected
   * @returns undefined if there is no response
   * @throws ProblemError `rate_limited`, `overloaded`, `events_gone`; StoreUnavailableError
   */
  open(p: OpenEventStream, begin: () => Writable | undefined): Promise<EventStream | undefined>;
  /** Ends the streams whose API keys were revoked. */
  endWithdrawn(): void;
  /** Ends all streams, each with a reconnection time. Resolves when the clients have read the end, or after a timeout. */
  close(): Promise<void>;
}

/** Events per read of a stream that catches up: about one full buffer. */
const PAGE = 100;
const HEARTBEAT_MS = 15_000;
/** Groups of streams whose heartbeats are spread over the interval. */
const HEARTBEAT_GROUPS = 15;
/** How long clients may take to read the end of their streams when the process stops. */
const CLOSE_TIMEOUT_MS = 1_000;

interface Shared {
  readonly reader: Promise<EventReader>;
  users: number;
}

/** Creates the streams of this process, with one shared reader per MCP server. */
export function createEventStreams({ feeds, onError, max: maxOpen, onFull }: EventStreamsOptions): EventStreams {
  const counts = { open: 0, opened: 0, cut: 0 };
  const shared = new Map<string, Shared>();
  const heartbeatGroups = Array.from({ length: HEARTBEAT_GROUPS }, () => new Set<EventStream>());
  const streams = new Map<EventStream, OpenEventStream>();
  const closing = new AbortController();
  const allClosed = Promise.withResolvers<void>();
  let closed: Promise<void> | undefined;
  const onCut = () => {
    counts.cut += 1;
  };
  let group = 0;
  let beating: NodeJS.Timeout | undefined;

  function beat(): void {
    group = (group + 1) % HEARTBEAT_GROUPS;
    for (const stream of heartbeatGroups[group] ?? []) stream.beat();
  }

  async function startReader(mcpServerId: string): Promise<EventReader> {
    const reader = new EventReader(mcpServerId, await feeds.newest(mcpServerId), { feeds, onError, onCut });
    reader.start();
    return reader;
  }

  /** Counts a stream. @throws ProblemError `rate_limited`, `overloaded` */
  function enter({ mcpServerId, max }: OpenEventStream): Shared {
    if (counts.open >= maxOpen) throw onFull();
    const found = shared.get(mcpServerId) ?? { reader: startReader(mcpServerId), users: 0 };
    if (found.users >= max)
      throw new ProblemError('rate_limited', {
        retryAfterMs: 1000,
        detail: limitDetail(`${max} open event streams`, 'mcpServers[].limits.eventStreams'),
      });
    found.users += 1;
    shared.set(mcpServerId, found);
    counts.open += 1;
    return found;
  }

  function leave(mcpServerId: string, of: Shared): void {
    counts.open -= 1;
    of.users -= 1;
    if (of.users > 0) return;
    shared.delete(mcpServerId);
    // `open` has reported a reader that failed to start.
    of.reader.then(
      reader => reader.stop(),
      () => undefined,
    );
    if (shared.size === 0) {
      clearInterval(beating);
      beating = undefined;
    }
  }

  async function firstPage({ mcpServerId, after }: OpenEventStream): Promise<FeedPage> {
    if (after === undefined) return { result: 'events', events: [] };
    const page = await feeds.read(mcpServerId, { after, limit: PAGE });
    if (page.result === 'gone') throw new ProblemError('events_gone');
    return page;
  }

  /** Reads the feed for one stream until it reaches the shared reader. */
  async function catchUp(
    mcpServerId: string,
    stream: EventStream,
    reader: EventReader,
    first: FeedPage,
  ): Promise<void> {
    let page = first;
    while (stream.isOpen && !closing.signal.aborted) {
      if (page.result === 'gone') return stream.end();
      for (const event of page.events) if (!stream.send(event, eventFrame(event))) return onCut();
      if (compareFeedPositions(stream.position, reader.position) >= 0) return reader.join(stream);
      await stream.drained(closing.signal);
      page = await feeds.read(mcpServerId, { after: stream.position, limit: PAGE });
    }
  }

  async function open(p: OpenEventStream, begin: () => Writable | undefined): Promise<EventStream | undefined> {
    const of = enter(p);
    try {
      const reader = await of.reader;
      const first = await firstPage(p);
      const response = begin();
      if (response === undefined) {
        leave(p.mcpServerId, of);
        return undefined;
      }
      const heartbeatGroup = heartbeatGroups[counts.opened % HEARTBEAT_GROUPS];
      const stream = new EventStream({
        response,
        position: p.after ?? reader.position,
        filter: p.filter,
        onClose() {
          reader.leave(stream);
          heartbeatGroup?.delete(stream);
          streams.delete(stream);
          leave(p.mcpServerId, of);
          if (streams.size === 0 && closing.signal.aborted) allClosed.resolve();
        },
      });
      counts.opened += 1;
      streams.set(stream, p);
      // `close` or `endWithdrawn` ran before this stream was in the list.
      if (closing.signal.aborted || !p.isCurrent()) stream.end();
      heartbeatGroup?.add(stream);
      beating ??= setInterval(beat, HEARTBEAT_MS / HEARTBEAT_GROUPS).unref();
      catchUp(p.mcpServerId, stream, reader, first).catch((error: unknown) => {
        onError(error);
        stream.end();
      });
      return stream;
    } catch (error) {
      leave(p.mcpServerId, of);
      throw error;
    }
  }

  async function closeAll(): Promise<void> {
    closing.abort();
    const readers = [...shared.values()].map(({ reader }) => reader);
    for (const stream of streams.keys()) stream.end();
    await Promise.allSettled(readers.map(async reader => (await reader).stop()));
    if (streams.size > 0) await Promise.race([allClosed.promise, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    // A client that does not read must not keep the process alive.
    for (const stream of streams.keys()) stream.cut();
  }

  return {
    counts,
    open,
    endWithdrawn() {
      for (const [stream, { isCurrent }] of streams) if (!isCurrent()) stream.end();
    },
    close() {
      closed ??= closeAll();
      return closed;
    },
  };
}
