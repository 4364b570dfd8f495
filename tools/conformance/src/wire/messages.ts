import { z } from 'zod';

const record = z.record(z.string(), z.unknown());

const messageSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
  params: record.optional(),
  result: record.optional(),
  error: z.looseObject({ code: z.int(), message: z.string(), data: z.unknown().optional() }).optional(),
});
export type Message = z.infer<typeof messageSchema>;
export type Id = string | number;

export const isResponse = (message: Message): boolean => message.result !== undefined || message.error !== undefined;

/** The peer sent something that is not a JSON-RPC message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Longest message that is read, in characters. */
const MAX_LENGTH = 4 * 2 ** 20;

/** @throws WireError */
export function parseMessage(text: string): Message {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new WireError('not JSON');
  }
  const message = messageSchema.safeParse(value);
  if (!message.success) throw new WireError(`not a JSON-RPC message: ${z.prettifyError(message.error)}`);
  return message.data;
}

/** The messages of an HTTP response: one JSON body, or an event stream. @throws WireError */
export async function* messagesOf(response: Response): AsyncGenerator<Message> {
  const type = response.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type === 'application/json') {
    let text = '';
    for await (const chunk of textOf(response)) text = limited(text + chunk);
    yield parseMessage(text);
  } else if (type === 'text/event-stream') {
    yield* messagesOfEvents(response);
  } else {
    await response.body?.cancel();
  }
}

function limited(text: string): string {
  if (text.length > MAX_LENGTH) throw new WireError(`a message is longer than ${MAX_LENGTH} characters`);
  return text;
}

async function* textOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  for await (const chunk of response.body) yield decoder.decode(chunk, { stream: true });
}

async function* messagesOfEvents(response: Response): AsyncGenerator<Message> {
  let rest = '';
  let data: string[] = [];
  for await (const chunk of textOf(response)) {
    // A line end of two characters may be split between two chunks.
    const lines = limited(rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        const [, value] = /^data:(?: )?(.*)$/s.exec(line) ?? [];
        if (value !== undefined) data.push(value);
        continue;
      }
      // An event without data only primes the stream for resumption.
      const text = data.join('\n');
      data = [];
      if (text !== '') yield parseMessage(text);
    }
  }
}
