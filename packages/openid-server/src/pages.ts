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

const stylesheet = (accent: string): string => `
:root { color-scheme: light dark; --accent: ${accent}; --page: #eef0f3; --card: #fff; --text: #1b1f24; --muted: #5b6470; --line: #d6dae0 }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --card: #1e2228; --text: #e8eaed; --muted: #a3abb6; --line: #3a414b } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; background: var(--page); color: var(--text); font: 1.0625rem/1.5 system-ui, sans-serif }
header { background: var(--accent); color: #fff; padding: 1rem; text-align: center }
header strong { font-size: 1.25rem } header span { display: block; font-size: .9rem }
main { max-width: 26rem; margin: 2rem auto; padding: 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem }
@media (max-width: 28rem) { main { margin: 0; border: 0; border-radius: 0 } }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .75rem } p { margin: .5rem 0 } label { display: block; margin: .25rem 0 }
.muted { color: var(--muted); font-size: .95rem }
button { font: inherit; width: 100%; padding: .75rem 1rem; border-radius: .5rem; border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; text-align: start; margin-top: .5rem }
button:hover { border-color: var(--accent) } button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
button small { display: block; color: var(--muted) }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; margin-top: 1rem } .pair button { text-align: center }
button.primary { background: var(--accent); border-color: var(--accent); color: #fff }
`;

/** @param body HTML */
export function brandedPage(brand: Brand, title: string, body: string): string {
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

/** Headers of every page. Without `form-action`, because consent ends in a redirect to the application. */
export function pageHeaders(brand: Brand): Record<string, string> {
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
  brand: Brand,
  p: { action: string; clientName: string; users: readonly OpenIdUser[] },
): string {
  const buttons = p.users.map(
    ({ sub, name, email }) =>
      `<button name="user" value="${escapeHtml(sub)}">Continue as ${escapeHtml(name)}<small>${escapeHtml(email)}</small></button>`,
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
  return brandedPage(
    brand,
    `${p.clientName} asks for access`,
    `<p class="muted">Signed in as <b id="account">${escapeHtml(p.userName)}</b>.${next}</p>
<form method="post" action="${escapeHtml(p.action)}">
<p>You would allow it to:</p>
${boxes.join('\n')}
<div class="pair">
<button id="deny" name="decision" value="deny">Deny</button>
<button id="allow" name="decision" value="allow" class="primary">Allow</button>
</div>
</form>`,
  );
}

export function errorPage(brand: Brand, code: string): string {
  return brandedPage(
    brand,
    'Something went wrong',
    `<p>Go back to the application and start again.</p><p id="error" class="muted">${escapeHtml(code)}</p>`,
  );
}
