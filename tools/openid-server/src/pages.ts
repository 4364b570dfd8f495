/** The pages of an OpenID provider. They have no scripts and load nothing. */
import { createHash } from 'node:crypto';
import type { OpenIdUser } from './openid-user.ts';

/** The look of one provider, and the names of its scopes. */
export interface Brand {
  readonly name: string;
  /** One line under the name. */
  readonly tagline: string;
  /** `#rrggbb`, dark enough for white text. */
  readonly accent: string;
  /** The shapes of its mark, as SVG markup in a view box of 24 × 24, drawn in `currentColor`. Default: its first letter. */
  readonly mark?: string;
  /** The font stack of headings. */
  readonly headingFont?: string;
  /** What a scope lets an application do. The consent page shows other scopes by their name. */
  readonly scopeTexts: Readonly<Record<string, string>>;
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, character => escapes[character] ?? '');

const stylesheet = ({ accent, headingFont = 'system-ui, sans-serif' }: Brand): string => `
:root { color-scheme: light dark; --accent: ${accent}; --page: #f6f7f9; --card: #fff; --text: #1b1f24; --muted: #5b6470; --line: #d9dde3 }
@media (prefers-color-scheme: dark) { :root { --page: #121417; --card: #1b1f24; --text: #e8eaed; --muted: #a3abb6; --line: #363d47 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; background: linear-gradient(color-mix(in srgb, var(--accent) 12%, var(--page)), var(--page) 22rem); color: var(--text); font: 1.0625rem/1.5 system-ui, sans-serif }
header { display: flex; align-items: center; gap: .75rem; padding: .875rem 1.25rem; background: var(--card); border-bottom: 1px solid var(--line) }
header strong { font: 700 1.1875rem/1.2 ${headingFont}; letter-spacing: -.01em } header span { color: var(--muted); font-size: .9rem }
@media (max-width: 34rem) { header span { display: none } }
.mark { flex: none; display: grid; place-items: center; width: 2.25rem; height: 2.25rem; border-radius: .625rem; background: var(--accent); color: #fff; font-weight: 700 } .mark svg { width: 1.5rem; height: 1.5rem }
.mark.app { background: var(--card); color: var(--text); border: 1px solid var(--line) }
.faces { display: flex; align-items: center; justify-content: center; gap: .5rem; margin: 0 0 1.25rem; color: var(--muted) } .faces .mark { width: 3rem; height: 3rem; border-radius: .875rem } .faces .mark svg { width: 2rem; height: 2rem }
main { max-width: 27rem; margin: 2.5rem auto; padding: 1.75rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem; box-shadow: 0 .5rem 2rem rgb(0 0 0 / .06) }
main.wide { max-width: 46rem }
@media (max-width: 30rem) { main, main.wide { margin: 0; border-width: 0 0 1px; border-radius: 0 } }
h1 { font: 700 1.5rem/1.25 ${headingFont}; letter-spacing: -.015em; margin: 0 0 .75rem; text-wrap: balance } h2 { font: 600 1.0625rem/1.3 ${headingFont}; margin: 1.5rem 0 .5rem } p { margin: .5rem 0 }
.faces + h1 { text-align: center }
.muted { color: var(--muted); font-size: .95rem } code { overflow-wrap: anywhere }
button { font: inherit; width: 100%; min-height: 2.75rem; padding: .625rem 1rem; border-radius: .625rem; border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; text-align: start; margin-top: .5rem }
button:hover { border-color: var(--accent) } :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
button small { display: block; color: var(--muted) } #deny { text-align: center }
.account { display: grid; grid-template-columns: auto 1fr; align-items: center; gap: 0 .875rem } .account .mark { border-radius: 50%; background: color-mix(in srgb, var(--accent) 18%, var(--card)); color: var(--text) }
.scopes { margin: 1rem 0; border: 1px solid var(--line); border-radius: .75rem } .scopes label { display: flex; gap: .75rem; align-items: baseline; padding: .75rem 1rem } .scopes label + label { border-top: 1px solid var(--line) } input { accent-color: var(--accent) }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; margin-top: 1rem } .pair button { text-align: center; font-weight: 600 }
button.primary { background: var(--accent); border-color: var(--accent); color: #fff }
.rows { list-style: none; margin: 1rem 0 0; padding: 0; border: 1px solid var(--line); border-radius: .75rem } .rows li { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .25rem 1rem; padding: .875rem 1rem } .rows li + li { border-top: 1px solid var(--line) } .rows b { font-weight: 600 } .rows span { color: var(--muted) }
.days { list-style: none; display: grid; grid-template-columns: repeat(3, 1fr); gap: .75rem; margin: 1rem 0; padding: 0; text-align: center } .days li { padding: 1rem .5rem; border-radius: .75rem; background: color-mix(in srgb, var(--accent) 10%, var(--card)) } .days svg { width: 2.5rem; height: 2.5rem; color: var(--accent) } .days b, .days span { display: block }
@media (prefers-color-scheme: dark) { .days svg { color: inherit } }
`;

