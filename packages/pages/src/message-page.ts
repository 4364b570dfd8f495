import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { paragraphs } from './parts.ts';
import type { Translator } from './translator.ts';
import type { PageContext } from './views.ts';

/** What a page that asks for no decision says. */
export interface MessagePage {
  readonly title: string;
  readonly icon: Html;
  readonly tone?: 'good' | 'caution';
  readonly heading: Html;
  readonly texts: readonly Html[];
  /** Facts below the text. */
  readonly body?: Html;
  readonly actions?: readonly Html[];
}

/** What happened, what to do next, nothing else. */
export function messagePage(context: PageContext, t: Translator, page: MessagePage): string {
  const actions =
    page.actions === undefined || page.actions.length === 0
      ? undefined
      : html`<div class="actions">${page.actions}</div>`;
  const main = html`<div class="sign ${page.tone ?? 'neutral'}">${page.icon}</div>
<h1>${page.heading}</h1>
<div class="lead">${paragraphs(page.texts)}</div>
${page.body}
${actions}`;
  return layout(context, t, { title: page.title, main });
}
