/** The permissions that a connection would have, grouped by risk. */
import { foreignPlain } from './foreign-text.ts';
import { type Html, html, joinHtml } from './html.ts';
import { icons } from './icons.ts';
import { scopeText } from './parts.ts';
import { widthOf } from './text-width.ts';
import type { Translator } from './translator.ts';
import type { RequestedScopeView, ScopeView } from './views.ts';

type Risk = 'delete' | 'change' | 'other' | 'see';

/** The worst first. */
const risks: readonly Risk[] = ['delete', 'change', 'other', 'see'];
const riskIcons = { delete: icons.bin, change: icons.pencil, other: icons.key, see: icons.eye } as const;
const counted = { delete: 'risk.deletes', change: 'risk.changes', other: 'risk.others', see: 'risk.sees' } as const;

/** Maximum number of permissions to see that are shown without folding. */
const foldAbove = 6;

/** Scopes that mean the same everywhere and permit no change (OpenID Connect Core 1.0 sections 5.4 and 11). */
const harmless: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'offline_access']);

/** Without `access`, nothing is known about a permission: it is under a heading that claims nothing, and as conspicuous as a change. */
function riskOf({ scope, description, access }: ScopeView): Risk {
  return access ?? (description === undefined && harmless.has(scope) ? 'see' : 'other');
}

/** The number of permissions by risk, for the first view of a page whose list may need scrolling. */
export function riskSummary(scopes: readonly ScopeView[], hasNotice: boolean, t: Translator): Html | undefined {
  const isLong =
    hasNotice ||
    scopes.length > 3 ||
    widthOf(scopes.map(({ description, scope }) => foreignPlain(description ?? scope, t)).join('')) > 160;
  if (!isLong) return undefined;
  const items = risks.flatMap(risk => {
    const count = scopes.filter(scope => riskOf(scope) === risk).length;
    if (count === 0) return [];
    return [
      html`<li class="${`risk-${risk}`}">${riskIcons[risk]}<span>${t.html(counted[risk], { count })}</span></li>`,
    ];
  });
  return html`<ul class="glance" aria-label="${t.plain('risk.summary')}">${items}</ul>`;
}

/** Permissions that the provider did not grant although the MCP server needs them. */
export function missingPermissions(scopes: readonly ScopeView[], t: Translator): Html | undefined {
  if (scopes.length === 0) return undefined;
  return html`<section class="missing" aria-labelledby="missing-heading"><h2 id="missing-heading">${t.html('connect.missing')}</h2>
${risks.map(risk =>
  riskList(
    scopes.filter(scope => riskOf(scope) === risk),
    risk,
    undefined,
    t,
  ),
)}</section>
`;
}

/** New permissions come first. Permissions to change or delete are never folded. */
export function permissions(scopes: readonly RequestedScopeView[], t: Translator): Html {
  const { fresh = [], known = [] } = Object.groupBy(scopes, scope => (scope.isNew === true ? 'fresh' : 'known'));
  if (fresh.length === 0 || known.length === 0) return riskGroups(scopes, 'asked', t);
  return html`<section class="fresh" aria-labelledby="fresh-heading"><h2 id="fresh-heading">${t.html('risk.new')}</h2>
${riskGroups(fresh, 'fresh', t)}</section>
<section class="known" aria-labelledby="known-heading"><h2 id="known-heading">${t.html('risk.known')}</h2>
${risks.map(risk =>
  riskList(
    known.filter(scope => riskOf(scope) === risk),
    risk,
    risk === 'see' ? 0 : undefined,
    t,
  ),
)}</section>`;
}

function riskGroups(scopes: readonly ScopeView[], id: string, t: Translator): Html {
  return joinHtml(
    risks.map(risk => {
      const own = scopes.filter(scope => riskOf(scope) === risk);
      if (own.length === 0) return html``;
      const heading = `${id}-${risk}`;
      return html`<section class="risk" aria-labelledby="${heading}"><h2 id="${heading}">${t.html(`risk.${risk}`)}</h2>
${riskList(own, risk, risk === 'see' ? foldAbove : undefined, t)}</section>
`;
    }),
  );
}

/** @param visible maximum number of items outside of the fold. Default: no fold. */
function riskList(scopes: readonly ScopeView[], risk: Risk, visible: number | undefined, t: Translator): Html {
  const list = (some: readonly ScopeView[]) =>
    some.length === 0
      ? html``
      : html`<ul class="scopes">${some.map(scope => html`<li class="${`risk-${risk}`}">${riskIcons[risk]}<span>${scopeText(scope, t)}</span></li>`)}</ul>`;
  if (visible === undefined || scopes.length <= visible) return list(scopes);
  // One line is better spent on a permission than on folding a single one.
  const first = scopes.slice(0, Math.max(0, visible - 1));
  const rest = scopes.slice(first.length);
  const count = rest.length;
  const summary = t.html(first.length === 0 ? counted.see : 'risk.more', { count });
  return html`${list(first)}<details class="fold"><summary>${summary}</summary>${list(rest)}</details>`;
}
