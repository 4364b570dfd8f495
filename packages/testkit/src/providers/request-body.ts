import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** Reads the body of a request and restores the stream, for a handler that reads it itself. */
export async function peekBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  Object.defineProperties(request, {
    readable: { value: true },
    iterator: { value: () => Readable.from(body.length === 0 ? [] : [body]).iterator() },
  });
  return body.toString('utf8');
}
