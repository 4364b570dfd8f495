import { attributes, html, webUrl } from '../html.ts';
import { layout } from '../layout.ts';
import { asker, paragraphs, postForm, submitButton } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext } from '../views.ts';

/** Reasons of a report, in the order of the page. They are also the values in the audit log. */
export const reportReasons = ['not_started', 'too_often', 'too_much', 'pretends'] as const;

export interface McpServerPageView {
  readonly mcpServer: McpServerView;
  /** Absent if this user cannot mute it. */
  readonly mute?: { readonly isMuted: boolean; readonly muteAction: string; readonly undoAction: string };
  readonly reportAction: string;
  readonly isReported: boolean;
  readonly backHref: string;
  readonly csrfToken: string;
}

/** One MCP server, for the signed-in user: mute it, undo that, report it. */
export function mcpServerPage(context: PageContext, view: McpServerPageView): string {
  const t = translatorFor(context);
  const { csrfToken } = view;
  const mcpServer = view.mcpServer.name;
  const brand = context.branding.name;
  const mute =
    view.mute === undefined
      ? undefined
      : view.mute.isMuted
        ? html`<div class="lead"><p>${t.html('mute.muted', { mcpServer })}</p></div>
<div class="actions">${postForm({ action: view.mute.undoAction, csrfToken }, submitButton(t.html('mute.undo'), 'accent'))}</div>`
        : html`<div class="lead">${paragraphs([t.html('mute.text', { mcpServer }), t.html('mute.connections')])}</div>
<div class="actions">${postForm({ action: view.mute.muteAction, csrfToken }, submitButton(t.html('mute.confirm'), 'accent'))}</div>`;
  const options = reportReasons.map(
    reason => html`<option${attributes({ value: reason })}>${t.plain(`report.${reason}`)}</option>`,
  );
  const report = view.isReported
    ? html`<p role="status">${t.html('report.done')}</p>`
    : html`<p>${t.html('report.text', { brand })}</p>
<div class="field"><label for="reason">${t.html('report.reason')}</label><select id="reason" name="reason" form="answer">${options}</select></div>
<div class="actions">${postForm({ action: view.reportAction, csrfToken, id: 'answer' }, submitButton(t.html('report.send'), 'plain'))}</div>`;
  const main = html`${asker(view.mcpServer, t)}
<h1>${t.html('mute.heading', { mcpServer })}</h1>
${mute}
<section class="group" aria-labelledby="report-heading">
<h2 id="report-heading">${t.html('report.heading', { brand })}</h2>
${report}
</section>
<p><a class="link" href="${webUrl(view.backHref)}">${t.html('disconnected.back')}</a></p>`;
  return layout(context, t, { title: t.plain('mute.heading', { mcpServer }), main });
}
