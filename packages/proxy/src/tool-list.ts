import { hash } from 'node:crypto';
import { type JsonNode, type JsonObject, memberOf, stringOf } from '@postern/api/json';
import { argumentsOf } from './injections.ts';
import type { Message } from './message.ts';
import { type Hints, hintNames, type Rules, type ToolFacts } from './rules.ts';

/** Bounds on what an upstream may list. */
const MAX_PAGES = 200;
const MAX_TOOLS = 10_000;
/** How long a list counts as known, in ms: over HTTP, a notice of its change may reach nobody. */
const KNOWN_MS = 5 * 60_000;

export interface ListedTool extends ToolFacts {
  /** Of everything that the upstream says of the tool. A yes is for this text. */
  readonly digest: string;
  /** Names of the arguments that its schema describes. */
  readonly argumentNames: readonly string[];
}

/** Sends a request of this proxy to the upstream. @param params as JSON text */
export type AskUpstream = (method: string, params: string) => Promise<Message>;

/** What an upstream says of its tools. */
export class ToolList {
  readonly #ask: AskUpstream;
  #tools: Promise<ReadonlyMap<string, ListedTool>> | undefined;
  /** What was read last, while it is valid. */
  #last: ReadonlyMap<string, ListedTool> | undefined;
  /** When it was asked for, in epoch ms. */
  #readAt = 0;

  constructor(ask: AskUpstream) {
    this.#ask = ask;
  }

  /** The upstream has changed its list. */
  forget(): void {
    this.#tools = undefined;
    this.#last = undefined;
  }

  /** Undefined if it would have to be read. */
  get knownNow(): ReadonlyMap<string, ListedTool> | undefined {
    return this.#isOld ? undefined : this.#last;
  }

  get #isOld(): boolean {
    return Date.now() - this.#readAt > KNOWN_MS;
  }

  /** Resolves with what is known, or else reads it. @param meta `_meta` of the request, as JSON text (revision 2026-07-28) */
  known(meta: string | undefined): Promise<ReadonlyMap<string, ListedTool>> {
    return this.#tools === undefined || this.#isOld ? this.read(meta) : this.#tools;
  }

  /** Reads the list anew. @throws {Error} if the upstream does not give it */
  read(meta: string | undefined): Promise<ReadonlyMap<string, ListedTool>> {
    const reading = this.#read(meta);
    this.#tools = reading;
    this.#readAt = Date.now();
    reading.then(
      tools => {
        if (this.#tools === reading) this.#last = tools;
      },
      () => {
        if (this.#tools === reading) this.forget();
      },
    );
    return reading;
  }

  async #read(meta: string | undefined): Promise<ReadonlyMap<string, ListedTool>> {
    const tools = new Map<string, ListedTool>();
    const cursors = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const members = [
        ...(cursor === undefined ? [] : [`"cursor":${JSON.stringify(cursor)}`]),
        ...(meta === undefined ? [] : [`"_meta":${meta}`]),
      ];
      const page = await this.#ask('tools/list', `{${members.join(',')}}`);
      for (const tool of toolsIn(page)) tools.set(tool.name, tool);
      cursor = stringOf(memberOf(page.root, 'result'), 'nextCursor');
      if (cursor === undefined || cursor === '') return tools;
      if (cursors.has(cursor) || cursors.size === MAX_PAGES || tools.size > MAX_TOOLS)
        throw new Error('The list of tools of the upstream does not end.');
      cursors.add(cursor);
    }
  }
}

/** @throws {Error} for an error of the upstream */
function toolsIn(page: Message): readonly ListedTool[] {
  const list = memberOf(memberOf(page.root, 'result'), 'tools');
  if (list?.type !== 'array') throw new Error('The upstream does not list its tools.');
  return list.elements.flatMap(node => {
    const name = stringOf(node, 'name');
    if (name === undefined) return [];
    // An upstream may send metadata that differs from list to list.
    const said = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'].map(
      member => page.valueOf(memberOf(node, member)) ?? null,
    );
    return [
      {
        name,
        hints: hintsIn(page, memberOf(node, 'annotations')),
        argumentNames: propertiesOf(node)?.members.map(member => member.name) ?? [],
        digest: hash('sha256', JSON.stringify([name, ...said]), 'base64url'),
      },
    ];
  });
}

/** A hint that is neither true nor false is none. */
function hintsIn(page: Message, annotations: JsonNode | undefined): Hints {
  const texts = hintNames.map(name => [name, page.textOf(memberOf(annotations, name))] as const);
  return Object.fromEntries(
    texts.flatMap(([name, text]) => (text === 'true' || text === 'false' ? [[name, text === 'true']] : [])),
  );
}

function propertiesOf(tool: JsonNode): JsonObject | undefined {
  const properties = memberOf(memberOf(tool, 'inputSchema'), 'properties');
  return properties?.type === 'object' ? properties : undefined;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The answer to `tools/list` without tools that rules hide and arguments that the proxy fills in, and otherwise as it came. */
export function listedFor(page: Message, rules: Rules): Buffer {
  const list = memberOf(memberOf(page.root, 'result'), 'tools');
  if (list?.type !== 'array') return page.bytes;
  const { text } = page;
  const tools = new Map(toolsIn(page).map(tool => [tool.name, tool]));
  const kept = list.elements.flatMap(node => {
    const tool = tools.get(stringOf(node, 'name') ?? '');
    if (tool === undefined) return [text.slice(node.start, node.end)];
    if (rules.decide(tool, undefined).action === 'hide') return [];
    return [withoutArguments(text, node, argumentsOf(rules.injectionsOf(tool)))];
  });
  if (kept.length < list.elements.length)
    return Buffer.from(`${text.slice(0, list.start)}[${kept.join(',')}]${text.slice(list.end)}`);
  let at = 0;
  const parts = list.elements.map(({ start, end }, index) => {
    const before = text.slice(at, start);
    at = end;
    return before + kept[index];
  });
  const changed = parts.join('') + text.slice(at);
  return changed === text ? page.bytes : Buffer.from(changed);
}

/** The text of a tool whose schema no longer has these arguments. */
function withoutArguments(text: string, tool: JsonNode, names: readonly string[]): string {
  const part = (start: number, end: number) => text.slice(start, end);
  const edits: Edit[] = [];
  const properties = propertiesOf(tool);
  const members = properties?.members.filter(({ name }) => !names.includes(name)) ?? [];
  if (properties !== undefined && members.length < properties.members.length) {
    const inner = members.map(({ start, value }) => part(start, value.end));
    edits.push({ ...properties, text: `{${inner.join(',')}}` });
  }
  const required = memberOf(memberOf(tool, 'inputSchema'), 'required');
  if (required?.type === 'array') {
    const others = required.elements.filter(node => node.type !== 'string' || !names.includes(node.text));
    const inner = others.map(({ start, end }) => part(start, end));
    if (others.length < required.elements.length) edits.push({ ...required, text: `[${inner.join(',')}]` });
  }
  let at = tool.start;
  let result = '';
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    result += part(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + part(at, tool.end);
}
