import { finished } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ProblemError } from './problems.ts';

/**
 * Reads the body of a request. Copies each piece as it arrives, because a caller may send pieces of one byte, and each is an object of a
 * few hundred.
 * @param limit in bytes, by default that of the route
 * @throws ProblemError `payload_too_large`
 */
export function readBody(
  { raw, headers, routeOptions }: Pick<FastifyRequest, 'raw' | 'headers' | 'routeOptions'>,
  limit = routeOptions.bodyLimit,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  if (Number(headers['content-length'] ?? 0) > limit) throw new ProblemError('payload_too_large');
  let bytes = Buffer.alloc(Math.min(limit, 4 * 1024));
  let size = 0;
  const copy = (piece: Buffer) => {
    const needed = size + piece.byteLength;
    if (needed > limit) {
      raw.off('data', copy).pause();
      reject(new ProblemError('payload_too_large'));
      return;
    }
    if (needed > bytes.byteLength)
      bytes = Buffer.concat([bytes], Math.min(limit, Math.max(needed, 2 * bytes.byteLength)));
    size += piece.copy(bytes, size);
  };
  finished(raw, { writable: false }, error => {
    if (error == null) resolve(bytes.subarray(0, size));
    else reject(error);
  });
  raw.on('data', copy);
  return promise;
}
