import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { paragraphs } from './parts.ts';
import type { Translator } from './translator.ts';
import type { PageContext } from './views.ts';

/** Content of a page without a decision. */
export interface MessagePage {
  readonly title: string;
  readonly icon: Html;
  readonly tone?: 'good' | 'caution' | undefined;
  readonly heading: Html;
  readonly texts: readonly Html[];
  /** Facts below the text. */
  readonly body?: Html | undefined;
  readonly actions?: readonly Html[];
}

/** Renders what happened and what to do next. */
export function messagePage(context: PageContext, t: Translator, page: MessagePage): string {
  const { actions: buttons = [] } = page;
  const actions = buttons.length === 0 ? undefined : html`<div class="actions">${buttons}</div>`;
  const main = html`<div class="sign ${page.tone ?? 'neutral'}">${page.icon}</div>
<h1>${page.heading}</h1>
<div class="lead">${paragraphs(page.texts)}</div>
${page.body}
${actions}`;
  return layout(context, t, { title: page.title, main });
}
