import { setImmediate as yielded } from 'node:timers/promises';
import type { EventFeed } from '@postern/elicitation';
import { outsideRequests } from '../platform/http/request-context.ts';
import { type EventStream, eventFrame } from './event-stream.ts';
import { createWakeSignal } from './wake-signal.ts';

export interface EventReaderDeps {
  readonly feeds: EventFeed;
  readonly onError: (error: unknown) => void;
  /** Called when a slow client is disconnected. */
  readonly onCut: () => void;
}

const PAGE = 200;
/** Maximum delay after a lost wake-up. */
const POLL_MS = 5_000;
const RETRY_MS = 1_000;
/** Number of streams to serve before yielding to the event loop. */
const YIELD_EVERY = 500;

/** Reads the feed of one MCP server for this process, and sends its events to all streams that have joined. */
export class EventReader {
  readonly #deps: EventReaderDeps;
  readonly #mcpServerId: string;
  readonly #streams = new Set<EventStream>();
  readonly #stopping = new AbortController();
  #position: string;
  #running: Promise<void> | undefined;

  constructor(mcpServerId: string, position: string, deps: EventReaderDeps) {
    this.#mcpServerId = mcpServerId;
    this.#position = position;
    this.#deps = deps;
  }

  /** All events up to this position have been sent to the joined streams, or are being sent. */
  get position(): string {
    return this.#position;
  }

  start(): void {
    this.#running ??= outsideRequests(() => this.#run());
  }

  /** @param stream has all events up to `position` */
  join(stream: EventStream): void {
    stream.joined(this.#position);
    this.#streams.add(stream);
  }

  leave(stream: EventStream): void {
    this.#streams.delete(stream);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const pauses = createWakeSignal(signal);
    using watch = this.#deps.feeds.watch(this.#mcpServerId);
    while (!signal.aborted) {
      try {
        if (!(await this.#readPage())) await watch.next(POLL_MS, signal);
      } catch (error) {
        this.#deps.onError(error);
        await pauses.wait(RETRY_MS);
      }
    }
  }

  /** @returns true if there may be more events */
  async #readPage(): Promise<boolean> {
    const { feeds, onCut } = this.#deps;
    const page = await feeds.read(this.#mcpServerId, { after: this.#position, limit: PAGE });
    if (page.result === 'gone') {
      // The clients reconnect with their last event id, and the gateway responds with `events_gone`.
      this.#position = await feeds.newest(this.#mcpServerId);
      for (const stream of this.#streams) stream.end();
      return true;
    }
    for (const event of page.events) {
      // Set before the loop, because a stream that joins during the loop has already read this event.
      this.#position = event.position;
      const frame = eventFrame(event);
      let served = 0;
      for (const stream of this.#streams) {
        if (!stream.send(event, frame)) onCut();
        served += 1;
        if (served % YIELD_EVERY === 0) await yielded();
      }
    }
    return page.events.length === PAGE;
  }
}
