import * as z from 'zod';

/**
 * Returns the schema of a document that another party wrote: a token response, metadata, a registration. It reads the members of the
 * shape as tolerantly as the common clients do, and drops all other members unread:
 *
 * - `null`, an empty text and an empty list are an absent member if the member is optional;
 * - a number may be text with digits, and loses its fraction: `"3600"`, `3600.0`;
 * - a boolean may be text: `"true"`;
 * - a list may be one text, separated by spaces or commas, and loses its empty entries.
 *
 * A success is any 2xx status, at every endpoint: the document decides, and 204 has none.
 *
 * Strict on purpose:
 *
 * | what | why |
 * |---|---|
 * | duplicate names, also in members that are not read | another parser of the same text may use the other value |
 * | members that are required, such as `access_token`, `issuer`, `client_id` | without them there is nothing to use, or nothing to compare |
 * | texts are never made from numbers, lists or objects, except `scope` from a list | a token, an issuer or an id is sent and compared as it is |
 * | `issuer`, `resource`, `redirect_uris` are compared as strings, before anything else is read | mix-up |
 * | rules of URLs: https, no credentials, no way from outside to inside hosts | a document must not direct our requests, or browsers |
 * | a named `token_type` is the requested one; a missing one is `bearer`, so refused after a DPoP proof | a bearer token can be replayed |
 * | a boolean or list that cannot be read makes the document invalid | it may turn on a protection |
 * | an empty text or list of a member with {@link emptyCounts} | it excludes: no scope in a new grant, no PKCE method, no resource |
 * | maximum lengths, and the characters of tokens and codes | they are stored for months, and become headers and URLs |
 * | configured marks of success | the operator has named the value exactly |
 */
export function foreignDocument<Shape extends z.ZodRawShape>(shape: Shape) {
  const schema = z.object(shape);
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const members = Object.entries(properties).map(([name, property]) => {
    const { type, emptyCounts: counts } = typeof property === 'object' ? property : {};
    return { name, read: readers[String(type)] ?? asIs, isOptional: !required.includes(name), counts: counts === true };
  });

  const prepare = (document: unknown): unknown => {
    if (typeof document !== 'object' || document === null || Array.isArray(document)) return document;
    const prepared: [string, unknown][] = [];
    for (const { name, read, isOptional, counts } of members) {
      const value: unknown = Object.hasOwn(document, name) ? read(Reflect.get(document, name)) : undefined;
      const isAbsent = value === undefined || value === null || (!counts && isEmpty(value));
      if (!(isAbsent && isOptional)) prepared.push([name, value]);
    }
    return Object.fromEntries(prepared);
  };
  return z.preprocess(prepare, schema);
}

/** For members whose empty value is a statement. */
export const emptyCounts = { emptyCounts: true } as const;

const isEmpty = (value: unknown): boolean =>
  (typeof value === 'string' && value.trim() === '') || (Array.isArray(value) && value.length === 0);

const asIs = (value: unknown): unknown => value;

/** By the type that the schema expects. */
const readers: Partial<Record<string, (value: unknown) => unknown>> = {
  number: wholeNumber,
  integer: wholeNumber,
  boolean: value => (typeof value === 'string' ? (truths[value.trim().toLowerCase()] ?? value) : value),
  array: list,
};

const truths: Partial<Record<string, boolean>> = { true: true, false: false };

function wholeNumber(value: unknown): unknown {
  const isDigits = typeof value === 'string' && /^\s*-?\d{1,15}(?:\.\d{1,15})?\s*$/.test(value);
  const number = isDigits ? Number(value) : value;
  return typeof number === 'number' ? Math.trunc(number) : number;
}

function list(value: unknown): unknown {
  const entries: unknown = typeof value === 'string' ? value.split(/[\s,]+/) : value;
  return Array.isArray(entries) ? entries.filter(entry => entry !== null && entry !== '') : entries;
}
