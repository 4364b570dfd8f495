/** Reading of replies. A reply of another shape means a script and its caller do not belong together. */

export function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new TypeError('Redis answered with something other than a list.');
  return reply;
}

/** A hash, as ioredis answers with it. */
export function fieldsOf(reply: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply))
    throw new TypeError('Redis answered with something other than a hash.');
  return Object.entries(reply);
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('Redis answered with something other than text.');
}

/** Redis has no value for it. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

export function numberOf(value: unknown): number {
  const number = Number(textOf(value));
  if (!Number.isSafeInteger(number)) throw new TypeError('Redis answered with something other than a number.');
  return number;
}
