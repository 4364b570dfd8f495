import type { Readable } from 'node:stream';
import { ProblemError } from './problems.ts';

/**
 * Reads a body of at most `limit` bytes. Copies each chunk, because a caller may send chunks of one byte, and each is an object of a few
 * hundred.
 * @throws ProblemError `payload_too_large`
 */
export async function readBytes(body: Readable, limit: number): Promise<Buffer> {
  let bytes = Buffer.alloc(Math.min(limit, 4 * 1024));
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const needed = size + chunk.byteLength;
    if (needed > limit) throw new ProblemError('payload_too_large');
    if (needed > bytes.byteLength)
      bytes = Buffer.concat([bytes], Math.min(limit, Math.max(needed, 2 * bytes.byteLength)));
    size += chunk.copy(bytes, size);
  }
  return bytes.subarray(0, size);
}
