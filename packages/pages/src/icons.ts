import { type Html, html } from './html.ts';

/** Line icons, 24 by 24, hidden from screen readers. The stylesheet draws their lines. */
const draw = (paths: Html): Html =>
  html`<svg class="icon" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">${paths}</svg>`;

export const icons = {
  globe: draw(
    html`<circle cx="12" cy="12" r="8.5"/><path d="M3.5 12h17M12 3.5c2.3 2.4 3.4 5.2 3.4 8.5s-1.1 6.1-3.4 8.5c-2.3-2.4-3.4-5.2-3.4-8.5s1.1-6.1 3.4-8.5z"/>`,
  ),
  check: draw(html`<path d="m5 12.5 4.5 4.5L19 7.5"/>`),
  minus: draw(html`<path d="M6 12h12"/>`),
  clock: draw(html`<circle cx="12" cy="12" r="8.5"/><path d="M12 7.5V12l3 2"/>`),
  person: draw(
    html`<circle cx="12" cy="8.5" r="3.75"/><path d="M4.75 19.5c1.2-3.2 4-4.75 7.25-4.75s6.05 1.55 7.25 4.75"/>`,
  ),
  people: draw(
    html`<circle cx="9" cy="9" r="3.25"/><path d="M3 19c.9-2.9 3.2-4.25 6-4.25s5.1 1.35 6 4.25"/><path d="M15.5 5.9a3.25 3.25 0 0 1 0 6.2M18 15.2c1.5.7 2.5 2 3 3.8"/>`,
  ),
  shield: draw(
    html`<path d="M12 3.5 5 6v5.5c0 4.3 2.9 7.5 7 9 4.1-1.5 7-4.7 7-9V6z"/><path d="M12 8.5v4M12 15.75v.01"/>`,
  ),
  leaving: draw(
    html`<path d="M13.5 5H19v5.5M19 5l-8.5 8.5M10 5.5H6.5a1.5 1.5 0 0 0-1.5 1.5v10.5A1.5 1.5 0 0 0 6.5 19H17a1.5 1.5 0 0 0 1.5-1.5V14"/>`,
  ),
  search: draw(html`<circle cx="11" cy="11" r="6"/><path d="m15.5 15.5 4 4"/>`),
  hourglass: draw(
    html`<path d="M7 4h10M7 20h10M8 4v3.5c0 2 4 3.2 4 4.5s-4 2.5-4 4.5V20M16 4v3.5c0 2-4 3.2-4 4.5s4 2.5 4 4.5V20"/>`,
  ),
  alert: draw(html`<circle cx="12" cy="12" r="8.5"/><path d="M12 8v4.5M12 15.75v.01"/>`),
  warning: draw(html`<path d="M12 4 3 19.5h18z"/><path d="M12 10v4.5M12 17v.01"/>`),
  eye: draw(
    html`<path d="M2.75 12S6.25 6.25 12 6.25 21.25 12 21.25 12 17.75 17.75 12 17.75 2.75 12 2.75 12z"/><circle cx="12" cy="12" r="2.75"/>`,
  ),
  pencil: draw(html`<path d="m4.5 19.5.9-4.1L16.2 4.6l3.2 3.2L8.6 18.6z"/><path d="m13.9 6.9 3.2 3.2"/>`),
  bin: draw(html`<path d="M4.75 7h14.5M9.5 7V4.5h5V7M6.5 7l.75 12.5h9.5L17.5 7M10.25 10.75v5M13.75 10.75v5"/>`),
  key: draw(html`<circle cx="8" cy="15.5" r="3.75"/><path d="m10.75 12.75 8-8M15.5 8l2.75 2.75"/>`),
  list: draw(html`<path d="M9 6.5h10.5M9 12h10.5M9 17.5h10.5M4.75 6.5v.01M4.75 12v.01M4.75 17.5v.01"/>`),
  quote: draw(html`<path d="M5 6.5h14v9.5h-7l-4 3.5V16H5z"/>`),
} as const;
