/** The parts of pages. */

import { displayHost, isDisplayHost } from './display-host.ts';
import { type ForeignText, foreign, foreignPlain } from './foreign-text.ts';
import { attributes, type Html, html, joinHtml, ownPath, ownText, webUrl } from './html.ts';
import { icons } from './icons.ts';
import { appMark } from './marks.ts';
import type { Translator } from './translator.ts';
import type { McpServerView, PageContext, PersonView, ScopeView } from './views.ts';

/** The requesting MCP server: logo, registered name, host. */
export function asker(mcpServer: McpServerView, t: Translator): Html {
  return html`<div class="asker" role="group" aria-label="${t.plain('asker.label')}">${appMark(mcpServer)}<p class="asker-text"><strong class="asker-name" translate="no">${foreign(mcpServer.name, t)}</strong> <span class="asker-host">${hostText(mcpServer.host)}</span></p></div>`;
}

/** A mark with an icon, in place of a second party. */
export function iconMark(icon: Html, tone: 'danger' | 'caution' | 'neutral' = 'neutral'): Html {
  return html`<span class="${`mark icon-mark tone-${tone}`}" aria-hidden="true">${icon}</span>`;
}

/** Several MCP servers, each with registered name and host. */
export function mcpServerList(mcpServers: readonly McpServerView[], t: Translator): Html {
  const items = mcpServers.map(
    ({ name, host }) =>
      html`<li><span class="value" translate="no">${foreign(name, t)}</span> <span class="detail">${hostText(host)}</span></li>`,
  );
  return html`<ul class="apps">${items}</ul>`;
}

/** A list of names for a sentence, joined by the rules of the locale. */
export function nameList(names: readonly ForeignText[], t: Translator): Html {
  const inOrder = names.values();
  const parts = new Intl.ListFormat(t.locale).formatToParts(names.map(name => foreignPlain(name, t)));
  return joinHtml(
    parts.map(({ type, value }) => (type === 'element' ? foreign(inOrder.next().value ?? value, t) : ownText(value))),
  );
}

/**
 * Renders a host, left to right in every language and never translated.
 *
 * @throws TypeError if the host is not in the ASCII form of `displayHost`: an unnormalised host could imitate another.
 */
export function hostText(host: string): Html {
  if (!isDisplayHost(host)) throw new TypeError('a host is shown in the form displayHost gives it');
  return html`<span class="host" dir="ltr" translate="no">${host}</span>`;
}

/** A fact with its label above its value. */
export function fact(label: Html, value: Html): Html {
  return html`<div class="fact"><dt>${label}</dt><dd>${value}</dd></div>`;
}

/** A fact with a short value, which is shown next to its label if there is room. */
export function factBeside(label: Html, value: Html, hint?: Html): Html {
  if (hint === undefined) {
    return html`<div class="fact beside"><dt>${label}</dt><dd class="given">${value}</dd></div>`;
  }
  return html`<div class="fact beside hinted"><dt>${label}</dt><dd class="given">${value}</dd><dd class="hint">${hint}</dd></div>`;
}

/** Says that another attempt is useless, if it is. */
export function operatorNotice({ operatorReference, branding }: PageContext, t: Translator): Html | undefined {
  if (operatorReference === undefined) return undefined;
  const reference = html`<code class="request-id" dir="ltr" translate="no">${operatorReference}</code>`;
  return t.html('fault.operator', { brand: branding.name, reference });
}

/** A group of facts. */
export function facts(rows: readonly (Html | undefined)[]): Html {
  return html`<dl class="facts">${rows.filter(row => row !== undefined)}</dl>`;
}

export function destination(host: string, t: Translator): Html {
  return factBeside(t.html('facts.destination'), html`<span class="value">${hostText(host)}</span>`);
}

/** "Signed in as …, not you?" */
export function personFact(
  person: PersonView,
  t: Translator,
  leave?: { action: string; csrfToken: string; label: Html },
): Html {
  const form =
    leave === undefined ? undefined : postForm(leave, html`<button class="link" type="submit">${leave.label}</button>`);
  return fact(t.html('facts.person'), html`${personText(person, t)}${form}`);
}

/** A user with name, distinguishing detail, and identity provider. */
export function personText({ displayName, detail, signInHost }: PersonView, t: Translator): Html {
  const more = detail === undefined ? undefined : html`<span class="detail" translate="no">${detail}</span>`;
  const host =
    signInHost === undefined
      ? undefined
      : html`<span class="detail">${t.html('facts.personHost', { host: hostText(signInHost) })}</span>`;
  return html`<span class="value" translate="no">${displayName}</span>${more}${host}`;
}

