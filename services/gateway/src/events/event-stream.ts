import { randomInt } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { EventBody } from '@postern/api';
import { compareFeedPositions, type FeedEvent, type Kind } from '@postern/elicitation';

/** Maximum buffer per client, in bytes, besides the socket buffer. A slower client is disconnected, and resumes. */
export const MAX_BEHIND = 64 * 1024;
/** Maximum lifetime of a stream: it must not outlive its credential for long. */
export const MAX_LIFETIME_MS = 3_600_000;
/** How long a client that catches up may take to read the last page. */
const DRAIN_TIMEOUT_MS = 30_000;
/** Reconnection time of clients, in milliseconds. */
const RETRY_MS = 2_000;

export interface EventFilter {
  readonly kinds: ReadonlySet<Kind> | undefined;
  readonly types: ReadonlySet<FeedEvent['type']> | undefined;
}

/** Formats an event as a server-sent event (HTML, section 9.2.6). All streams share the buffer. */
export function eventFrame(event: FeedEvent): Buffer {
  const { eventId, type, elicitationId, kind, occurredAt, position } = event;
  const data: EventBody = { eventId, type, elicitationId, kind, occurredAt: new Date(occurredAt).toISOString() };
  return Buffer.from(`event: ${type}\nid: ${position}\ndata: ${JSON.stringify(data)}\n\n`);
}

const HEARTBEAT = Buffer.from(':\n\n');
/** A frame without data only sets the last event id of the client. */
const positionFrame = (position: string) => `id: ${position}\n\n`;

/** One open response. Writes to it directly: a stream in between would take as much memory as the connection. */
export class EventStream {
  readonly #response: Writable;
  readonly #filter: EventFilter;
  readonly #endsAt = performance.now() + MAX_LIFETIME_MS - randomInt(MAX_LIFETIME_MS / 10);
  /** All events up to this position were sent or filtered out. */
  #position: string;
  /** The last event id of the client. */
  #clientPosition: string;
  /** This stream has read more events than the shared reader. */
  #isAhead = false;
  #isEnding = false;
  #drained: (() => void) | undefined;
  readonly #onWritten = () => this.#drained?.();

  /** @param p.response has sent its headers, and has no other writer */
  constructor(p: { response: Writable; position: string; filter: EventFilter; onClose: () => void }) {
    this.#response = p.response;
    this.#position = p.position;
    this.#clientPosition = p.position;
    this.#filter = p.filter;
    p.response.once('close', () => {
      this.#drained?.();
      p.onClose();
    });
    // A client that reconnects before its first event misses no event.
    p.response.write(`retry: ${RETRY_MS}\n${positionFrame(p.position)}`);
  }

  get position(): string {
    return this.#position;
  }

  get isOpen(): boolean {
    return !this.#isEnding && !this.#response.destroyed;
  }

  /** @returns false if the buffer is full; the client is then disconnected */
  send(event: FeedEvent, frame: Buffer): boolean {
    if (this.#isAhead && compareFeedPositions(event.position, this.#position) <= 0) return true;
    this.#isAhead = false;
    this.#position = event.position;
    const { kinds, types } = this.#filter;
    if (kinds?.has(event.kind) === false || types?.has(event.type) === false) return true;
    this.#clientPosition = event.position;
    return this.#push(frame);
  }

  /** From now on the shared reader sends. */
  joined(readerPosition: string): void {
    this.#isAhead = compareFeedPositions(this.#position, readerPosition) > 0;
  }

  /** Keeps the connection alive, and moves the last event id past filtered events. */
  beat(): void {
    if (performance.now() > this.#endsAt) {
      this.end();
      return;
    }
    this.#push(HEARTBEAT);
    if (this.#clientPosition === this.#position) return;
    this.#clientPosition = this.#position;
    this.#push(Buffer.from(positionFrame(this.#position)));
  }

  /** Resolves when the client has read most of the buffer, has disconnected, or was disconnected after a timeout. */
  async drained(signal: AbortSignal): Promise<void> {
    const isDone = () => this.#response.writableLength < MAX_BEHIND / 4 || !this.isOpen || signal.aborted;
    if (isDone()) return;
    await new Promise<void>(resolve => {
      const timeout = setTimeout(() => this.cut(), DRAIN_TIMEOUT_MS).unref();
      const check = () => {
        if (!isDone()) return;
        clearTimeout(timeout);
        signal.removeEventListener('abort', check);
        this.#drained = undefined;
        resolve();
      };
      this.#drained = check;
      signal.addEventListener('abort', check);
    });
  }

  /** Sends a random reconnection time, because all streams of a replica end together. */
  end(): void {
    if (!this.isOpen) return;
    this.#isEnding = true;
    this.#response.end(`retry: ${RETRY_MS / 4 + randomInt(RETRY_MS)}\n\n`);
  }

  cut(): void {
    this.#response.destroy();
  }

  #push(frame: Buffer): boolean {
    if (!this.isOpen) return true;
    if (this.#response.writableLength + frame.byteLength > MAX_BEHIND) {
      this.cut();
      return false;
    }
    this.#response.write(frame, this.#onWritten);
    return true;
  }
}
