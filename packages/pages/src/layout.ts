import { attributes, contactUrl, type Html, html, ownPath, scriptElement, webUrl } from './html.ts';
import { languageSwitcher } from './language-switcher.ts';
import { darkSource } from './marks.ts';
import { pageScript } from './page-script.ts';
import { themeColour } from './palette.ts';
import { timeText } from './times.ts';
import { isolate, type Translator } from './translator.ts';
import type { PageContext } from './views.ts';

interface Page {
  readonly title: string;
  readonly main: Html;
  /** Address to which the page goes on by itself, at once. It links to the address as well. */
  readonly refreshTo?: string;
}

/** Renders the complete document: head, operator's name, main part, footer. */
export function layout(context: PageContext, t: Translator, page: Page): string {
  const { branding } = context;
  const refresh =
    page.refreshTo === undefined
      ? undefined
      : html`<meta http-equiv="refresh" content="${`0;url=${webUrl(page.refreshTo)}`}">`;
  const icon =
    branding.iconPath === undefined
      ? undefined
      : html`<link rel="icon" href="${ownPath(branding.iconPath)}"><link rel="apple-touch-icon" href="${ownPath(branding.iconPath)}">`;
  return `${html`<!doctype html>
<html lang="${t.locale}" dir="${t.direction}">
<head>
<meta charset="utf-8">
${refresh}
<title>${`${page.title} · ${isolate(branding.name)}`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${themeColour(branding, 'light')}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${themeColour(branding, 'dark')}" media="(prefers-color-scheme: dark)">
<meta name="robots" content="noindex">
<meta name="format-detection" content="telephone=no, date=no, email=no, address=no">
<link rel="stylesheet" href="${ownPath(context.stylesheetPath)}">
${scriptElement(pageScript)}
${icon}
</head>
<body>
<header class="brand">${brandMark(context)}${languageSwitcher(context, t)}</header>
<main class="card">
${passkeyNotice(context, t)}
${page.main}
</main>
${foot(context, t)}
</body>
</html>
`}`;
}

function brandMark({ branding: { name, logo } }: PageContext): Html {
  const text = html`<span class="brand-name" translate="no">${name}</span>`;
  if (logo === undefined) return text;
  const isWordmark = logo.width >= 2 * logo.height;
  const { path, darkPath } = logo;
  const size = { width: logo.width, height: logo.height };
  const look = darkPath === undefined ? 'brand-logo plate' : 'brand-logo';
  const image = html`<img class="${look}" src="${ownPath(path)}" alt="${isWordmark ? name : ''}"${attributes(size)}>`;
  const drawn = darkPath === undefined ? image : html`<picture>${darkSource(darkPath)}${image}</picture>`;
  return isWordmark ? drawn : html`${drawn}${text}`;
}

function passkeyNotice({ branding, passkeysChangedAt }: PageContext, t: Translator): Html | undefined {
  if (passkeysChangedAt === undefined) return undefined;
  const text = t.html('layout.passkeysChanged', {
    time: timeText(passkeysChangedAt, 'moment', t),
    brand: branding.name,
  });
  return html`<div class="passkeys-changed notice"><p>${text} <a href="/me">${t.html('layout.seePasskeys')}</a></p></div>`;
}

function foot({ branding: { supportUrl, privacyUrl, termsUrl } }: PageContext, t: Translator): Html | undefined {
  const link = (url: string | undefined, text: Html) =>
    url === undefined ? [] : [html`<a href="${contactUrl(url)}" rel="noreferrer">${text}</a>`];
  const links = [
    ...link(supportUrl, t.html('layout.help')),
    ...link(privacyUrl, t.html('layout.privacy')),
    ...link(termsUrl, t.html('layout.terms')),
  ];
  return links.length === 0 ? undefined : html`<footer class="foot">${links}</footer>`;
}
