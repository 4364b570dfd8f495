import { finished } from 'node:stream';
import { promisify } from 'node:util';
import { hasUniqueNames } from '@postern/authorization';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ProblemError } from './problems.ts';

/** For routes that take no body. An empty JSON object counts as none. */
export const noBodySchema = z.union([z.undefined(), z.null(), z.strictObject({})]);

/**
 * Validates input from outside. @throws ProblemError `invalid_request` with the path of each error and each unknown field, never a value.
 */
export function parse<T extends z.ZodType>(
  schema: T,
  value: unknown,
  at: 'body' | 'query' | 'path' | 'header',
): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ProblemError('invalid_request', {
    errors: result.error.issues.slice(0, 20).map(issue => ({
      path: [at, ...issue.path.map(part => (typeof part === 'number' ? String(part) : part.toString()))]
        .join('.')
        .slice(0, 200),
      message: issue.code === 'unrecognized_keys' ? unknownFields(issue.keys) : issue.message.slice(0, 200),
    })),
  });
}

/** Names the fields that were not recognized, so that a caller can find a typo. The number and length are bounded. */
function unknownFields(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(name => JSON.stringify(name.slice(0, 40)));
  return `unknown fields: ${[...shown, ...(names.length > shown.length ? ['…'] : [])].join(', ')}`;
}

/**
 * Lets the routes of `app` read JSON bodies. Refuses duplicate names (RFC 8259 section 4: names SHOULD be unique): some parsers take the
 * first of two equal names, others the last, so the gateway could act on another value than the one checked in front of it.
 */
export function addJsonParser(app: FastifyInstance): void {
  const parseJson = promisify(app.getDefaultJsonParser('error', 'error'));
  app.addContentTypeParser('application/json', async (request: FastifyRequest): Promise<unknown> => {
    const body = String(await readBody(request));
    const value: unknown = await parseJson(request, body);
    if (!hasUniqueNames(value, body))
      throw new ProblemError('invalid_request', { errors: [{ path: 'body', message: 'duplicate name' }] });
    return value;
  });
}

const idempotencyKeySchema = z.string().regex(/^[\x21-\x7e]{1,255}$/, { error: '1 to 255 visible ASCII characters' });

/** @throws ProblemError `invalid_request` */
export function idempotencyKeyOf(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const key = request.headers['idempotency-key'];
  return key === undefined ? undefined : parse(idempotencyKeySchema, key, 'header');
}

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
