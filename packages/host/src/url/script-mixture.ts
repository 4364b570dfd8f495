/** Scripts of domain labels. All other scripts count as one. */
const scripts = {
  Latin: /\p{Script=Latin}/u,
  Cyrillic: /\p{Script=Cyrillic}/u,
  Greek: /\p{Script=Greek}/u,
  Armenian: /\p{Script=Armenian}/u,
  Georgian: /\p{Script=Georgian}/u,
  Cherokee: /\p{Script=Cherokee}/u,
  Hebrew: /\p{Script=Hebrew}/u,
  Arabic: /\p{Script=Arabic}/u,
  Devanagari: /\p{Script=Devanagari}/u,
  Thai: /\p{Script=Thai}/u,
  Han: /\p{Script=Han}/u,
  Hiragana: /\p{Script=Hiragana}/u,
  Katakana: /\p{Script=Katakana}/u,
  Hangul: /\p{Script=Hangul}/u,
  Bopomofo: /\p{Script=Bopomofo}/u,
} as const;

type Script = keyof typeof scripts | 'other';

/** Scripts that legitimately occur together in one word (UTS 39 section 5.1, augmented script sets). */
const together: readonly ReadonlySet<Script>[] = [
  new Set<Script>(['Han', 'Hiragana', 'Katakana']),
  new Set<Script>(['Han', 'Hangul']),
  new Set<Script>(['Han', 'Bopomofo']),
];

/** Digits, hyphens and marks belong to every script. */
const COMMON = /[\p{Script=Common}\p{Script=Inherited}]/u;

function scriptOf(character: string): Script {
  for (const [name, pattern] of Object.entries(scripts)) if (pattern.test(character)) return name as Script;
  return 'other';
}

/** Whether a domain label mixes scripts that never occur in one word, as imitations of other names do. */
export function mixesScripts(unicodeLabel: string): boolean {
  const found = new Set<Script>();
  for (const character of unicodeLabel) if (!COMMON.test(character)) found.add(scriptOf(character));
  if (found.size < 2) return false;
  return !together.some(set => [...found].every(script => set.has(script)));
}
