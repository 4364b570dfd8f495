/** The browsers in which the user is signed in, and signing out of all of them. */
import type { ForeignText } from '../foreign-text.ts';
import { type Html, html } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { rowNote } from '../me-entries.ts';
import { messagePage } from '../message-page.ts';
import { linkButton, postForm, submitButton } from '../parts.ts';
import { type SignedOutView, signOutThere } from '../sign-out-there.ts';
import { timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface BrowserView {
  /** Product names, such as "Firefox, Windows"; absent if unknown. */
  readonly name?: string;
  readonly signedInAt: Date;
  /** Name of the MCP server whose application vouched for the user. */
  readonly throughName?: ForeignText;
  readonly isThis: boolean;
}

export interface BrowsersView {
  readonly browsers: readonly BrowserView[];
  readonly endAllAction: string;
  readonly csrfToken: string;
  readonly backHref: string;
}

export function browsersPage(context: PageContext, view: BrowsersView): string {
  const t = translatorFor(context);
  const main = html`<h1>${t.html('browsers.heading')}</h1>
<div class="lead"><p>${t.html('browsers.text', { brand: context.branding.name })}</p></div>
<ul class="entries">${view.browsers.map(browser => browserEntry(browser, t))}</ul>
<section class="group" aria-labelledby="end-all-heading">
<h2 id="end-all-heading">${t.html('browsers.endAll')}</h2>
<p class="empty">${t.html('browsers.endAllText')}</p>
<div class="actions">
${postForm({ action: view.endAllAction, csrfToken: view.csrfToken }, submitButton(t.html('browsers.endAll'), 'plain'))}
${linkButton(view.backHref, t.html('account.back'), 'plain')}
</div>
</section>`;
  return layout(context, t, { title: t.plain('browsers.heading'), main });
}

function browserEntry({ name, signedInAt, throughName, isThis }: BrowserView, t: Translator): Html {
  const time = timeText(signedInAt, 'stamp', t);
  const since =
    throughName === undefined
      ? t.html('browsers.since', { time })
      : t.html('browsers.through', { mcpServer: throughName, time });
  const shown = name === undefined ? t.html('browsers.unknown') : html`<span translate="no">${name}</span>`;
  return html`<li class="entry row-item"><div class="row">${icons.person}<span class="row-text"><span class="row-name">${shown}</span>${[isThis ? t.html('browsers.this') : undefined, since].map(rowNote)}</span></div></li>
`;
}

export function signedOutEverywherePage(context: PageContext, view: SignedOutView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('browsersEnded.heading'),
    icon: icons.check,
    tone: 'good',
    heading: t.html('browsersEnded.heading'),
    ...signOutThere(t, t.html('browsersEnded.text', { brand: context.branding.name }), view),
  });
}
