import type { GatewayConfig } from '../config/config-schema.ts';
import { confusionKeys, sameNameKey } from './skeleton.ts';

export interface RegisteredName {
  /** Where the operator has written it. */
  readonly path: string;
  readonly text: string;
  /** The MCP server that it belongs to, and that may write it in other ways. */
  readonly mcpServerId?: string;
}

interface Word {
  readonly text: string;
  readonly same: string;
  readonly keys: readonly [string, string];
}

/** Results kept for names that repeat, as those of tools and MCP clients do. */
const CACHED = 2_000;
/** In UTF-16 code units. Registered names have at most 80 characters, each of which two may imitate. */
const MAX_WORD = 160;
const NOT_ASCII = /[^\p{ASCII}]/u;
const LATIN = /\p{Script=Latin}/u;
/** Alphabets with letters that look like Latin ones. */
const LIKE_LATIN = [
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
  /\p{Script=Georgian}/u,
];

function wordOf(raw: string): Word {
  // No registered name is as long.
  if (raw.length > MAX_WORD) return { text: raw, same: raw, keys: ['', ''] };
  const text = raw.replace(/^\p{P}+|(?<!\p{P})\p{P}+$/gu, '');
  return { text, same: sameNameKey(text), keys: confusionKeys(text) };
}

const wordsOf = (text: string): Word[] =>
  text
    .split(/[\s\p{Z}]+/u)
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
 * Whether words of a longer text are simply in its language: one alphabet, which the rest of the text has as well. In a Russian sentence
 * the word "том" imitates no "Tom".
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

/** Every name by which people know somebody here, as the operator writes it. */
export function namesIn(config: GatewayConfig): RegisteredName[] {
  return [
    { path: 'branding.name', text: config.branding.name },
    ...config.identityProviders.flatMap(({ displayName }, at) =>
      displayName === undefined ? [] : { path: `identityProviders[${at}].displayName`, text: displayName },
    ),
    ...config.providers.map(({ displayName }, at) => ({ path: `providers[${at}].displayName`, text: displayName })),
    ...config.processors.map(({ displayName }, at) => ({ path: `processors[${at}].displayName`, text: displayName })),
    ...config.mcpServers.flatMap(({ id: mcpServerId, name, payment }, at) => [
      { path: `mcpServers[${at}].name`, text: name, mcpServerId },
      ...(payment?.payees ?? []).map((text, payee) => ({
        ...{ path: `mcpServers[${at}].payment.payees[${payee}]`, text, mcpServerId },
      })),
    ]),
  ];
}

/** Finds texts that people can take for the name of somebody else (UTS 39), in an index that is made once. */
export function createRegisteredNames(names: readonly RegisteredName[]) {
  const byKey = new Map<string, (RegisteredName & { same: string })[]>();
  /** By the key of the first word: how many words the names have that begin so. */
  const lengths = new Map<string, Set<number>>();
  for (const name of names) {
    const words = wordsOf(name.text);
    for (const key of words[0]?.keys ?? []) lengths.set(key, (lengths.get(key) ?? new Set()).add(words.length));
    for (const key of new Set(keysOf(words)))
      byKey.set(key, [...(byKey.get(key) ?? []), { ...name, same: sameOf(words) }]);
  }

  /** A registered name that the words look like, unless they are that name or one of the MCP server's own. */
  function imitatedBy(words: readonly Word[], mcpServerId: string): RegisteredName | undefined {
    const same = sameOf(words);
    const alike = keysOf(words).flatMap(key => byKey.get(key) ?? []);
    if (alike.some(name => name.same === same)) return undefined;
    return alike.find(name => name.mcpServerId !== mcpServerId);
  }

  function isMisleading(text: string, mcpServerId: string, isProse: boolean): boolean {
    const words = wordsOf(text);
    const isAtHome = atHomeIn(words);
    return words.some((first, start) => {
      for (const length of new Set(first.keys.flatMap(key => [...(lengths.get(key) ?? [])]))) {
        const part = words.slice(start, start + length);
        if (isProse && !part.some(word => NOT_ASCII.test(word.text))) continue;
        if (imitatedBy(part, mcpServerId) !== undefined && !isAtHome(part)) return true;
      }
      return false;
    });
  }

  const known = new Map<string, boolean>();

  return {
    /** Whether a name or title that an MCP server has written holds words that look like the name of somebody else. */
    isMisleadingName(text: string, mcpServerId: string): boolean {
      const key = `${mcpServerId} ${text}`;
      const found = known.get(key) ?? isMisleading(text, mcpServerId, false);
      if (known.size >= CACHED) known.clear();
      known.set(key, found);
      return found;
    },

    /** The same of a sentence, where ASCII words are words of a language: "modern" imitates no "Modem". */
    isMisleadingProse: (text: string, mcpServerId: string): boolean =>
      NOT_ASCII.test(text) && isMisleading(text, mcpServerId, true),

    /** The other registered name that a registered name looks like. */
    imitatedBy: ({ text, mcpServerId }: RegisteredName): RegisteredName | undefined => {
      const words = wordsOf(text);
      const same = sameOf(words);
      return keysOf(words)
        .flatMap(key => byKey.get(key) ?? [])
        .find(name => name.same !== same && (mcpServerId === undefined || name.mcpServerId !== mcpServerId));
    },
  };
}

export type RegisteredNames = ReturnType<typeof createRegisteredNames>;
