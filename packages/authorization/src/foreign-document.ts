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

/** The members of a JSON object that another party sent, still to be validated. */
export type JsonMembers = Readonly<Record<string, unknown>>;

/** Parses a JSON object. Returns undefined for any other text, and for an object with duplicate names. */
export function jsonMembers(body: string): JsonMembers | undefined {
  return membersIn(jsonDocument(body));
}

export function membersIn(document: object | undefined): JsonMembers | undefined {
  return Array.isArray(document) ? undefined : (document as JsonMembers | undefined);
}

/** Parses a JSON object or array, like {@link jsonMembers}. */
export function jsonDocument(body: string): object | undefined {
  try {
    const value = parseUniqueJson(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the member at a dotted path. Ignores inherited properties. */
export function memberAt(members: JsonMembers, path: string): unknown {
  let value: unknown = members;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as JsonMembers)[name];
  }
  return value;
}

/**
 * Parses JSON and rejects duplicate names in an object. RFC 8259 section 4 leaves open which of two equal names counts, so
 * another parser of the same text may use the other value.
 *
 * @throws {SyntaxError} also for a duplicate name; the message may quote the input.
 * @internal exported for tests
 */
export function parseUniqueJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!hasUniqueNames(value, text)) throw new SyntaxError('duplicate name');
  return value;
}

/** @param value what the text was parsed to. Every member of valid JSON has exactly one colon outside strings. */
export const hasUniqueNames = (value: unknown, text: string): boolean => countMembers(value) === countColons(text);

/** Counts the colons outside strings: one per member of the text, including members that the parser drops as duplicates. */
function countColons(json: string): number {
  let colons = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (inString && character === '\\') index += 1;
    else if (character === '"') inString = !inString;
    else if (!inString && character === ':') colons += 1;
  }
  return colons;
}

/** Counts the members of all objects. Not recursive, because the sender controls the nesting depth. */
function countMembers(value: unknown): number {
  const waiting: unknown[] = [value];
  let members = 0;
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    const children: unknown[] = Object.values(node);
    if (!Array.isArray(node)) members += children.length;
    for (const child of children) waiting.push(child);
  }
  return members;
}
