/** What goes over the connection: values to Redis, which knows only text, and its replies. */

export type Scalar = string | number;

/** ioredis would flatten an array or an object into further values. @throws TypeError */
export function scalar(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw new TypeError('Only strings and whole numbers are sent to Redis.');
}

// An unexpected shape of a reply means that a script and its caller do not match.

export function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new TypeError('Redis answered with something other than a list.');
  return reply;
}

/** A hash in the format of ioredis. */
export function fieldsOf(reply: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply))
    throw new TypeError('Redis answered with something other than a hash.');
  return Object.entries(reply);
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('Redis answered with something other than text.');
}

/** Whether Redis has no value. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

export function numberOf(value: unknown): number {
  const number = Number(textOf(value));
  if (!Number.isSafeInteger(number)) throw new TypeError('Redis answered with something other than a number.');
  return number;
}

export const unknownResult = () => new TypeError('A script answered with a result this release does not know.');
