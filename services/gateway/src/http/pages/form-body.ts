import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requestContext } from '../../request-context.ts';
import { ProblemError } from '../problem-error.ts';
import type { FormLimits } from './form-limits.ts';
import { PageError } from './page-error.ts';

const AMPERSAND = 0x26;

/** Leaves the bodies of forms unread. Routes read them with `readFormBody` when they know who is there and what was asked. */
export function leaveFormsUnread(app: FastifyInstance): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', (_request, payload, done) => done(null, payload));
}

/**
 * Reads a form (application/x-www-form-urlencoded), once. A name that is there several times has a list of values.
 * @returns undefined without a body
 * @throws ProblemError `payload_too_large`; PageError `bad_request` for more controls than the page has, before any is decoded
 */
export async function readFormBody(request: FastifyRequest, limits: FormLimits): Promise<object | undefined> {
  const { body } = request;
  if (!(body instanceof Readable)) return undefined;
  if (Number(request.headers['content-length'] ?? 0) > limits.bytes) throw new ProblemError('payload_too_large');
  // Whoever sends slowly holds no place of those that are worked on.
  const place = requestContext()?.place;
  const bytes = await (place === undefined ? bytesOf(body, limits) : place.aside(() => bytesOf(body, limits)));
  if (controlsIn(bytes) > limits.controls) throw new PageError('bad_request');
  return fieldsIn(bytes.toString());
}

async function bytesOf(body: Readable, { bytes }: FormLimits): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > bytes) throw new ProblemError('payload_too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function controlsIn(bytes: Buffer): number {
  let count = 1;
  for (const byte of bytes) if (byte === AMPERSAND) count += 1;
  return count;
}

function fieldsIn(text: string): object {
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(fields);
}
