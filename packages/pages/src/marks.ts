/** The marks of apps, providers and people: an image if there is one, letters otherwise. The name always follows in text. */

import { parseColour, textOn, white } from './colour.ts';
import { foreignPlain } from './foreign-text.ts';
import { type Html, html, ownPath, ownText } from './html.ts';
import { monogramOf, toneOf } from './monograms.ts';
import type { LogoView, McpServerView, PersonView, ProviderView } from './views.ts';

/** `large`: 52 px. `small`: 32 px. */
export type MarkSize = 'large' | 'small';

/** The mark of a registered MCP server. */
export function appMark({ name: names, host, logo }: McpServerView, size: MarkSize = 'large'): Html {
  // The mark is the same in every language.
  const name = foreignPlain(names, { locale: 'en' });
  return image(logo, size) ?? monogram(monogramOf(name), `app tone-${toneOf(`${host} ${name}`)}`, size);
}

/** The mark of a provider. A provider's colour fills it, which tells it apart from the mark of an app. */
export function providerMark(provider: ProviderView, size: MarkSize = 'large'): Html {
  const { providerName, providerMark: mark, providerLogo } = provider;
  const drawn = image(providerLogo, size);
  if (drawn !== undefined) return drawn;
  if (mark !== undefined) return colouredLetters(mark, size);
  return monogram(monogramOf(providerName), `provider tone-${toneOf(providerName)}`, size);
}

/** The mark of a signed-in user: initials in a circle. */
export function personMark({ displayName, detail }: PersonView, size: MarkSize = 'small'): Html {
  return monogram(monogramOf(displayName, 'last'), `person tone-${toneOf(detail ?? displayName)}`, size);
}

/** The mark of anything else with a name, such as a typed credential. */
export function namedMark(name: string, size: MarkSize = 'large'): Html {
  return monogram(monogramOf(name), `app tone-${toneOf(name)}`, size);
}

/** An image with its variant for dark pages. Without one, dark pages show it on a light plate. */
function image(logo: LogoView | undefined, size: MarkSize): Html | undefined {
  if (logo === undefined) return undefined;
  const { path, darkPath } = logo;
  if (darkPath === undefined) {
    return html`<img class="${`mark image plate ${size}`}" src="${ownPath(path)}" alt="" width="52" height="52">`;
  }
  return html`<picture>${darkSource(darkPath)}<img class="${`mark image ${size}`}" src="${ownPath(path)}" alt="" width="52" height="52"></picture>`;
}

/** The source of a `picture` for dark pages, which are never printed. */
export function darkSource(darkPath: string): Html {
  return html`<source srcset="${ownPath(darkPath)}" media="screen and (prefers-color-scheme: dark)">`;
}

function monogram(letters: string, classes: string, size: MarkSize): Html {
  return html`<span translate="no" class="${`mark monogram ${classes} ${size}`}" aria-hidden="true">${letters === '' ? '•' : letters}</span>`;
}

/** A drawing, because the policy of pages refuses a style attribute and the stylesheet does not know the colour. */
function colouredLetters({ letters, colour }: NonNullable<ProviderView['providerMark']>, size: MarkSize): Html {
  const ink = textOn(parseColour(colour)) === white ? '#ffffff' : '#000000';
  return html`<svg class="${`mark ${size}`}" viewBox="0 0 52 52" width="52" height="52" aria-hidden="true" focusable="false"><rect width="52" height="52" fill="${colour}"/><text x="26" y="27" fill="${ink}" text-anchor="middle" dominant-baseline="central">${ownText(letters)}</text></svg>`;
}
