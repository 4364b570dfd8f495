import { type JsonNode, JsonTextError, readJsonText } from '@postern/api/json';
import { RpcError } from './message.ts';

/** Shorter secrets are not searched for: texts that have nothing to do with them have the same characters. */
const MIN_LENGTH = 8;
/** How long an upstream may still report on a call that has ended, in ms. */
const LINGER_MS = 10 * 60_000;
const MAX_SECRETS = 100;
const MASK = '[hidden by postern-proxy]';

interface Searched {
  /** Of the account or credential. */
  readonly name: string;
  /** The secret and what writers make of it. */
  readonly forms: readonly string[];
  /** Calls that have no answer yet. */
  calls: number;
  timer: NodeJS.Timeout | undefined;
}

/** Secrets that the upstream of one connection has got. Hides them in everything that it sends, until it can no longer answer. */
export class SentSecrets {
  readonly #secrets = new Map<string, Searched>();
  readonly #log: (event: string, details?: Readonly<Record<string, string>>) => void;

  constructor(log: (event: string, details?: Readonly<Record<string, string>>) => void) {
    this.#log = log;
  }

  get isEmpty(): boolean {
    return this.#secrets.size === 0;
  }

  /**
   * Hides a secret from now on.
   *
   * @returns ends it, with a delay, for one call
   * @throws {RpcError} if too many calls with secrets have no answer
   */
  hide(name: string, secret: string): () => void {
    if (secret.length < MIN_LENGTH) return () => {};
    const known = this.#secrets.get(secret);
    if (known === undefined) this.#makeRoom();
    const searched = known ?? { name, forms: formsOf(secret), calls: 0, timer: undefined };
    clearTimeout(searched.timer);
    searched.calls += 1;
    this.#secrets.set(secret, searched);
    return () => {
      searched.calls -= 1;
      if (searched.calls > 0) return;
      searched.timer = setTimeout(() => this.#secrets.delete(secret), LINGER_MS).unref();
    };
  }

  #makeRoom(): void {
    if (this.#secrets.size < MAX_SECRETS) return;
    const [oldest] = [...this.#secrets].find(([, { calls }]) => calls === 0) ?? [];
    if (oldest === undefined) throw new RpcError(-32603, 'Too many calls with secrets have no answer yet.');
    clearTimeout(this.#secrets.get(oldest)?.timer);
    this.#secrets.delete(oldest);
  }

  /** A line of the upstream without the secrets: the same bytes if it has none. Undefined if the line cannot be searched. */
  masked(line: Buffer): Buffer | undefined {
    if (this.isEmpty) return line;
    const text = line.toString('utf8');
    const found = new Set<string>();
    let masked: string;
    try {
      masked = this.#maskedJson(text, readJsonText(text), found);
    } catch (error) {
      if (!(error instanceof JsonTextError)) throw error;
      if (error.code === 'too_deep') {
        this.#log('dropped a message that is nested too deeply to be searched for secrets');
        return undefined;
      }
      masked = this.#maskedIn([text], found).join('');
    }
    if (found.size === 0) return line;
    this.#log('the server sent a secret back; it was hidden', { of: [...found].join(', ') });
    return Buffer.from(masked);
  }

  #maskedJson(text: string, root: JsonNode, found: Set<string>): string {
    const groups = new Map<string, Piece[]>();
    const alone: Piece[] = [];
    collect(root, '', groups, alone);
    const edits: (Piece & { readonly masked: string })[] = [];
    for (const pieces of [...groups.values(), ...alone.map(piece => [piece])]) {
      const masked = this.#maskedIn(
        pieces.map(piece => piece.text),
        found,
      );
      pieces.forEach((piece, index) => {
        const changed = masked[index] ?? '';
        if (changed !== piece.text) edits.push({ ...piece, masked: JSON.stringify(changed) + piece.after });
      });
    }
    let at = 0;
    let result = '';
    for (const { start, end, masked } of edits.toSorted((a, b) => a.start - b.start)) {
      result += text.slice(at, start) + masked;
      at = end;
    }
    return result + text.slice(at);
  }

  /** The texts, without secrets that are in one of them or go on from one to the next. */
  #maskedIn(texts: readonly string[], found: Set<string>): readonly string[] {
    const joined = texts.join('');
    const places: { start: number; end: number }[] = [];
    for (const { name, forms } of this.#secrets.values())
      for (const form of forms)
        for (let start = joined.indexOf(form); start !== -1; start = joined.indexOf(form, start + 1)) {
          places.push({ start, end: start + form.length });
          found.add(name);
        }
    return places.length === 0 ? texts : without(texts, places);
  }
}

/** Replaces places of the joined texts. A place that begins in one text and ends in another is replaced where it begins. */
function without(texts: readonly string[], places: { start: number; end: number }[]): readonly string[] {
  const ordered = places.toSorted((a, b) => a.start - b.start);
  let offset = 0;
  return texts.map(text => {
    const end = offset + text.length;
    let at = offset;
    let result = '';
    for (const place of ordered) {
      if (place.end <= at || place.start >= end) continue;
      if (place.start >= at) result += text.slice(at - offset, place.start - offset) + MASK;
      at = Math.min(end, place.end);
    }
    result += text.slice(at - offset);
    offset = end;
    return result;
  });
}

/** A part of a JSON text that can have a secret. */
interface Piece {
  readonly start: number;
  readonly end: number;
  /** Without quotes and escapes. */
  readonly text: string;
  /** Is written behind it if it is replaced. */
  readonly after: string;
}

/** @param groups texts with the same name, such as those of content parts, in the order of the message */
function collect(node: JsonNode, name: string, groups: Map<string, Piece[]>, alone: Piece[]): void {
  switch (node.type) {
    case 'object':
      for (const member of node.members) {
        // From the quote before the name to the value.
        alone.push({ start: member.start, end: member.value.start, text: member.name, after: ':' });
        collect(member.value, member.name, groups, alone);
      }
      return;
    case 'array':
      for (const element of node.elements) collect(element, name, groups, alone);
      return;
    case 'string': {
      const group = groups.get(name) ?? [];
      groups.set(name, group);
      group.push({ ...node, after: '' });
      return;
    }
    case 'number':
      alone.push({ ...node, after: '' });
  }
}

/** A secret as it is, as JSON within a text, in a URL, and in base64 at any place of a longer text. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const encoded = [0, 1, 2].flatMap(offset => {
    const before = Buffer.alloc(offset);
    // Only characters that the secret alone decides.
    const first = Math.ceil((offset * 8) / 6);
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    return (['base64', 'base64url'] as const).map(kind =>
      Buffer.concat([before, bytes]).toString(kind).slice(first, end),
    );
  });
  const inUrl = encodeURIComponent(secret.toWellFormed());
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), inUrl, ...encoded])];
}
