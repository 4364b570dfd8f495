import { MAX_MESSAGE_BYTES, whole } from '../message.ts';
import type { SentSecrets } from '../sent-secrets.ts';
import { eventsIn, eventText } from './events.ts';

type Body = AsyncIterable<Buffer> & { destroy(): void };

/** The response without secrets in its body: the same bytes if it has none. */
export function masked<R extends { readonly isStream: boolean; readonly body: Body }>(
  response: R,
  secrets: SentSecrets,
) {
  const { body, isStream } = response;
  if (!isStream && secrets.isEmpty) return response;
  const clean = isStream ? maskedEvents(body, secrets) : maskedWhole(body, secrets);
  return { ...response, body: Object.assign(clean, { destroy: () => body.destroy() }) };
}

async function* maskedWhole(body: AsyncIterable<Buffer>, secrets: SentSecrets): AsyncGenerator<Buffer> {
  yield secrets.masked(await whole(body, MAX_MESSAGE_BYTES)) ?? Buffer.alloc(0);
}

/** A blank line, which ends an event. */
const EVENT_END = /(?:\r\n|\n|\r(?!\n)){2}/g;

/** A stream may be older than the secret, so each event decides. */
async function* maskedEvents(body: AsyncIterable<Buffer>, secrets: SentSecrets): AsyncGenerator<Buffer> {
  let pending = '';
  for await (const chunk of body) {
    pending += chunk.toString('latin1');
    if (pending.length > MAX_MESSAGE_BYTES) throw new RangeError('an event that is too long');
    let start = 0;
    for (const { index, 0: end } of pending.matchAll(EVENT_END)) {
      yield* maskedEvent(Buffer.from(pending.slice(start, index + end.length), 'latin1'), secrets);
      start = index + end.length;
    }
    pending = pending.slice(start);
  }
  yield* maskedEvent(Buffer.from(pending, 'latin1'), secrets);
}

async function* maskedEvent(block: Buffer, secrets: SentSecrets): AsyncGenerator<Buffer> {
  if (secrets.isEmpty) return yield block;
  let isSame = true;
  const events: string[] = [];
  for await (const event of eventsIn([block])) {
    const data = Buffer.from(event.data);
    const clean = secrets.masked(data);
    isSame &&= clean === data;
    if (clean !== undefined) events.push(eventText({ ...event, data: clean.toString() }));
  }
  yield isSame ? block : Buffer.from(events.join(''));
}