const svg = (shapes: string): string =>
  `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${shapes}</svg>`;

const initial = (name: string): string => escapeHtml(name.slice(0, 1).toUpperCase());

const mark = ({ mark: shapes, name }: Brand): string =>
  `<span class="mark" aria-hidden="true">${shapes === undefined ? initial(name) : svg(shapes)}</span>`;

/** @param body HTML @param width that of the card: `wide` for pages that are not a form */
export function brandedPage(brand: Brand, title: string, body: string, width: 'narrow' | 'wide' = 'narrow'): string {
  return document(brand, title, `<h1>${escapeHtml(title)}</h1>\n${body}`, width);
}

function document(brand: Brand, title: string, content: string, width: 'narrow' | 'wide'): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(`${title} · ${brand.name}`)}</title>
<style>${stylesheet(brand)}</style>
</head>
<body>
<header>${mark(brand)}<strong>${escapeHtml(brand.name)}</strong><span>${escapeHtml(brand.tagline)}</span></header>
<main class="${width}">
${content}
</main>
</body>
</html>
`;
}

/** Headers of every page. Without `form-action`, because consent ends in a redirect to the application. */
export function pageHeaders(brand: Brand): Record<string, string> {
  const hash = createHash('sha256').update(stylesheet(brand)).digest('base64');
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}

export function loginPage(
  brand: Brand,
  p: { action: string; clientName: string; users: readonly OpenIdUser[] },
): string {
  const buttons = p.users.map(
    ({ sub, name, email }) =>
      `<button class="account" name="user" value="${escapeHtml(sub)}"><span class="mark" aria-hidden="true">${initial(name)}</span><span>Continue as ${escapeHtml(name)}<small>${escapeHtml(email)}</small></span></button>`,
  );
  return brandedPage(
    brand,
    `Sign in to ${brand.name}`,
    `<p>to continue to <b>${escapeHtml(p.clientName)}</b></p>
<form method="post" action="${escapeHtml(p.action)}">
${buttons.join('\n')}
<button id="deny" name="decision" value="deny">Cancel</button>
</form>
<p class="muted">Choose a user. There are no passwords here.</p>`,
  );
}

export function consentPage(
  brand: Brand,
  p: {
    action: string;
    clientName: string;
    /** Undefined in the device flow. */
    redirectHost: string | undefined;
    userName: string;
    scopes: readonly { scope: string; isGranted: boolean }[];
  },
): string {
  const boxes = p.scopes.map(
    ({ scope, isGranted }) =>
      `<label><input type="checkbox" name="scope" value="${escapeHtml(scope)}" checked${isGranted ? ' disabled' : ''}> ${escapeHtml(brand.scopeTexts[scope] ?? scope)}</label>`,
  );
  const next = p.redirectHost === undefined ? '' : ` You will continue at <b>${escapeHtml(p.redirectHost)}</b>.`;
  const title = `${p.clientName} asks for access`;
  return document(
    brand,
    title,
    `<p class="faces" aria-hidden="true"><span class="mark app">${initial(p.clientName)}</span>···${mark(brand)}</p>
<h1>${escapeHtml(title)}</h1>
<p class="muted">Signed in as <b id="account">${escapeHtml(p.userName)}</b>.${next}</p>
<form method="post" action="${escapeHtml(p.action)}">
<p>You would allow it to:</p>
<div class="scopes">
${boxes.join('\n')}
</div>
<div class="pair">
<button id="deny" name="decision" value="deny">Deny</button>
<button id="allow" name="decision" value="allow" class="primary">Allow</button>
</div>
</form>`,
    'narrow',
  );
}

/** @param form the form of oidc-provider, without buttons */
export function logoutPage(brand: Brand, form: string): string {
  const buttons =
    '<div class="pair"><button id="stay">Stay signed in</button><button id="sign-out" name="logout" value="yes" class="primary">Sign out</button></div>';
  return brandedPage(
    brand,
    `Sign out of ${brand.name}?`,
    `<p>This also ends your session in other applications.</p>${form.replace('</form>', `${buttons}</form>`)}`,
  );
}

export function errorPage(brand: Brand, code: string): string {
  return brandedPage(
    brand,
    'Something went wrong',
    `<p>Go back to the application and start again.</p><p id="error" class="muted">${escapeHtml(code)}</p>`,
  );
}
