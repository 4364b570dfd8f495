import {
  createOutboundFetch,
  createProviderRegistry,
  providerConfigSchema,
  providerJsonSchema,
} from '@postern/authorization';
import { type Locale, loadLanguage } from '@postern/pages';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createScopeViews } from './page-views.ts';

type Language = Exclude<Locale, 'en-XA'>;
const locales: readonly Language[] = ['en', 'de', 'fr', 'es', 'ja', 'ar', 'zh-Hans', 'zh-Hant'];
await Promise.all(locales.map(loadLanguage));
/** The presets that are used most. The texts of the others are English where a language has none. */
const inEveryLanguage = new Set([
  'atlassian',
  'box',
  'dropbox',
  'github',
  'github-enterprise',
  'gitlab',
  'google',
  'hubspot',
  'linear',
  'microsoft',
  'microsoft-entra',
  'salesforce',
  'slack',
]);

/**
 * How each language says that something can be lost, and that something is changed. A text and its access are reviewed together:
 * where a new text needs another word, add it here.
 */
const words: Readonly<Record<Language, { readonly deletes: RegExp; readonly changes: RegExp }>> = {
  en: { deletes: /\bdelete\b/i, changes: /\b(change|create|write|upload|publish)\b/i },
  de: { deletes: /löschen/i, changes: /ändern|erstellen|schreiben|hochladen|veröffentlichen/i },
  fr: { deletes: /supprimer/i, changes: /modifier|créer|écrire|importer|publier/i },
  es: { deletes: /eliminar/i, changes: /cambiar|crear|escribir|subir|publicar/i },
  ja: { deletes: /削除/, changes: /変更|作成|投稿|アップロード/ },
  ar: { deletes: /حذف/, changes: /تغيير|إنشاء|كتابة|تحميل|نشر/ },
  'zh-Hans': { deletes: /删除/, changes: /修改|创建|上传/ },
  'zh-Hant': { deletes: /刪除/, changes: /變更|建立|上傳/ },
};

const presetValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  auth0: { domain: 'acme.eu.auth0.com' },
  'github-enterprise': { host: 'github.acme.example' },
  keycloak: { host: 'id.acme.example', realm: 'acme' },
  'microsoft-entra': { tenant: '11111111-2222-4333-8444-555555555555' },
  okta: { domain: 'acme.okta.com' },
  'okta-org': { domain: 'acme.okta.com' },
  shopify: { shop: 'acme' },
  zendesk: { subdomain: 'acme' },
};

function scopeViewsOf(member: Readonly<Record<string, unknown>>) {
  const config = providerConfigSchema.parse({
    name: 'provider',
    clientId: 'id',
    clientSecret: 's'.repeat(40),
    ...member,
  });
  const providers = createProviderRegistry({
    providers: [config],
    fetch: createOutboundFetch({ allowLoopback: false }),
    now: Date.now,
  });
  const views = createScopeViews([config], providers);
  return {
    scopes: Object.keys(config.scopeDescriptions),
    views: (scopes: readonly string[], locale: Locale = 'en') => views('provider', scopes, locale),
  };
}

const schema = providerJsonSchema({ properties: { scopes: {}, preset: {}, defaultScopes: {} } });
const presets = z.object({ properties: z.object({ preset: z.object({ enum: z.array(z.string()) }) }) }).parse(schema)
  .properties.preset.enum;

test('there are at least 40 presets', () => {
  expect(presets.length).toBeGreaterThanOrEqual(40);
});

describe.each(presets)('the scopes of preset %s', preset => {
  const { scopes, views } = scopeViewsOf({ preset, presetValues: presetValues[preset] ?? {} });

  test('have an access and an English text', () => {
    for (const { scope, description, language, access } of views(scopes)) {
      expect(description, scope).toBeTypeOf('string');
      expect(access, scope).toBeDefined();
      expect(language).toBeUndefined();
    }
  });

  test.each(locales)('say the worst that their access allows, and no more, in %s', locale => {
    for (const { scope, description = '', language, access } of views(scopes, locale)) {
      const { deletes, changes } = words[language === 'en' ? 'en' : locale];
      expect(deletes.test(String(description)), scope).toBe(access === 'delete');
      if (access === 'see') expect(description, scope).not.toMatch(changes);
    }
  });

  test('have a text in every language, or are marked as English', () => {
    for (const locale of locales) {
      for (const { scope, description, language } of views(scopes, locale)) {
        expect(description, scope).toBeTypeOf('string');
        if (inEveryLanguage.has(preset)) expect(language, scope).toBeUndefined();
        else expect([undefined, 'en']).toContain(language);
      }
    }
  });
});

describe('a scope that the operator describes', () => {
  const { views } = scopeViewsOf({
    preset: 'github',
    scopeDescriptions: {
      repo: 'Our repositories',
      gist: { en: 'Our snippets', 'zh-Hans': '我们的代码片段' },
      user: { text: { en: 'Your life' }, access: 'delete' },
      own: { access: 'see' },
    },
  });

  test('has a single text in every language, of unknown language, and the access of the preset', () => {
    const expected = { scope: 'repo', description: 'Our repositories', access: 'delete' };
    for (const locale of locales) expect(views(['repo'], locale)).toEqual([expected]);
  });

  test('has its text in the language of the page, otherwise in English', () => {
    const gist = { scope: 'gist', access: 'delete' };
    expect(views(['gist'], 'en')).toEqual([{ ...gist, description: 'Our snippets' }]);
    expect(views(['gist'], 'zh-Hans')).toEqual([{ ...gist, description: '我们的代码片段' }]);
    const user = { scope: 'user', description: 'Your life', access: 'delete' };
    expect(views(['user'], 'zh-Hans')).toEqual([{ ...user, language: 'en' }]);
  });

  test('has no text if there is only its access', () => {
    expect(views(['own'])).toEqual([{ scope: 'own', access: 'see' }]);
  });
});

test.each(['unheard:of', 'constructor', '__proto__', 'toString'])('nothing is known of the scope %s', scope => {
  expect(scopeViewsOf({ preset: 'github' }).views([scope])).toEqual([{ scope }]);
});
