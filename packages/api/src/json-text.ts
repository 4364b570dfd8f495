/** Reads JSON without losing what `JSON.parse` loses: the text of numbers, the order of members, and repeated names. */

/** A JSON value. */
export type JsonNode =
  /** Members in the order of the text. */
  | { readonly type: 'object'; readonly members: ReadonlyMap<string, JsonNode> }
  | { readonly type: 'array'; readonly elements: readonly JsonNode[] }
  /** The characters, without quotes and escapes. */
  | { readonly type: 'string'; readonly text: string }
  /** As written: `1.0`, `1e2`. */
  | { readonly type: 'number' | 'boolean' | 'null'; readonly text: string };

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

/** Tokens of a text that `JSON.parse` accepts. Its commas and colons say nothing that the other tokens do not say. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]|[^\s{}[\],:"]+/g;

/** @throws JsonTextError */
export function readJson(text: string, limits: JsonLimits): JsonNode {
  try {
    JSON.parse(text);
  } catch {
    throw new JsonTextError('not_json');
  }
  const tokens = text.matchAll(TOKEN);
  const next = (): string => tokens.next().value?.[0] ?? '';
  let values = -1;

  function read(token: string, depth: number): JsonNode {
    values += 1;
    if (values > limits.values) throw new JsonTextError('too_many_values');
    if (token.startsWith('"')) return { type: 'string', text: charactersOf(token) };
    if (token !== '{' && token !== '[')
      return { type: token === 'null' ? 'null' : /^[tf]/.test(token) ? 'boolean' : 'number', text: token };
    if (depth === limits.depth) throw new JsonTextError('too_deep');
    if (token === '[') {
      const elements: JsonNode[] = [];
      for (let element = next(); element !== ']'; element = next()) elements.push(read(element, depth + 1));
      return { type: 'array', elements };
    }
    const members = new Map<string, JsonNode>();
    for (let member = next(); member !== '}'; member = next()) {
      const name = charactersOf(member);
      if (members.has(name)) throw new JsonTextError('duplicate_name');
      members.set(name, read(next(), depth + 1));
    }
    return { type: 'object', members };
  }

  return read(next(), 0);
}

function charactersOf(token: string): string {
  const characters = JSON.parse(token) as string;
  if (!characters.isWellFormed()) throw new JsonTextError('lone_surrogate');
  return characters;
}

/** Writes without white space, members in their order. */
export const compactJson = (node: JsonNode): string => write(node, names => names);

/** Writes canonical JSON (RFC 8785), except that numbers keep their text: `1.0` is not `1`. */
export const canonicalJson = (node: JsonNode): string => write(node, names => names.toSorted());

function write(node: JsonNode, order: (names: string[]) => string[]): string {
  if (node.type === 'string') return JSON.stringify(node.text);
  if (node.type === 'array') return `[${node.elements.map(element => write(element, order)).join(',')}]`;
  if (node.type !== 'object') return node.text;
  const members = order([...node.members.keys()]).flatMap(name => {
    const value = node.members.get(name);
    return value === undefined ? [] : [`${JSON.stringify(name)}:${write(value, order)}`];
  });
  return `{${members.join(',')}}`;
}