/** Permissions in plain words; the provider's identifier only if a description is missing. */
export function scopeList(scopes: readonly ScopeView[], t: Translator): Html {
  const items = scopes.map(scope => html`<li>${scopeText(scope, t)}</li>`);
  return html`<ul class="scopes">${items}</ul>`;
}

/** Maximum number of granted permissions that are shown without collapsing them. */
const foldAbove = 4;

/** Permissions that the user granted earlier. A long list is collapsed. */
export function knownScopeList(scopes: readonly ScopeView[], t: Translator): Html {
  if (scopes.length <= foldAbove) return scopeList(scopes, t);
  return html`<details class="fold"><summary>${t.html('scope.count', { count: scopes.length })}</summary>${scopeList(scopes, t)}</details>`;
}

/** A permission in plain words; the provider's identifier only if a description is missing. */
export function scopeText({ scope, description, language }: ScopeView, t: Translator): Html {
  if (description === undefined) return standardScope(scope, t);
  return language === undefined
    ? foreign(description, t)
    : html`<span lang="${language}" dir="auto">${foreign(description, t)}</span>`;
}

/**
 * Describes the scopes that mean the same everywhere (OpenID Connect Core 1.0 sections 5.4 and 11). Returns any other
 * unchanged.
 */
function standardScope(scope: string, t: Translator): Html {
  switch (scope) {
    case 'openid':
      return t.html('scope.openid');
    case 'profile':
      return t.html('scope.profile');
    case 'email':
      return t.html('scope.email');
    case 'offline_access':
      return t.html('scope.offlineAccess');
    default:
      return html`<code dir="ltr" translate="no">${scope}</code>`;
  }
}

/**
 * A form that changes something: a POST to our own origin with the synchronizer token, and with the digest of the page
 * if the content could have changed. `autocomplete="off"` keeps browsers from restoring an old token after a reload.
 * With an `id`, fields elsewhere on the page can belong to the form; `novalidate` leaves their validation to the
 * gateway. The script sends a form with `check` from time to time, until it leads to another page.
 */
export function postForm(
  target: {
    action: string;
    csrfToken: string;
    shown?: string | undefined;
    id?: string;
    novalidate?: boolean;
    check?: boolean;
  },
  button: Html,
): Html {
  const { id, novalidate, check } = target;
  const shown =
    target.shown === undefined ? undefined : html`<input type="hidden" name="shown" value="${target.shown}">`;
  return html`<form method="post" action="${ownPath(target.action)}" autocomplete="off"${attributes({ id, novalidate, 'data-check': check })}><input type="hidden" name="csrf_token" value="${target.csrfToken}">${shown}${button}</form>`;
}

/** `accent` leads on; `danger` leads on to something that cannot be undone; `plain` is safe. */
export type ButtonLook = 'accent' | 'danger' | 'plain';

const buttonClasses = { accent: 'button accent', danger: 'button danger', plain: 'button' } as const;

/** @param more such as the name and value that the button sends */
export function submitButton(label: Html, look: ButtonLook, more: Readonly<Record<string, string>> = {}): Html {
  return html`<button class="${buttonClasses[look]}" type="submit"${attributes(more)}><span>${label}</span></button>`;
}

/** A link that looks like a button. Sends no referrer to other origins. */
export function linkButton(href: string, label: Html, look: ButtonLook): Html {
  return html`<a class="${buttonClasses[look]}" href="${webUrl(href)}" rel="noreferrer"><span>${label}</span></a>`;
}

/** A link that opens another origin in a new tab, labelled with the host. */
export function newTabLink(href: string, t: Translator): Html {
  const host = hostText(displayHost(new URL(href)));
  return html`<a class="button small outside" href="${webUrl(href)}" target="_blank" rel="noopener noreferrer"><span>${t.html('link.open', { host })}</span>${icons.leaving}<span class="unseen"> ${t.html('link.newTab')}</span></a>`;
}

/** Leads to the page on which the user mutes or reports an MCP server. */
export function manageLink(href: string | undefined, t: Translator): Html | undefined {
  return href === undefined
    ? undefined
    : html`<p><a class="link small" href="${webUrl(href)}">${t.html('mute.link')}</a></p>`;
}

export function paragraphs(texts: readonly Html[]): Html {
  return joinHtml(texts.map(text => html`<p>${text}</p>`));
}
