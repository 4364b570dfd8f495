import { randomInt } from 'node:crypto';
import { Readable } from 'node:stream';
import type { EventBody } from '@postern/api';
import { compareFeedPositions, type FeedEvent, type Kind } from '@postern/elicitation';

/** What a client may be behind, in bytes, beside what the sockets hold. Whoever is further behind is cut off, and resumes. */
const MAX_BEHIND = 64 * 1024;
/** A stream that goes on for ever would outlive the credential it was opened with. */
const LONGEST_MS = 3_600_000;
/** How long a client that catches up may take for what it was sent last. */
const STALLED_MS = 30_000;
/** What clients wait before they come back, in ms. */
const RETRY_MS = 2_000;

export interface EventFilter {
  readonly kinds: ReadonlySet<Kind> | undefined;
  readonly types: ReadonlySet<FeedEvent['type']> | undefined;
}

/** An event as it is sent (HTML, section 9.2.6), the same for every stream. */
export function eventFrame(event: FeedEvent): Buffer {
  const { eventId, type, elicitationId, kind, occurredAt, position } = event;
  const data: EventBody = { eventId, type, elicitationId, kind, occurredAt: new Date(occurredAt).toISOString() };
  return Buffer.from(`event: ${type}\nid: ${position}\ndata: ${JSON.stringify(data)}\n\n`);
}

const HEARTBEAT = Buffer.from(':\n\n');
/** Without data it is no event to the client, who only remembers the id. */
const positionFrame = (position: string) => `id: ${position}\n\n`;

/** One answer that never ends. */
export class EventStream {
  readonly body: Readable;
  readonly #filter: EventFilter;
  readonly #endsAt = performance.now() + LONGEST_MS - randomInt(LONGEST_MS / 10);
  /** Everything up to here was sent, or is not wanted. */
  #position: string;
  /** What the client knows. */
  #told: string;
  /** The common reader is still behind what this stream has read by itself. */
  #isAhead = false;
  #isEnding = false;
  #drained: (() => void) | undefined;

  constructor(p: { position: string; filter: EventFilter; onClose: () => void }) {
    this.#position = p.position;
    this.#told = p.position;
    this.#filter = p.filter;
    this.body = new Readable({ highWaterMark: MAX_BEHIND / 4, read: () => this.#drained?.() });
    this.body.once('close', () => {
      this.#drained?.();
      p.onClose();
    });
    // So that whoever has seen no event yet can come back without missing one.
    this.body.push(`retry: ${RETRY_MS}\n${positionFrame(p.position)}`);
  }

  get position(): string {
    return this.#position;
  }

  get isOpen(): boolean {
    return !this.#isEnding && !this.body.destroyed;
  }

  /** @returns false when this was too much for the client, who is cut off. */
  send(event: FeedEvent, frame: Buffer): boolean {
    if (this.#isAhead && compareFeedPositions(event.position, this.#position) <= 0) return true;
    this.#isAhead = false;
    this.#position = event.position;
    const { kinds, types } = this.#filter;
    if (kinds?.has(event.kind) === false || types?.has(event.type) === false) return true;
    this.#told = event.position;
    return this.#push(frame);
  }

  /** From now on the common reader sends. */
  joined(readerPosition: string): void {
    this.#isAhead = compareFeedPositions(this.#position, readerPosition) > 0;
  }

  /** Keeps the connection alive; and what was left out need not be gone through again. */
  beat(): void {
    if (performance.now() > this.#endsAt) {
      this.end();
      return;
    }
    this.#push(HEARTBEAT);
    if (this.#told === this.#position) return;
    this.#told = this.#position;
    this.#push(Buffer.from(positionFrame(this.#position)));
  }

  /** Resolves when the client has taken most of it, has gone, or has taken too long and is cut off. */
  async drained(signal: AbortSignal): Promise<void> {
    if (this.body.readableLength < this.body.readableHighWaterMark || !this.isOpen || signal.aborted) return;
    await new Promise<void>(resolve => {
      const stalled = setTimeout(() => this.cut(), STALLED_MS).unref();
      const done = () => {
        clearTimeout(stalled);
        signal.removeEventListener('abort', done);
        this.#drained = undefined;
        resolve();
      };
      this.#drained = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Says when to come back, spread, because all of a replica's streams end together. */
  end(): void {
    if (!this.isOpen) return;
    this.#isEnding = true;
    this.body.push(`retry: ${RETRY_MS / 4 + randomInt(RETRY_MS)}\n\n`);
    this.body.push(null);
  }

  cut(): void {
    this.body.destroy();
  }

  #push(frame: Buffer): boolean {
    if (!this.isOpen) return true;
    if (this.body.readableLength + frame.byteLength > MAX_BEHIND) {
      this.cut();
      return false;
    }
    this.body.push(frame);
    return true;
  }
}
