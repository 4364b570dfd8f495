/** JSON as text, with the places of its values: numbers keep their digits, and a member can be replaced without writing the rest anew. */

interface Span {
  /** Place of the first character, and of the first one behind the value. */
  readonly start: number;
  readonly end: number;
}

export interface JsonMember {
  readonly name: string;
  /** Place of the opening quote of the name. */
  readonly start: number;
  readonly value: JsonNode;
}

export interface JsonObject extends Span {
  readonly kind: 'object';
  readonly members: readonly JsonMember[];
}

export interface JsonArray extends Span {
  readonly kind: 'array';
  readonly items: readonly JsonNode[];
}

export type JsonNode =
  | JsonObject
  | JsonArray
  | (Span & { readonly kind: 'string'; readonly value: string })
  | (Span & { readonly kind: 'number' | 'literal' });

/** Deeper values are refused: programs that read them recursively would fail. */
const MAX_DEPTH = 500;

const SEPARATORS = ' \t\n\r,:';

interface OpenObject {
  readonly start: number;
  readonly members: JsonMember[];
  /** A member whose value follows. */
  name: { readonly text: string; readonly start: number } | undefined;
}

interface OpenArray {
  readonly start: number;
  readonly items: JsonNode[];
}

/**
 * Reads a JSON text (RFC 8259). Linear in its length.
 *
 * @throws {SyntaxError} if it is not JSON, or too deep
 */
export function readJson(text: string): JsonNode {
  // The engine knows whether it is JSON; the rest only looks for places.
  JSON.parse(text);
  const open: (OpenObject | OpenArray)[] = [];
  for (let at = 0; ; ) {
    const character = text[at];
    if (character === '{' || character === '[') {
      if (open.length === MAX_DEPTH) throw new SyntaxError('too deep');
      open.push(character === '{' ? { start: at, members: [], name: undefined } : { start: at, items: [] });
      at += 1;
      continue;
    }
    if (character === undefined || SEPARATORS.includes(character)) {
      at += 1;
      continue;
    }
    const node = character === '}' || character === ']' ? closed(open.pop(), at) : scalar(text, at);
    at = node.end;
    const parent = open.at(-1);
    if (parent === undefined) return node;
    if ('items' in parent) parent.items.push(node);
    else if (parent.name !== undefined) {
      parent.members.push({ name: parent.name.text, start: parent.name.start, value: node });
      parent.name = undefined;
    } else if (node.kind === 'string') parent.name = { text: node.value, start: node.start };
  }
}

function closed(open: OpenObject | OpenArray | undefined, at: number): JsonNode {
  if (open === undefined) throw new SyntaxError('not JSON');
  const span = { start: open.start, end: at + 1 };
  return 'items' in open
    ? { kind: 'array', items: open.items, ...span }
    : { kind: 'object', members: open.members, ...span };
}

const UNQUOTED = /[-+.\w]+/y;

function scalar(text: string, start: number): JsonNode {
  if (text[start] === '"') {
    let end = start;
    do end = text.indexOf('"', end + 1);
    while (isEscaped(text, end));
    end += 1;
    const value = text.slice(start + 1, end - 1);
    return {
      kind: 'string',
      start,
      end,
      value: value.includes('\\') ? String(JSON.parse(text.slice(start, end))) : value,
    };
  }
  UNQUOTED.lastIndex = start;
  const [word = ''] = UNQUOTED.exec(text) ?? [];
  return { kind: /^[tfn]/.test(word) ? 'literal' : 'number', start, end: start + word.length };
}

/** Whether an odd number of backslashes precedes this place. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

/** The value of a member. Undefined if there is none, or if `node` is no object. */
export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  return node?.kind === 'object' ? node.members.findLast(member => member.name === name)?.value : undefined;
}

/** The text of a string member. */
export function stringOf(node: JsonNode | undefined, name: string): string | undefined {
  const member = memberOf(node, name);
  return member?.kind === 'string' ? member.value : undefined;
}

/** The first name that an object has twice, at any depth. */
export function repeatedName(node: JsonNode): string | undefined {
  for (const pending = [node]; ; ) {
    const next = pending.pop();
    if (next === undefined) return undefined;
    if (next.kind === 'array') for (const item of next.items) pending.push(item);
    if (next.kind !== 'object') continue;
    const seen = new Set<string>();
    for (const { name, value } of next.members) {
      if (seen.has(name)) return name;
      seen.add(name);
      pending.push(value);
    }
  }
}

/**
 * The text with other members in an object of it. Everything else stays as it is.
 *
 * @param changes JSON text by name. Undefined removes the member
 */
export function withMembers(
  text: string,
  of: JsonObject,
  changes: Readonly<Record<string, string | undefined>>,
): string {
  const kept = of.members.filter(({ name }) => !Object.hasOwn(changes, name));
  const added = Object.entries(changes).filter(([, value]) => value !== undefined);
  if (kept.length === of.members.length && added.length === 0) return text;
  const inner = [
    ...kept.map(({ start, value }) => text.slice(start, value.end)),
    ...added.map(([name, value]) => `${JSON.stringify(name)}:${value}`),
  ];
  return `${text.slice(0, of.start)}{${inner.join(',')}}${text.slice(of.end)}`;
}
