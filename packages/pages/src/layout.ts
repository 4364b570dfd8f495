import { contactUrl, type Html, html, ownPath, pageScriptElement } from './html.ts';
import { pageColours } from './palette.ts';
import { timeText } from './times.ts';
import { isolate, type Translator } from './translator.ts';
import type { PageContext } from './views.ts';

/** Renders the complete document: head, operator's name, main part, footer. */
export function layout(context: PageContext, t: Translator, page: { title: string; main: Html }): string {
  const { branding } = context;
  const icon =
    branding.logoPath === undefined ? undefined : html`<link rel="icon" href="${ownPath(branding.logoPath)}">`;
  return `${html`<!doctype html>
<html lang="${t.locale}" dir="${t.direction}">
<head>
<meta charset="utf-8">
<title>${`${page.title} · ${isolate(branding.name)}`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${pageColours.light}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${pageColours.dark}" media="(prefers-color-scheme: dark)">
<meta name="robots" content="noindex">
<meta name="format-detection" content="telephone=no, date=no, email=no, address=no">
<link rel="stylesheet" href="${ownPath(context.stylesheetPath)}">
${pageScriptElement}
${icon}
</head>
<body>
<header class="brand">${brandMark(context)}</header>
<main class="card">
${passkeyNotice(context, t)}
${page.main}
</main>
${foot(context, t)}
</body>
</html>
`}`;
}

function brandMark({ branding }: PageContext): Html {
  const logo =
    branding.logoPath === undefined
      ? undefined
      : html`<img class="brand-logo" src="${ownPath(branding.logoPath)}" alt="" width="24" height="24">`;
  return html`${logo}<span class="brand-name" translate="no">${branding.name}</span>`;
}

function passkeyNotice({ branding, passkeysChangedAt }: PageContext, t: Translator): Html | undefined {
  if (passkeysChangedAt === undefined) return undefined;
  const text = t.html('layout.passkeysChanged', {
    time: timeText(passkeysChangedAt, 'moment', t),
    brand: branding.name,
  });
  return html`<div class="passkeys-changed notice"><p>${text} <a href="/me">${t.html('layout.seePasskeys')}</a></p></div>`;
}

function foot({ branding }: PageContext, t: Translator): Html | undefined {
  if (branding.supportUrl === undefined) return undefined;
  return html`<footer class="foot"><a href="${contactUrl(branding.supportUrl)}" rel="noreferrer">${t.html('layout.help')}</a></footer>`;
}
