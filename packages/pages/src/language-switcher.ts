import { attributes, type Html, html, ownText } from './html.ts';
import { icons } from './icons.ts';
import { languageOf, locales } from './languages/languages.ts';
import type { Translator } from './translator.ts';
import type { PageContext } from './views.ts';

/** Path of the form that stores the chosen language in a cookie. Its fields: `language`, and `back`, the page to return to. */
export const languagePath = '/language';

/** The choice of the language, for the header of each page. Each language is named in itself. */
export function languageSwitcher({ path }: PageContext, t: Translator): Html | undefined {
  if (path === undefined) return undefined;
  const choices = locales.map(locale => {
    const current = locale === t.locale ? ('true' as const) : undefined;
    const about = attributes({ value: locale, lang: locale, 'aria-current': current });
    return html`<li><button name="language"${about}>${ownText(languageOf(locale).name)}</button></li>`;
  });
  return html`<details class="languages"><summary>${icons.globe}<span class="unseen">${t.html('layout.language')} </span>${ownText(languageOf(t.locale).name)}</summary><form method="post" action="/language" autocomplete="off"><input type="hidden" name="back" value="${path}"><ul>${choices}</ul></form></details>`;
}
