import { describe, expect, test } from 'vitest';
import { moreScopes as moreEn } from './languages/en/more-scopes.ts';
import { scopes as en } from './languages/en/scopes.ts';
import { loadLanguage, locales, scopesOf } from './languages/languages.ts';
import { scopes as zhHans } from './languages/zh-Hans/scopes.ts';
import { scopeText } from './scope-texts.ts';

await Promise.all(locales.map(loadLanguage));

/** Words that a user who has never heard of OAuth does not know. */
const jargon =
  /\b(api|app?lication programming|oauth2?|oidc|openid|tokens?|scopes?|endpoints?|refresh|metadata|payload|json|webhooks?|crud|grants?|resources?|entit(y|ies)|schemas?|ur[il]s?|https?|mcp|cli|sdk|impersonat\w+|authori[sz]\w+|authenticat\w+|claims?|objects?|read-only|offline|consent)\b/i;
const verbs =
  /^(Accept|Act|Add|Answer|Attach|Ban|Change|Choose|Control|Create|Delete|Do|Download|Follow|Hide|Join|Like|Manage|Merge|Open|Play|Post|Present|Publish|Reach|Read|Recognise|Report|Save|Search|See|Send|Set up|Share|Start|Stay|Upload|Use|Vote|Write)[ ,]/;

/** Every text of a language, after its preset and scope. */
const textsOf = (...groups: readonly Readonly<Record<string, Readonly<Record<string, string>>>>[]) =>
  groups
    .flatMap(group => Object.entries(group))
    .flatMap(([preset, texts]) => Object.entries(texts).map(([scope, text]) => [preset, scope, text] as const));

describe('every text of a scope', () => {
  test.each(textsOf(en, moreEn))('is in plain English: %s %s', (_, __, text) => {
    expect(text).toMatch(verbs);
    expect(text).not.toMatch(jargon);
    expect(text).toMatch(/[A-Za-z]$/);
  });

  test.each(locales)('is one short line without a full stop, in %s', locale => {
    const faults = textsOf(scopesOf(locale)).filter(
      ([, , text]) => text.length > 90 || /[!！\n\r\t]| {2}|^\s|\s$|[.。]$/.test(text),
    );
    expect(faults).toEqual([]);
  });

  test.each([
    ['zh-Hans', /^\p{Script=Han}/u],
    ['zh-Hant', /^\p{Script=Han}/u],
    ['ja', /[\p{Script=Han}\p{Script=Katakana}\p{Script=Hiragana}]/u],
    ['ar', /^\p{Script=Arabic}/u],
  ] as const)('is in the script of its language: %s', (locale, script) => {
    expect(textsOf(scopesOf(locale)).filter(([, , text]) => !script.test(text))).toEqual([]);
  });
});

describe('scopeText', () => {
  test('is in the language of the page', () => {
    expect(scopeText('github', 'repo', 'zh-Hans')).toEqual({ text: zhHans.github.repo, language: 'zh-Hans' });
  });

  test('serves presets with the same scopes', () => {
    expect(scopeText('github-enterprise', 'repo', 'en')).toEqual(scopeText('github', 'repo', 'en'));
    expect(scopeText('microsoft-entra', 'Mail.Send', 'en')).toEqual(scopeText('microsoft', 'Mail.Send', 'en'));
  });

  test('knows the standard scopes without a preset', () => {
    expect(scopeText(undefined, 'openid', 'zh-Hans')).toEqual({ text: zhHans.standard.openid, language: 'zh-Hans' });
    expect(scopeText('github', 'openid', 'en')).toEqual({ text: en.standard.openid, language: 'en' });
  });

  test.each([
    ['github', 'unheard:of'],
    ['github', 'constructor'],
    ['constructor', 'name'],
    ['__proto__', 'constructor'],
    [undefined, 'toString'],
    [undefined, 'repo'],
  ])('is absent for an unknown scope: %s %s', (preset, scope) => {
    expect(scopeText(preset, scope, 'zh-Hans')).toBeUndefined();
  });
});
