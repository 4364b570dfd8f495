import { MAX_MESSAGE_BYTES, whole } from '../message.ts';
import type { SentSecrets } from '../sent-secrets.ts';
import { eventsIn, eventText } from './events.ts';

export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream's id of the session. */
  readonly sessionId: string | undefined;
  readonly isStream: boolean;
  readonly body: AsyncIterable<Buffer> & { destroy(): void };
}

/** The response without secrets: the same bytes if its body has none, and without headers that have one. */
export function masked<R extends Pick<UpstreamResponse, 'isStream' | 'headers' | 'body'>>(
  response: R,
  secrets: SentSecrets,
) {
  const { body, isStream } = response;
  const headers = Object.fromEntries(
    Object.entries(response.headers).filter(([, value]) => cleaned(value, secrets) === value),
  );
  const clean = isStream ? maskedEvents(body, secrets) : maskedWhole(body, secrets);
  return { ...response, headers, body: Object.assign(clean, { destroy: () => body.destroy() }) };
}

const cleaned = (text: string, secrets: SentSecrets): string | undefined =>
  secrets.masked(Buffer.from(text))?.toString();

/** The body may end long after its headers have come, so it is searched for secrets that are younger than these. */
async function* maskedWhole(body: AsyncIterable<Buffer>, secrets: SentSecrets): AsyncGenerator<Buffer> {
  yield secrets.masked(await whole(body, MAX_MESSAGE_BYTES)) ?? Buffer.alloc(0);
}

/** A blank line, which ends an event. */
const EVENT_END = /(?:\r\n|\n|\r(?!\n)){2}/g;

/** A stream may be older than the secret, so each event decides. */
async function* maskedEvents(body: AsyncIterable<Buffer>, secrets: SentSecrets): AsyncGenerator<Buffer> {
  let pending: string[] = [];
  let size = 0;
  // The end of an event may come in parts. What is far before it is not searched again.
  let last = '';
  for await (const chunk of body) {
    const text = chunk.toString('latin1');
    pending.push(text);
    size += text.length;
    if (size > MAX_MESSAGE_BYTES) throw new RangeError('an event that is too long');
    last = last.slice(-3) + text;
    if (last.search(EVENT_END) === -1) continue;
    const blocks = pending.join('');
    let start = 0;
    for (const { index, 0: end } of blocks.matchAll(EVENT_END)) {
      yield await maskedEvent(blocks.slice(start, index + end.length), secrets);
      start = index + end.length;
    }
    last = blocks.slice(start);
    pending = [last];
    size = last.length;
  }
  yield await maskedEvent(pending.join(''), secrets);
}

const BLANK_LINE = Buffer.from('\n\n');

async function maskedEvent(text: string, secrets: SentSecrets): Promise<Buffer> {
  const block = Buffer.from(text, 'latin1');
  if (secrets.isEmpty || text === '') return block;
  // Also what belongs to no event, such as a comment.
  let isSame = secrets.masked(block) === block;
  const events: string[] = [];
  for await (const { id, event, data } of eventsIn([block, BLANK_LINE])) {
    const clean = cleaned(data, secrets);
    isSame &&= clean === data;
    if (clean === undefined) continue;
    events.push(eventText({ id: id && cleaned(id, secrets), event: event && cleaned(event, secrets), data: clean }));
  }
  return isSame ? block : Buffer.from(events.join(''));
}
