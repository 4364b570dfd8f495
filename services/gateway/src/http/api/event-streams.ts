import type { Writable } from 'node:stream';
import { compareFeedPositions, type EventFeed, type FeedPage } from '@postern/elicitation';
import { ProblemError } from '../problem-error.ts';
import { EventReader } from './event-reader.ts';
import { type EventFilter, EventStream, eventFrame } from './event-stream.ts';

export interface EventStreamsOptions {
  readonly feeds: EventFeed;
  readonly onError: (error: unknown) => void;
  /** Streams that this process may have open, of all MCP servers. */
  readonly max: number;
  /** What it is refused with when there are that many. */
  readonly onFull: () => Error;
}

export interface EventStreamCounts {
  readonly open: number;
  readonly opened: number;
  /** Clients that did not take what they were sent. */
  readonly cut: number;
}

export interface OpenEventStream {
  readonly mcpServerId: string;
  /** Streams that this MCP server may have open in this process. */
  readonly max: number;
  /** Undefined: only what comes from now on. */
  readonly after: string | undefined;
  readonly filter: EventFilter;
}

export interface EventStreams {
  readonly counts: EventStreamCounts;
  /**
   * @param begin begins the answer, when nothing stands against it any more; undefined when the client has gone meanwhile.
   * @returns undefined when there is no answer.
   * @throws ProblemError `rate_limited`, `overloaded`, `events_gone`; StoreUnavailableError
   */
  open(p: OpenEventStream, begin: () => Writable | undefined): Promise<EventStream | undefined>;
  /** Ends all of them, with a word about when to come back. */
  close(): Promise<void>;
}

/** What one read brings to a stream that catches up: as much as it may be behind. */
const PAGE = 100;
const HEARTBEAT_MS = 15_000;
/** Streams take turns within that time, so that thousands of them are no burst. */
const TURNS = 15;

interface Shared {
  readonly reader: Promise<EventReader>;
  users: number;
}

/** All streams of this process, with one reader for each MCP server that has any. */
export function createEventStreams({ feeds, onError, max: maxOpen, onFull }: EventStreamsOptions): EventStreams {
  const counts = { open: 0, opened: 0, cut: 0 };
  const shared = new Map<string, Shared>();
  const turns = Array.from({ length: TURNS }, () => new Set<EventStream>());
  const closing = new AbortController();
  const onCut = () => {
    counts.cut += 1;
  };
  let turn = 0;
  let beating: NodeJS.Timeout | undefined;

  function beat(): void {
    turn = (turn + 1) % TURNS;
    for (const stream of turns[turn] ?? []) stream.beat();
  }

  async function startReader(mcpServerId: string): Promise<EventReader> {
    const reader = new EventReader(mcpServerId, await feeds.newest(mcpServerId), { feeds, onError, onCut });
    reader.start();
    return reader;
  }

  /** Counts the caller in. @throws ProblemError `rate_limited`, `overloaded` */
  function enter({ mcpServerId, max }: OpenEventStream): Shared {
    if (counts.open >= maxOpen) throw onFull();
    const found = shared.get(mcpServerId) ?? { reader: startReader(mcpServerId), users: 0 };
    if (found.users >= max) throw new ProblemError('rate_limited', { retryAfterMs: 1000 });
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
    // One that never started was reported to whoever asked for it.
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

  /** Reads for itself until it is where the common reader is. */
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
      const answer = begin();
      if (answer === undefined) {
        leave(p.mcpServerId, of);
        return undefined;
      }
      const turnOf = turns[counts.opened % TURNS];
      const stream = new EventStream({
        answer,
        position: p.after ?? reader.position,
        filter: p.filter,
        onClose() {
          reader.leave(stream);
          turnOf?.delete(stream);
          leave(p.mcpServerId, of);
        },
      });
      counts.opened += 1;
      // Came in while the others were told to go: so is this one.
      if (closing.signal.aborted) stream.end();
      turnOf?.add(stream);
      beating ??= setInterval(beat, HEARTBEAT_MS / TURNS).unref();
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

  async function close(): Promise<void> {
    closing.abort();
    const readers = [...shared.values()].map(({ reader }) => reader);
    for (const streams of turns) for (const stream of streams) stream.end();
    await Promise.allSettled(readers.map(async reader => (await reader).stop()));
  }

  return { counts, open, close };
}
