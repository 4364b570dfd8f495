import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IssueElicitation } from '@postern/api';
import { LRUCache } from 'lru-cache';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { ProblemError } from '../platform/http/problems.ts';

/** Small capitals and similar letters of other alphabets, which UTS 39 does not map to their letter. */
const SMALL_CAPITALS = new Map(
  Object.entries({
    ᴀ: 'a',
    ʙ: 'b',
    ᴅ: 'd',
    ᴇ: 'e',
    ꜰ: 'f',
    ɢ: 'g',
    ʜ: 'h',
    ᴊ: 'j',
    ĸ: 'k',
    ʟ: 'l',
    ʍ: 'rn',
    ɴ: 'n',
    ᴘ: 'p',
    ꞯ: 'q',
    ʀ: 'r',
    ᴛ: 't',
  }),
);

/** In a small font, dots at different heights look alike. UTS 39 maps all middle dots to the first, but not to the full stop. */
const DOTS = new Map([
  ['\u00b7', '.'],
  ['\u2e33', '.'],
]);

const prototypes = readPrototypes();
const ignorable = /\p{Default_Ignorable_Code_Point}/u;

function readPrototypes(): ReadonlyMap<string, string> {
  const characters = (codePoints: string) =>
    String.fromCodePoint(...codePoints.split('+').map(codePoint => Number.parseInt(codePoint, 16)));
  const read = new Map<string, string>([...SMALL_CAPITALS, ...DOTS]);
  for (const line of readFileSync(new URL('confusables.txt', import.meta.url), 'utf8').split('\n')) {
    const [shown, ...sources] = line.split(' ');
    if (shown === undefined || shown === '' || shown === '#') continue;
    const prototype = characters(shown);
    for (const source of sources)
      read.set(characters(source), SMALL_CAPITALS.get(prototype) ?? DOTS.get(prototype) ?? prototype);
  }
  return read;
}

/** UTS 39 section 4, over NFKD instead of NFD: replaces characters that look alike by one of them, and removes spaces. */
function skeleton(text: string): string {
  let shown = '';
  for (const character of text.normalize('NFKD'))
    if (!ignorable.test(character)) shown += prototypes.get(character) ?? character;
  return shown.normalize('NFD').replaceAll(' ', '');
}

/** Full case folding. */
const fold = (text: string): string => text.toUpperCase().toLowerCase();

/**
 * Two words look alike if they share a key. Some letters look alike only in upper case, others only in lower case, so the keys fold
 * case at different steps.
 */
function confusionKeys(word: string): readonly [string, string] {
  return [skeleton(fold(word.normalize('NFKC'))), skeleton(fold(skeleton(word)))];
}

/** Equal for spellings of one name that differ only in case, apostrophes or hyphens. */
function sameNameKey(word: string): string {
  return fold(word.normalize('NFC'))
    .replace(/[‘’ʼ]/gu, "'")
    .replace(/\p{Pd}/gu, '-');
}

export interface RegisteredName {
  /** Path in the configuration. */
  readonly path: string;
  readonly text: string;
  /** The MCP server that owns the name, and may spell it in other ways. */
  readonly mcpServerId?: string;
}

interface Word {
  readonly text: string;
  readonly same: string;
  readonly keys: readonly [string, string];
}

/** Number of cached results: names of tools and MCP clients repeat. */
const CACHED = 2_000;
/** In UTF-16 code units. Registered names have at most 80 characters, and two characters may imitate one. */
const MAX_WORD = 160;
const NOT_ASCII = /[^\p{ASCII}]/u;
const LATIN = /\p{Script=Latin}/u;
/** Alphabets with letters that resemble Latin ones. */
const LIKE_LATIN = [
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
  /\p{Script=Georgian}/u,
];

function wordOf(raw: string): Word {
  // Longer than any registered name.
  if (raw.length > MAX_WORD) return { text: raw, same: raw, keys: ['', ''] };
  const text = raw.replace(/^\p{P}+|(?<!\p{P})\p{P}+$/gu, '');
  return { text, same: sameNameKey(text), keys: confusionKeys(text) };
}

/**
 * What may separate words. A hair space between letters hardly shows, so that a reader may take two words for one; and a name may follow
 * or precede any sign, as in `GitHub/Login`. Only texts with such characters are split again.
 */
