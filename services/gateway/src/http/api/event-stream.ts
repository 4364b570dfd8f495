import { randomInt } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { EventBody } from '@postern/api';
import { compareFeedPositions, type FeedEvent, type Kind } from '@postern/elicitation';

/** What a client may be behind, in bytes, beside what the system holds for its socket. Whoever is further behind is cut off, and resumes. */
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

/** One answer that never ends. It is written to without a stream in between: that would take as much memory as the connection. */
export class EventStream {
  readonly #answer: Writable;
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
  readonly #onWritten = () => this.#drained?.();

  /** @param p.answer has begun and is there for nothing else. */
  constructor(p: { answer: Writable; position: string; filter: EventFilter; onClose: () => void }) {
    this.#answer = p.answer;
    this.#position = p.position;
    this.#told = p.position;
    this.#filter = p.filter;
    p.answer.once('close', () => {
      this.#drained?.();
      p.onClose();
    });
    // So that whoever has seen no event yet can come back without missing one.
    p.answer.write(`retry: ${RETRY_MS}\n${positionFrame(p.position)}`);
  }

  get position(): string {
    return this.#position;
  }

  get isOpen(): boolean {
    return !this.#isEnding && !this.#answer.destroyed;
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
    const isOver = () => this.#answer.writableLength < MAX_BEHIND / 4 || !this.isOpen || signal.aborted;
    if (isOver()) return;
    await new Promise<void>(resolve => {
      const stalled = setTimeout(() => this.cut(), STALLED_MS).unref();
      const look = () => {
        if (!isOver()) return;
        clearTimeout(stalled);
        signal.removeEventListener('abort', look);
        this.#drained = undefined;
        resolve();
      };
      this.#drained = look;
      signal.addEventListener('abort', look);
    });
  }

  /** Says when to come back, spread, because all of a replica's streams end together. */
  end(): void {
    if (!this.isOpen) return;
    this.#isEnding = true;
    this.#answer.end(`retry: ${RETRY_MS / 4 + randomInt(RETRY_MS)}\n\n`);
  }

  cut(): void {
    this.#answer.destroy();
  }

  #push(frame: Buffer): boolean {
    if (!this.isOpen) return true;
    if (this.#answer.writableLength + frame.byteLength > MAX_BEHIND) {
      this.cut();
      return false;
    }
    this.#answer.write(frame, this.#onWritten);
    return true;
  }
}
