import { setImmediate as yielded } from 'node:timers/promises';
import type { EventFeed } from '@postern/elicitation';
import { createBell } from '../../bell.ts';
import { type EventStream, eventFrame } from './event-stream.ts';

export interface EventReaderDeps {
  readonly feeds: EventFeed;
  readonly onError: (error: unknown) => void;
  /** A client did not take what it was sent. */
  readonly onCut: () => void;
}

const PAGE = 200;
/** How long a lost wake-up can go unnoticed. */
const LOOK_MS = 5_000;
const RETRY_MS = 1_000;
/** Streams served before everybody else in the process has a turn. */
const TURN = 500;

/** The one reader of an MCP server's feed in this process: what it reads goes to all streams that have joined. */
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

  /** Everything up to here has been sent, or is being sent, to those who have joined. */
  get position(): string {
    return this.#position;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** @param stream one that has everything up to `position`. */
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
    const pauses = createBell(signal);
    using watch = this.#deps.feeds.watch(this.#mcpServerId);
    while (!signal.aborted) {
      try {
        if (!(await this.#readOn())) await watch.next(LOOK_MS, signal);
      } catch (error) {
        this.#deps.onError(error);
        await pauses.wait(RETRY_MS);
      }
    }
  }

  /** True when there may be more. */
  async #readOn(): Promise<boolean> {
    const { feeds, onCut } = this.#deps;
    const page = await feeds.read(this.#mcpServerId, { after: this.#position, limit: PAGE });
    if (page.result === 'gone') {
      // Whoever comes back with what was sent to them last is told so.
      this.#position = await feeds.newest(this.#mcpServerId);
      for (const stream of this.#streams) stream.end();
      return true;
    }
    for (const event of page.events) {
      // First: who joins from now on has read this one by itself.
      this.#position = event.position;
      const frame = eventFrame(event);
      let served = 0;
      for (const stream of this.#streams) {
        if (!stream.send(event, frame)) onCut();
        served += 1;
        if (served % TURN === 0) await yielded();
      }
    }
    return page.events.length === PAGE;
  }
}
