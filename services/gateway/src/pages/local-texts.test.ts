import { languageTags, textFor } from '@postern/api';
import { textIn } from '@postern/elicitation';
import { locales } from '@postern/pages';
import { expect, test } from 'vitest';

test('the languages of texts are those of the pages, in the same order', () => {
  expect(languageTags).toEqual(locales);
});

test('a processor gets the text that the page showed', () => {
  const all = languageTags.map(tag => [tag, `in ${tag}`] as const);
  // Every text that lacks one or all of the languages before it.
  const texts = all.flatMap((_, at) => [Object.fromEntries(all.slice(at)), Object.fromEntries(all.toSpliced(at, 1))]);
  for (const text of texts)
    for (const tag of languageTags)
      expect(textIn(text, tag), `${JSON.stringify(text)} ${tag}`).toBe(textFor(text, tag));
  expect(textIn('plain', 'de')).toBe('plain');
});
