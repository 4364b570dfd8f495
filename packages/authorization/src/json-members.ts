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
