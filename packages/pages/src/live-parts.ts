/** Parts that only the script brings to life. Without it they are hidden or empty, and the page is complete. */

import { type Html, html } from './html.ts';
import type { Translator } from './translator.ts';

/** Lets the page find out that it is out of date. */
export interface WatchView {
  /** Path that answers `{ "phase": … }` to the person of this page. */
  readonly statusHref: string;
  /** Path of the current page. */
  readonly pageHref: string;
  /** What this page shows. Another phase in the answer means that the page is out of date. */
  readonly phase: string;
}

/** An empty live region. The script announces there that the time is up, or that the request has ended. */
export function watchPart(view: WatchView | undefined, t: Translator): Html | undefined {
  if (view === undefined) return undefined;
  return html`<div class="watch" role="status" data-watch="${view.statusHref}" data-page="${view.pageHref}" data-phase="${view.phase}" data-ended="${t.plain('live.ended')}" data-see="${t.plain('live.see')}" data-time-up="${t.plain('live.timeUp')}"></div>`;
}

/** A secret input with a button that shows it for a moment, and then hides it. `id` is that of the input. */
export function showable(input: Html, field: { readonly id: string; readonly label: Html }, t: Translator): Html {
  return html`<div class="showable">${input}<button class="button small" type="button" hidden data-show="${field.id}" data-hide="${t.plain('live.hide')}"><span>${t.html('live.show')}</span><span class="unseen"> ${field.label}</span></button></div>`;
}

/** A `code` element with a button that copies its text. */
export function copyable(code: Html, t: Translator): Html {
  return html`<span class="copyable">${code}<button class="button small" type="button" hidden data-copy="" data-done="${t.plain('live.copied')}">${t.html('live.copy')}</button><span class="unseen" role="status"></span></span>`;
}
