import type { FastifyBodyParser, FastifyInstance } from 'fastify';
import { ProblemError } from '../problem-error.ts';

/**
 * Reads a JSON body in which every name is there once (RFC 8259 section 4: names SHOULD be unique). Of two equal names one
 * parser takes the first and another the last, so what was checked before us might not be what we act on.
 */
export function createJsonParser(app: FastifyInstance): FastifyBodyParser<string> {
  const parse = app.getDefaultJsonParser('error', 'error');
  return (request, body, done) => {
    parse(request, body, (error, value) => {
      if (error === null && memberCount(value) !== structuralColons(body)) {
        done(new ProblemError('invalid_request', { errors: [{ path: 'body', message: 'a name is there twice' }] }));
        return;
      }
      done(error, value);
    });
  };
}

/** In valid JSON every member has exactly one colon outside strings, those that a later one of the same name hides included. */
function structuralColons(json: string): number {
  return json.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;
}

/** Members of all objects, without recursion: the body decides how deep they are nested. */
function memberCount(value: unknown): number {
  let count = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== 'object' || node === null) continue;
    const children = Object.values(node);
    if (!Array.isArray(node)) count += children.length;
    for (const child of children) open.push(child);
  }
  return count;
}
