import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Regenerates `confusables.txt` from the table that Unicode publishes (UTS 39, https://www.unicode.org/Public/security/):
 * `node write-confusables.ts FILE`. Left out are characters that NFKD changes, since skeletons never see them.
 */
const [, , source = ''] = process.argv;
const table = readFileSync(source, 'utf8').replace('\uFEFF', '').split('\n');

const bySkeleton = new Map<string, number[]>();
for (const line of table) {
  const [from, to] = (line.split('#', 1)[0] ?? '').split(';');
  if (from === undefined || to === undefined) continue;
  const codePoint = Number.parseInt(from, 16);
  const character = String.fromCodePoint(codePoint);
  if (character.normalize('NFKD') !== character) continue;
  const prototype = to.trim().toLowerCase().replaceAll(' ', '+');
  bySkeleton.set(prototype, [...(bySkeleton.get(prototype) ?? []), codePoint]);
}

const header = table.filter(line => /^# (?:Date|Version|©|Unicode|For terms)/.test(line));
const rows = [...bySkeleton].map(([prototype, sources]) =>
  [prototype, ...sources.toSorted((a, b) => a - b).map(codePoint => codePoint.toString(16))].join(' '),
);
const text = [
  '# Made by write-confusables.ts from confusables.txt of Unicode (see confusables.LICENSE.txt), whose header says:',
  ...header,
  '# Each line: what is shown, as code points joined by "+", and the code points that look like it.',
  ...rows.toSorted(),
];
writeFileSync(new URL('confusables.txt', import.meta.url), `${text.join('\n')}\n`);
