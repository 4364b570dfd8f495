import { MAX_FIND_TEXT } from '@postern/api/admin';
import { createPageScript, formsPart } from '@postern/pages';
import { attributes, type Html, html, onPage, ownPath, scriptElement } from '@postern/pages/html';
import type { Role } from '../roles.ts';

/** The script of the console. Every page works without it. */
export const consoleScript = createPageScript('console', [formsPart, new URL('../browser/live.js', import.meta.url)]);

/** Link that starts a sign-in, and returns to a page of the console. */
export const signInHref = (to: string, fresh: boolean): string =>
  `/login?${new URLSearchParams({ to, ...(fresh ? { fresh: '1' } : {}) })}`;

/** What every page of the console needs. */
export interface ConsolePage {
  readonly stylesheetPath: string;
}

/** The signed-in operator, and the place in the navigation. */
export interface SignedInPage extends ConsolePage {
  readonly name: string;
  readonly role: Role;
  readonly csrfToken: string;
}

export const sections = [
  { path: '/', name: 'Overview' },
  { path: '/elicitations', name: 'Elicitations' },
  { path: '/connections', name: 'Connections' },
  { path: '/credentials', name: 'Credentials' },
  { path: '/payments', name: 'Payments' },
  { path: '/webhooks', name: 'Webhooks' },
  { path: '/api-keys', name: 'API keys' },
  { path: '/people', name: 'People' },
  { path: '/jobs', name: 'Jobs' },
  { path: '/audit', name: 'Audit' },
  { path: '/find', name: 'Find' },
] as const;
export type SectionPath = (typeof sections)[number]['path'];

function documentOf(
  { stylesheetPath }: ConsolePage,
  p: { title: string; body: Html; reloadSeconds?: number; goTo?: string },
): string {
  const reload =
    p.reloadSeconds === undefined
      ? undefined
      : html`<noscript><meta http-equiv="refresh" content="${String(p.reloadSeconds)}"></noscript>`;
  const goTo = p.goTo === undefined ? undefined : html`<meta http-equiv="refresh" content="${`0; url=${p.goTo}`}">`;
  return `${html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${`${p.title} · Postern console`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="format-detection" content="telephone=no, date=no, email=no, address=no">
<link rel="stylesheet" href="${ownPath(stylesheetPath)}">
${scriptElement(consoleScript)}
${reload}${goTo}
</head>
<body>
${p.body}
</body>
</html>
`}`;
}

/** A page before the sign-in, or instead of a page: a title and a few sentences. @param p.goTo path to which the browser continues at once */
export function plainPage(page: ConsolePage, p: { title: string; main: Html; goTo?: string }): string {
  return documentOf(page, {
    title: p.title,
    goTo: p.goTo,
    body: html`<main class="plain" id="main"><p class="mark">Postern <span>Console</span></p><h1>${p.title}</h1>${p.main}</main>`,
  });
}

/** Keeps the main part of a page up to date. */
export interface Live {
  /** Interval of the script. Zero: the page does not change any more. */
  readonly seconds: number;
  /** Whether the page reloads without the script as well. A reload loses focus and scroll position. */
  readonly reloads: boolean;
}

/** A POST, because a URL with the text would reach logs of proxies and the history of browsers, and the text may be a secret. */
const findForm = ({ csrfToken }: SignedInPage): Html =>
  html`<form class="find" method="post" action="${ownPath('/find')}" role="search" autocomplete="off"><input type="hidden" name="csrf_token" value="${csrfToken}"><input type="text" name="text" required maxlength="${String(MAX_FIND_TEXT)}" aria-label="Find a number, id, code or reference" placeholder="Find…" spellcheck="false"><button class="quiet">Find</button></form>`;

/** A page of the console with its navigation. */
export function consolePage(
  page: SignedInPage,
  p: {
    readonly at: SectionPath;
    /** Of a page below its section, to which it leads back. Absent: the page is the section. */
    readonly title?: string;
    readonly main: Html;
    readonly live?: Live | undefined;
  },
): string {
  const { live } = p;
  const section = sections.find(({ path }) => path === p.at)?.name ?? '';
  const title = p.title ?? section;
  const above =
    p.title === undefined
      ? undefined
      : html`<nav class="trail" aria-label="You are here"><a href="${ownPath(p.at)}">${section}</a></nav>`;
  // The script shows the button and the notice. Both are outside of the part that it replaces.
  const main =
    live === undefined
      ? p.main
      : html`<p class="warning" role="status" data-stale hidden>This page is not up to date. Reload it.</p><div data-live="${String(live.seconds)}">${p.main}</div>`;
  const pause =
    live === undefined
      ? undefined
      : html`<button type="button" class="quiet" data-pause hidden aria-pressed="false">Pause updates</button>`;
  const links = sections.map(({ path, name }) => {
    const current = path === p.at ? 'page' : undefined;
    return html`<li><a href="${ownPath(path)}"${attributes({ 'aria-current': current })}>${name}</a></li>`;
  });
  return documentOf(page, {
    title,
    reloadSeconds: live?.reloads === true && live.seconds > 0 ? live.seconds : undefined,
    body: html`<a class="skip" href="${onPage('main')}">Skip to content</a>
<div class="frame">
<header class="side">
<p class="mark">Postern <span>Console</span></p>
${findForm(page)}
<nav aria-label="Sections"><ul>${links}</ul></nav>
<div class="who">
<p><b>${page.name}</b> <span class="role">${page.role}</span></p>
<form method="post" action="${ownPath('/logout')}"><input type="hidden" name="csrf_token" value="${page.csrfToken}"><button class="quiet">Sign out</button></form>
</div>
</header>
<main id="main">
${above}
<div class="head"><h1>${title}</h1>${pause}</div>
${main}
</main>
</div>`,
  });
}
