import { expect, test } from 'vitest';
import { languagePath, languageSwitcher } from './language-switcher.ts';
import { loadLanguage, locales } from './languages/languages.ts';
import { hostileStrings } from './testing/hostile-strings.ts';
import { sampleContext } from './testing/sample-context.ts';
import { translatorFor } from './translator.ts';

await loadLanguage('zh-Hans');

const t = translatorFor({ locale: 'zh-Hans' });
const markup = (path: string) => `${languageSwitcher({ ...sampleContext, path }, t)}`;

test('offers every language in its own words, marks the current one, and posts without JavaScript', () => {
  const switcher = markup('/e/sample');
  expect([...switcher.matchAll(/<button name="language" value="([^"]+)" lang="\1"/g)]).toHaveLength(locales.length);
  expect(switcher.match(/aria-current="true"/g)).toHaveLength(1);
  expect(switcher).toContain('value="zh-Hans" lang="zh-Hans" aria-current="true"');
  expect(switcher).toContain(`<form method="post" action="${languagePath}"`);
});

test.each(hostileStrings)('shows the way back as a value only: %j', path => {
  expect(markup(path).match(/</g)).toHaveLength((markup('/').match(/</g) ?? []).length);
});

test('is absent without a way back', () => {
  expect(languageSwitcher(sampleContext, t)).toBeUndefined();
});