const SEPARATORS = [
  { separator: /[\s\p{Z}]+/u, differsFor: /(?:)/ },
  { separator: /[\t\n\r ]+/, differsFor: /(?![\t\n\r ])[\s\p{Z}]/u },
  { separator: /[^\p{L}\p{M}\p{N}]+/u, differsFor: /[^\p{L}\p{M}\p{N}\s\p{Z}]/u },
];

const wordsOf = (text: string, separator: RegExp): Word[] =>
  text
    .split(separator)
    .map(wordOf)
    .filter(word => word.text !== '');

const joined = (words: readonly Word[], part: (word: Word) => string): string => words.map(part).join(' ');
const sameOf = (words: readonly Word[]): string => joined(words, ({ same }) => same);
const keysOf = (words: readonly Word[]): readonly string[] => [
  joined(words, ({ keys }) => keys[0]),
  joined(words, ({ keys }) => keys[1]),
];

const isIn = (alphabet: RegExp, words: readonly Word[]): number =>
  words.filter(({ text }) => alphabet.test(text)).length;

/**
 * Whether words are in the language of the text: in one alphabet that the rest of the text uses too. In a Russian sentence the
 * word "том" does not imitate "Tom".
 */
function atHomeIn(text: readonly Word[]): (part: readonly Word[]) => boolean {
  const wordsIn = LIKE_LATIN.map(alphabet => isIn(alphabet, text));
  return part => {
    const inPart = LIKE_LATIN.map(alphabet => isIn(alphabet, part));
    const [only, ...more] = [...inPart.keys()].filter(at => inPart[at] !== 0);
    if (only === undefined || more.length > 0 || isIn(LATIN, part) > 0) return false;
    return (wordsIn[only] ?? 0) > (inPart[only] ?? 0);
  };
}

/** Returns all configured names that users see. */
export function namesIn(config: GatewayConfig): RegisteredName[] {
  return [
    ...textsIn(config.branding.name, 'branding.name'),
    ...config.identityProviders.flatMap(({ displayName }, at) =>
      displayName === undefined ? [] : { path: `identityProviders[${at}].displayName`, text: displayName },
    ),
    ...config.providers.map(({ displayName }, at) => ({ path: `providers[${at}].displayName`, text: displayName })),
    ...config.processors.map(({ displayName }, at) => ({ path: `processors[${at}].displayName`, text: displayName })),
    ...config.mcpServers.flatMap(({ id: mcpServerId, name, payment }, at) => [
      ...[...textsIn(name, `mcpServers[${at}].name`)].map(found => ({ ...found, mcpServerId })),
      ...(payment?.payees ?? []).map((payee, nth) => ({
        path: `mcpServers[${at}].payment.payees[${nth}]`,
        text: payee.name,
        mcpServerId,
      })),
    ]),
  ];
}

/** The registered names as words between one kind of separators. */
function createIndex(names: readonly RegisteredName[], separator: RegExp) {
  const byKey = new Map<string, (RegisteredName & { same: string })[]>();
  /** By the key of the first word: the lengths, in words, of the names that begin with it. */
  const lengths = new Map<string, Set<number>>();
  for (const name of names) {
    const words = wordsOf(name.text, separator);
    for (const key of words[0]?.keys ?? []) lengths.set(key, (lengths.get(key) ?? new Set()).add(words.length));
    for (const key of new Set(keysOf(words)))
      byKey.set(key, [...(byKey.get(key) ?? []), { ...name, same: sameOf(words) }]);
  }
  const alike = (words: readonly Word[]) => keysOf(words).flatMap(key => byKey.get(key) ?? []);

  /** Returns the registered name that the words resemble, unless they are exactly that name or a name of this MCP server. */
  function imitatedBy(words: readonly Word[], mcpServerId: string): RegisteredName | undefined {
    const same = sameOf(words);
    const found = alike(words);
    if (found.some(name => name.same === same)) return undefined;
    return found.find(name => name.mcpServerId !== mcpServerId);
  }

  return {
    isMisleading(text: string, mcpServerId: string, isProse: boolean): boolean {
      const words = wordsOf(text, separator);
      const isAtHome = atHomeIn(words);
      return words.some((first, start) => {
        for (const length of new Set(first.keys.flatMap(key => [...(lengths.get(key) ?? [])]))) {
          const part = words.slice(start, start + length);
          if (isProse && !part.some(word => NOT_ASCII.test(word.text))) continue;
          if (imitatedBy(part, mcpServerId) !== undefined && !isAtHome(part)) return true;
        }
        return false;
      });
    },

    /** Returns another registered name that this one resembles. */
    resembled({ text, mcpServerId }: RegisteredName): RegisteredName | undefined {
      const words = wordsOf(text, separator);
      const same = sameOf(words);
      return alike(words).find(
        name => name.same !== same && (mcpServerId === undefined || name.mcpServerId !== mcpServerId),
      );
    },
  };
}

