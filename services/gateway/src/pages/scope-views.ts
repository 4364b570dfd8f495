import type { LocalizedText, ProviderConfig, ProviderRegistry } from '@postern/authorization';
import { type Locale, type ScopeView, scopeText, type TextIn } from '@postern/pages';

/** Returns a function that describes scopes of a provider: the operator's text before that of the preset. */
export function createScopeViews(
  configs: readonly Pick<ProviderConfig, 'name' | 'preset'>[],
  providers: ProviderRegistry,
) {
  const presets = new Map(configs.map(({ name, preset }) => [name, preset]));

  return (provider: string, scopes: readonly string[], locale: Locale): ScopeView[] => {
    const descriptions = new Map(Object.entries(providers.get(provider)?.scopeDescriptions ?? {}));
    return scopes.map(scope => {
      const { text, access } = descriptions.get(scope) ?? {};
      const found = text === undefined ? scopeText(presets.get(provider), scope, locale) : localized(text, locale);
      const language = found?.language === locale ? undefined : found?.language;
      return { scope, description: found?.text, language, access };
    });
  };
}

/** A single text serves all locales, and its language is unknown. */
function localized(text: LocalizedText, locale: Locale): Partial<TextIn> {
  if (typeof text === 'string') return { text };
  const own = text[locale];
  return own === undefined ? { text: text['en'], language: 'en' } : { text: own, language: locale };
}
