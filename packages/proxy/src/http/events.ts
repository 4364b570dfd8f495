import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { MAX_MESSAGE_BYTES } from '../message.ts';

/** An event of a stream of events (HTML, Server-sent events). */
export type StreamEvent = EventSourceMessage;

/**
 * The events of a response, as they come.
 *
 * @throws {RangeError} for an event of more than {@link MAX_MESSAGE_BYTES}
 */
export async function* eventsIn(body: AsyncIterable<Uint8Array> | readonly Uint8Array[]): AsyncGenerator<StreamEvent> {
  let events: StreamEvent[] = [];
  const parser = createParser({ onEvent: event => events.push(event) });
  const decoder = new TextDecoder();
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (events.length > 0) size = 0;
    if (size > MAX_MESSAGE_BYTES) throw new RangeError(`an event of more than ${MAX_MESSAGE_BYTES} bytes`);
    yield* events;
    events = [];
  }
}

/** The text of an event. */
export function eventText({ id, event, data }: StreamEvent): string {
  const lines = data.split(/\r\n|\r|\n/).map(line => `data: ${line}`);
  return `${[...(id === undefined ? [] : [`id: ${id}`]), ...(event === undefined ? [] : [`event: ${event}`]), ...lines].join('\n')}\n\n`;
}

/** Bytes after which another event may stand. */
const EVENT_END = /(?:\n\n|\r\r|\r\n\r\n)$/;

/** Adds events to a stream that passes as it comes. */
export class AddedEvents {
  readonly #waiting: string[] = [];
  #wake = Promise.withResolvers<'woken'>();

  add(event: StreamEvent): void {
    this.#waiting.push(eventText(event));
    this.#wake.resolve('woken');
  }

  /** The stream, with the added events between its own. Ends with it. */
  async *within(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const chunks = body[Symbol.asyncIterator]();
    const read = () => {
      const result = chunks.next();
      // It may fail when nobody waits for it any more.
      result.catch(() => {});
      return result;
    };
    let next = read();
    let last = '';
    try {
      for (;;) {
        const isBetween = last === '' || EVENT_END.test(last);
        if (isBetween && this.#waiting.length > 0) {
          this.#wake = Promise.withResolvers();
          for (const text of this.#waiting.splice(0)) yield Buffer.from(text);
        }
        const result = await (isBetween ? Promise.race([next, this.#wake.promise]) : next);
        if (result === 'woken') continue;
        if (result.done === true) return;
        yield result.value;
        last = (last + result.value.toString('latin1')).slice(-4);
        next = read();
      }
    } finally {
      // The reader of the response may be gone before the end.
      await chunks.return?.();
    }
  }
}
