/** The pages of a test provider. Selectors that tests rely on: `button[name=user][value=…]`, `#allow`, `#deny`. */

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, character => escapes[character] ?? '');

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:3rem auto;padding:0 1rem}button{font:inherit;padding:.4rem .8rem;margin:.2rem 0}</style>
<h1>${escapeHtml(title)}</h1>
${body}
</html>`;
}

export function loginPage(p: {
  action: string;
  providerName: string;
  users: readonly { sub: string; name: string }[];
  fault?: string;
}): string {
  const buttons = p.users
    .map(
      ({ sub, name }) =>
        `<p><button name="user" value="${escapeHtml(sub)}">Continue as ${escapeHtml(name)}</button></p>`,
    )
    .join('\n');
  return page(
    `Sign in to ${p.providerName}`,
    `${p.fault === undefined ? '' : `<p role="alert">${escapeHtml(p.fault)}</p>`}
<form method="post" action="${escapeHtml(p.action)}">
${buttons}
</form>
<form method="post" action="${escapeHtml(p.action)}">
<p><label>User name <input name="username" autocomplete="username"></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
<p><button id="sign-in" name="decision" value="sign-in">Sign in</button>
<button id="deny" name="decision" value="deny">Cancel</button></p>
</form>`,
  );
}

export function consentPage(p: {
  action: string;
  providerName: string;
  clientName: string;
  userName: string;
  scopes: readonly string[];
}): string {
  const boxes = p.scopes
    .map(
      scope =>
        `<p><label><input type="checkbox" name="scope" value="${escapeHtml(scope)}" checked> ${escapeHtml(scope)}</label></p>`,
    )
    .join('\n');
  return page(
    `${p.clientName} asks for access`,
    `<p>Signed in to ${escapeHtml(p.providerName)} as <b id="account">${escapeHtml(p.userName)}</b></p>
<form method="post" action="${escapeHtml(p.action)}">
${boxes}
<p><button id="deny" name="decision" value="deny">Deny</button>
<button id="allow" name="decision" value="allow">Allow</button></p>
</form>`,
  );
}

export function errorPage(code: string): string {
  return page('Something went wrong', `<p id="error">${escapeHtml(code)}</p>`);
}

/** `parts` are HTML. */
export function devicePage(title: string, parts: readonly string[]): string {
  return page(title, parts.join('\n'));
}