/** Finds texts that users can mistake for a registered name (UTS 39), with an index that is built once. */
export function createRegisteredNames(names: readonly RegisteredName[]) {
  const indexes = SEPARATORS.map(({ separator, differsFor }) => ({ differsFor, ...createIndex(names, separator) }));
  const isMisleading = (text: string, mcpServerId: string, isProse: boolean) =>
    indexes.some(index => index.differsFor.test(text) && index.isMisleading(text, mcpServerId, isProse));
  const known = new LRUCache<string, boolean>({ max: CACHED });

  return {
    /** Whether a name or title from an MCP server contains words that resemble another registered name. */
    isMisleadingName(text: string, mcpServerId: string): boolean {
      const key = `${mcpServerId} ${text}`;
      const found = known.get(key) ?? isMisleading(text, mcpServerId, false);
      known.set(key, found);
      return found;
    },

    /** The same check for prose, where ASCII words are ordinary words: "modern" does not imitate "Modem". */
    isMisleadingProse: (text: string, mcpServerId: string): boolean =>
      NOT_ASCII.test(text) && isMisleading(text, mcpServerId, true),

    /** Returns another registered name that this one resembles. */
    imitatedBy: (name: RegisteredName): RegisteredName | undefined =>
      indexes.map(index => index.resembled(name)).find(found => found !== undefined),
  };
}

export type RegisteredNames = ReturnType<typeof createRegisteredNames>;

/** Approximate number of characters checked per turn of the event loop: hostile texts may take long (S66). */
const PER_TURN = 2_000;

/** Members that users read as a name. All others are prose. */
const NAMES: ReadonlySet<string> = new Set([
  'body.requestedBy.mcpClient',
  'body.requestedBy.tool',
  'body.payment.payee.name',
  'body.credential.title',
  'body.confirmation.title',
  'body.confirmation.action',
  'body.form.title',
]);

/** @throws ProblemError `confusable_name` */
export function assertHonestName(names: RegisteredNames, mcpServerId: string, path: string, text: string): void {
  if (names.isMisleadingName(text, mcpServerId)) throw confusable(path);
}

/** Checks every string of an elicitation request. @throws ProblemError `confusable_name` */
export async function assertHonestNames(
  names: RegisteredNames,
  mcpServerId: string,
  { subject: _, ...request }: IssueElicitation,
): Promise<void> {
  let examined = 0;
  for (const { path, text } of textsIn(request, 'body')) {
    if (isName(path)) assertHonestName(names, mcpServerId, path, text);
    else if (names.isMisleadingProse(text, mcpServerId)) throw confusable(path);
    examined += text.length;
    if (examined < PER_TURN) continue;
    examined = 0;
    await nextTurn();
  }
}

/** A name may be an object of names by language. */
const isName = (path: string): boolean => NAMES.has(path) || NAMES.has(path.slice(0, path.lastIndexOf('.')));

function* textsIn(value: unknown, path: string): Generator<{ path: string; text: string }> {
  if (typeof value === 'string') yield { path, text: value };
  else if (Array.isArray(value)) for (const [at, member] of value.entries()) yield* textsIn(member, `${path}.${at}`);
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) yield* textsIn(member, `${path}.${name}`);
}

/** Does not say which name it resembles: this MCP server may not know that the other one exists (S42). */
function confusable(path: string): ProblemError {
  const message = 'resembles a registered name with a different spelling';
  return new ProblemError('confusable_name', { errors: [{ path, message }] });
}
