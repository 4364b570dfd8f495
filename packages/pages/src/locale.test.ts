import { expect, test } from 'vitest';
import { chooseLocale, type LanguageWishes } from './languages/languages.ts';

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['*', 'en'],
  ['en', 'en'],
  ['en-GB,en;q=0.9', 'en'],
  ['zh', 'zh-Hans'],
  ['zh-CN', 'zh-Hans'],
  ['ZH-cn', 'zh-Hans'],
  ['zh-Hans', 'zh-Hans'],
  ['zh-Hans-HK', 'zh-Hans'],
  ['zh-SG', 'zh-Hans'],
  ['zh-TW', 'zh-Hant'],
  ['zh-Hant', 'zh-Hant'],
  ['zh-HK', 'zh-Hant'],
  ['zh-MO', 'zh-Hant'],
  ['zh-TW,zh;q=0.9,en;q=0.8', 'zh-Hant'],
  ['pt-PT,pt;q=0.9', 'en'],
  ['de-AT,de;q=0.9', 'de'],
  ['fr-CA', 'fr'],
  ['es-419', 'es'],
  ['ja-JP', 'ja'],
  ['ar-EG', 'ar'],
  ['ar-MA,fr;q=0.8', 'ar'],
  ['pt,zh-CN;q=0.3', 'zh-Hans'],
  ['en;q=0.5,zh;q=0.8', 'zh-Hans'],
  ['en;q=0.8,zh;q=0.5', 'en'],
  ['zh;q=0.8,en;q=0.8', 'zh-Hans'],
  ['zh-CN ; q=0.9 , en ; q=0.7', 'zh-Hans'],
  ['zh;q=0', 'en'],
  ['zh;q=0,zh-CN;q=0.9', 'en'],
  ['en;q=0,*', 'de'],
  ['en;q=0,de;q=0.5,*;q=0.1', 'de'],
  ['pt,*;q=0.1', 'en'],
  ['zh;q=2,en;q=0.1', 'en'],
  ['zh;q=0.9999,en;q=0.1', 'en'],
  ['zh;q=high', 'en'],
  ['zh-', 'en'],
  ['zh-x', 'en'],
  ['zhx', 'en'],
  ['zh_CN', 'en'],
  [';;;,,,q=1', 'en'],
  [`${'pt,'.repeat(60)}zh`, 'en'],
  ['zh,'.repeat(5000), 'zh-Hans'],
])('%j', (header, expected) => {
  expect(chooseLocale({ acceptLanguage: header })).toBe(expected);
});

test.each([
  [{ chosen: 'zh-Hans', asked: 'en', acceptLanguage: 'en' }, 'zh-Hans'],
  [{ chosen: 'zh-CN', asked: 'en', acceptLanguage: 'zh' }, 'en'],
  [{ chosen: 'en-XA' }, 'en'],
  [{ chosen: 'constructor', acceptLanguage: 'zh' }, 'zh-Hans'],
  [{ asked: 'zh-Hans-SG', acceptLanguage: 'en' }, 'zh-Hans'],
  [{ asked: 'tlh', acceptLanguage: 'zh' }, 'zh-Hans'],
  [{ asked: '-', acceptLanguage: 'zh' }, 'zh-Hans'],
  [{ acceptLanguage: 'tlh', fallback: 'zh-Hans' }, 'zh-Hans'],
  [{ acceptLanguage: '*', fallback: 'zh-Hans' }, 'zh-Hans'],
  [{ acceptLanguage: 'en', fallback: 'zh-Hans' }, 'en'],
  [{ fallback: 'zh-Hans' }, 'zh-Hans'],
] satisfies [LanguageWishes, string][])(
  'the reader decides, then the MCP server, the browser, the operator: %j',
  (wishes, expected) => {
    expect(chooseLocale(wishes)).toBe(expected);
  },
);
