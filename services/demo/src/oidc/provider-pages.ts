/** The pages of the demo's providers. Without scripts and without a single thing from another origin. */
import { createHash } from 'node:crypto';
import type { Person } from './person.ts';

/** How one provider looks and what it calls its permissions. */
export interface ProviderBrand {
  readonly name: string;
  /** One line under the name. */
  readonly tagline: string;
  /** `#rrggbb`, dark enough for white text. */
  readonly accent: string;
  /** What a scope lets an application do. Scopes without a text are not listed. */
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

const stylesheet = (accent: string): string => `
:root { color-scheme: light dark; --accent: ${accent}; --page: #eef0f3; --card: #fff; --text: #1b1f24; --muted: #5b6470; --line: #d6dae0 }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --card: #1e2228; --text: #e8eaed; --muted: #a3abb6; --line: #3a414b } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; background: var(--page); color: var(--text); font: 1.0625rem/1.5 system-ui, sans-serif }
header { background: var(--accent); color: #fff; padding: 1rem; text-align: center }
header strong { font-size: 1.25rem } header span { display: block; font-size: .9rem }
main { max-width: 26rem; margin: 2rem auto; padding: 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem }
@media (max-width: 28rem) { main { margin: 0; border: 0; border-radius: 0 } }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .75rem } p { margin: .5rem 0 } ul { padding-inline-start: 1.25rem }
.muted { color: var(--muted); font-size: .95rem }
button { font: inherit; width: 100%; padding: .75rem 1rem; border-radius: .5rem; border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; text-align: start; margin-top: .5rem }
button:hover { border-color: var(--accent) } button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
button small { display: block; color: var(--muted) }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; margin-top: 1rem } .pair button { text-align: center }
button.primary { background: var(--accent); border-color: var(--accent); color: #fff }
`;

/** @param body markup, escaped already */
export function brandedPage(brand: ProviderBrand, title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(`${title} · ${brand.name}`)}</title>
<style>${stylesheet(brand.accent)}</style>
</head>
<body>
<header><strong>${escapeHtml(brand.name)}</strong><span>${escapeHtml(brand.tagline)}</span></header>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

/** Headers of every page; no `form-action`, because consent ends in a redirect to the application. */
export function pageHeaders(brand: ProviderBrand): Record<string, string> {
  const hash = createHash('sha256').update(stylesheet(brand.accent)).digest('base64');
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}

export function loginPage(
  brand: ProviderBrand,
  p: { action: string; oauthClientName: string; people: readonly Person[] },
): string {
  const buttons = p.people.map(
    ({ id, name, email }) =>
      `<button name="person" value="${escapeHtml(id)}">Continue as ${escapeHtml(name)}<small>${escapeHtml(email)}</small></button>`,
  );
  return brandedPage(
    brand,
    `Sign in to ${brand.name}`,
    `<p>to continue to <b>${escapeHtml(p.oauthClientName)}</b></p>
<form method="post" action="${escapeHtml(p.action)}">
${buttons.join('\n')}
<button name="decision" value="deny">Cancel</button>
</form>
<p class="muted">This is a demo: choosing a person is all it takes, there is no password.</p>`,
  );
}

export function consentPage(
  brand: ProviderBrand,
  p: { action: string; oauthClientName: string; redirectHost: string; personName: string; scopes: readonly string[] },
): string {
  const items = p.scopes.flatMap(scope => brand.scopeTexts[scope] ?? []).map(text => `<li>${escapeHtml(text)}</li>`);
  return brandedPage(
    brand,
    `${p.oauthClientName} asks for access`,
    `<p class="muted">Signed in as <b>${escapeHtml(p.personName)}</b>. It will continue at <b>${escapeHtml(p.redirectHost)}</b>.</p>
<p>It would be allowed to:</p>
<ul>
${items.join('\n')}
</ul>
<form method="post" action="${escapeHtml(p.action)}" class="pair">
<button name="decision" value="deny">Deny</button>
<button name="decision" value="allow" class="primary">Allow</button>
</form>`,
  );
}

export function faultPage(brand: ProviderBrand, code: string): string {
  return brandedPage(
    brand,
    'That did not work',
    `<p>Please go back to the application and start again.</p><p class="muted">${escapeHtml(code)}</p>`,
  );
}
