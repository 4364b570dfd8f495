/**
 * JSON as text, with the places of its values: what `JSON.parse` loses (the text of numbers, the order of members, repeated names) stays, and
 * a member can be replaced without writing the rest anew.
 */

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
  readonly type: 'object';
  /** In the order of the text, repeated names included. */
  readonly members: readonly JsonMember[];
}

export interface JsonArray extends Span {
  readonly type: 'array';
  readonly elements: readonly JsonNode[];
}

/** A JSON value. */
export type JsonNode =
  | JsonObject
  | JsonArray
  /** The characters, without quotes and escapes. */
  | (Span & { readonly type: 'string'; readonly text: string })
  /** As written: `1.0`, `1e2`. */
  | (Span & { readonly type: 'number' | 'boolean' | 'null'; readonly text: string });

export interface JsonLimits {
  /** Of objects and arrays in each other. */
  readonly depth: number;
  /** Members and elements at any depth. */
  readonly values: number;
}

const faults = {
  not_json: 'not JSON',
  duplicate_name: 'two members of an object have the same name',
  lone_surrogate: 'a lone surrogate is no character',
  too_deep: 'objects and arrays are nested too deeply',
  too_many_values: 'too many members and elements',
} as const;

/** The message never quotes the text. */
export class JsonTextError extends Error {
  readonly code: keyof typeof faults;
  constructor(code: keyof typeof faults) {
    super(faults[code]);
    this.name = 'JsonTextError';
    this.code = code;
  }
}

/** Programs that read deeper values recursively would fail. */
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
  readonly elements: JsonNode[];
}

/**
 * Reads a JSON text (RFC 8259), in time linear in its length.
 *
 * @throws JsonTextError `not_json`, or `too_deep` beyond 500 levels
 */
export function readJsonText(text: string): JsonNode {
  try {
    // The engine knows whether it is JSON; the rest only looks for places.
    JSON.parse(text);
  } catch {
    throw new JsonTextError('not_json');
  }
  const open: (OpenObject | OpenArray)[] = [];
  for (let at = 0; ; ) {
    const character = text[at];
    if (character === '{' || character === '[') {
      if (open.length === MAX_DEPTH) throw new JsonTextError('too_deep');
      open.push(character === '{' ? { start: at, members: [], name: undefined } : { start: at, elements: [] });
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
    if ('elements' in parent) parent.elements.push(node);
    else if (parent.name !== undefined) {
      parent.members.push({ name: parent.name.text, start: parent.name.start, value: node });
      parent.name = undefined;
    } else if (node.type === 'string') parent.name = { text: node.text, start: node.start };
  }
}

function closed(open: OpenObject | OpenArray | undefined, at: number): JsonNode {
  if (open === undefined) throw new JsonTextError('not_json');
  const span = { start: open.start, end: at + 1 };
  return 'elements' in open
    ? { type: 'array', elements: open.elements, ...span }
    : { type: 'object', members: open.members, ...span };
}

const UNQUOTED = /[-+.\w]+/y;

function scalar(text: string, start: number): JsonNode {
  if (text[start] === '"') {
    let end = start;
    do end = text.indexOf('"', end + 1);
    while (isEscaped(text, end));
    end += 1;
    const inner = text.slice(start + 1, end - 1);
    return {
      type: 'string',
      start,
      end,
      text: inner.includes('\\') ? String(JSON.parse(text.slice(start, end))) : inner,
    };
  }
  UNQUOTED.lastIndex = start;
  const [word = ''] = UNQUOTED.exec(text) ?? [];
  return {
    type: word === 'null' ? 'null' : /^[tf]/.test(word) ? 'boolean' : 'number',
    start,
    end: start + word.length,
    text: word,
  };
}

/** Whether an odd number of backslashes precedes this place. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

/** Reads a JSON text that has one reading only. @throws JsonTextError */
export function readJson(text: string, limits: JsonLimits): JsonNode {
  const node = readJsonText(text);
  let values = -1;
  const pending = [{ node, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, depth } = next;
    values += 1;
    if (values > limits.values) throw new JsonTextError('too_many_values');
    if (node.type === 'string') assertWellFormed(node.text);
    if (node.type !== 'object' && node.type !== 'array') continue;
    if (depth === limits.depth) throw new JsonTextError('too_deep');
    if (node.type === 'array') for (const element of node.elements) pending.push({ node: element, depth: depth + 1 });
    else
      for (const { name, value } of node.members) {
        assertWellFormed(name);
        pending.push({ node: value, depth: depth + 1 });
      }
  }
  if (hasRepeatedName(node)) throw new JsonTextError('duplicate_name');
  return node;
}

function assertWellFormed(text: string): void {
  if (!text.isWellFormed()) throw new JsonTextError('lone_surrogate');
}

/** All objects in a value, at any depth, the value itself included. */
export function* objectsIn(node: JsonNode): Generator<JsonObject> {
  const pending = [node];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.type === 'array') for (const element of next.elements) pending.push(element);
    if (next.type !== 'object') continue;
    yield next;
    for (const { value } of next.members) pending.push(value);
  }
}

/** Whether an object has a name twice, at any depth. */
export function hasRepeatedName(node: JsonNode): boolean {
  for (const { members } of objectsIn(node))
    if (new Set(members.map(({ name }) => name)).size < members.length) return true;
  return false;
}

/** The value of a member, of the last one with this name. Undefined if there is none, or if `node` is no object. */
export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  return node?.type === 'object' ? node.members.findLast(member => member.name === name)?.value : undefined;
}

/** The text of a string member. */
export function stringOf(node: JsonNode | undefined, name: string): string | undefined {
  const member = memberOf(node, name);
  return member?.type === 'string' ? member.text : undefined;
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

/** Writes without white space, members in their order. */
export const compactJson = (node: JsonNode): string => write(node, members => members);

/** Writes canonical JSON (RFC 8785), except that numbers keep their text: `1.0` is not `1`. */
export const canonicalJson = (node: JsonNode): string =>
  write(node, members => members.toSorted((a, b) => (a.name < b.name ? -1 : 1)));

function write(node: JsonNode, order: (members: readonly JsonMember[]) => readonly JsonMember[]): string {
  if (node.type === 'string') return JSON.stringify(node.text);
  if (node.type === 'array') return `[${node.elements.map(element => write(element, order)).join(',')}]`;
  if (node.type !== 'object') return node.text;
  const members = order(node.members).map(({ name, value }) => `${JSON.stringify(name)}:${write(value, order)}`);
  return `{${members.join(',')}}`;
}
