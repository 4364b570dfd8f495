import { hash } from 'node:crypto';
import { type JsonNode, memberOf, stringOf } from '@postern/api/json';
import type { Message } from './message.ts';
import { type Hints, hintNames, type Rules, type ToolFacts } from './rules.ts';

/** Bounds on what an upstream may list. */
const MAX_PAGES = 200;
const MAX_TOOLS = 10_000;

export interface ListedTool extends ToolFacts {
  /** Of everything that the upstream says of the tool. A yes is for this text. */
  readonly digest: string;
}

/** Sends a request of this proxy to the upstream. @param params as JSON text */
export type AskUpstream = (method: string, params: string) => Promise<Message>;

/** What an upstream says of its tools. */
export class ToolList {
  readonly #ask: AskUpstream;
  #tools: Promise<ReadonlyMap<string, ListedTool>> | undefined;
  /** What was read last, while it is valid. */
  #last: ReadonlyMap<string, ListedTool> | undefined;

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
    return this.#last;
  }

  /** Resolves with what is known, or else reads it. @param meta `_meta` of the request, as JSON text (revision 2026-07-28) */
  known(meta: string | undefined): Promise<ReadonlyMap<string, ListedTool>> {
    return this.#tools ?? this.read(meta);
  }

  /** Reads the list anew. @throws {Error} if the upstream does not give it */
  read(meta: string | undefined): Promise<ReadonlyMap<string, ListedTool>> {
    const reading = this.#read(meta);
    this.#tools = reading;
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

/** The answer to `tools/list` without the tools that rules hide, and otherwise as it came. */
export function withoutHidden(page: Message, rules: Rules): Buffer {
  const list = memberOf(memberOf(page.root, 'result'), 'tools');
  if (list?.type !== 'array') return page.bytes;
  const tools = toolsIn(page);
  const isHidden = new Map(tools.map(tool => [tool.name, rules.decide(tool, undefined).action === 'hide']));
  const kept = list.elements.filter(node => isHidden.get(stringOf(node, 'name') ?? '') !== true);
  if (kept.length === list.elements.length) return page.bytes;
  const inner = kept.map(({ start, end }) => page.text.slice(start, end)).join(',');
  return Buffer.from(`${page.text.slice(0, list.start)}[${inner}]${page.text.slice(list.end)}`);
}
