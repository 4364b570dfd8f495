import { type Html, html, ownText } from './html.ts';
import type { Translator } from './translator.ts';

const date = { year: 'numeric', month: 'long', day: 'numeric' } as const;
const clock = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
const styles = {
  day: date,
  date: { ...date, month: 'short' },
  clock,
  moment: { ...date, ...clock },
  stamp: { ...date, month: 'short', ...clock },
} as const;

/**
 * Formats a time for the locale: a day, a time of day, or both, in full for a sentence and short for a list. A
 * time of day always includes its zone, because the gateway may not know the reader's. The script writes the same in the
 * zone of the browser.
 */
export function timeText(at: Date, style: keyof typeof styles, t: Translator): Html {
  const format = new Intl.DateTimeFormat(t.locale, { ...styles[style], timeZone: t.timeZone });
  return html`<time data-style="${style}" datetime="${at.toISOString()}">${ownText(format.format(at))}</time>`;
}

/**
 * Formats an RFC 3339 time in its own offset, with seconds if they are not zero.
 *
 * @throws TypeError for any other format
 */
export function offsetTimeText(written: string, t: Translator): Html {
  const at = new Date(written);
  const zone = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/i.exec(written)?.[1];
  if (zone === undefined || Number.isNaN(at.getTime())) throw new TypeError('not an RFC 3339 time');
  const timeZone = zone.toUpperCase() === 'Z' || zone === '-00:00' ? 'UTC' : zone;
  const exact = at.getUTCSeconds() === 0 ? {} : ({ second: '2-digit' } as const);
  const format = new Intl.DateTimeFormat(t.locale, { ...styles.moment, ...exact, timeZone });
  return html`<time datetime="${at.toISOString()}">${ownText(format.format(at))}</time>`;
}

export interface Deadline {
  readonly expiresAt: Date;
  /** The time of this response; with it the page also says how much time is left. */
  readonly now?: Date;
}

/** Formats an expiry. */
export function deadline({ expiresAt, now }: Deadline, what: 'decision' | 'device', t: Translator): Html {
  const secondsLeft = now === undefined ? Number.POSITIVE_INFINITY : (expiresAt.getTime() - now.getTime()) / 1000;
  if (secondsLeft >= 12 * 3600) return t.html(`${what}.ends`, { time: timeText(expiresAt, 'moment', t) });
  return t.html(`${what}.endsSoon`, {
    // Rounded up: when the script has counted to zero, the gateway agrees.
    relative: timeLeft(Math.ceil(Math.max(0, secondsLeft)), t),
    time: timeText(expiresAt, 'clock', t),
  });
}

/** The script counts down from `data-left`, in seconds. */
function timeLeft(seconds: number, t: Translator): Html {
  return html`<span data-left="${String(seconds)}">${ownText(relativeTime(seconds, t))}</span>`;
}

function relativeTime(seconds: number, t: Translator): string {
  const format = new Intl.RelativeTimeFormat(t.locale, { numeric: 'always' });
  if (seconds < 60) return format.format(seconds, 'second');
  if (seconds < 7200) return format.format(Math.floor(seconds / 60), 'minute');
  return format.format(Math.floor(seconds / 3600), 'hour');
}

/** A duration in whole hours, as the locale writes it. */
export const hoursText = (hours: number, t: Translator): Html => durationText(hours, 'hour', t);

/** A duration in whole days, as the locale writes it. */
export const daysText = (days: number, t: Translator): Html => durationText(days, 'day', t);

const durationText = (value: number, unit: 'hour' | 'day', t: Translator): Html =>
  ownText(new Intl.NumberFormat(t.locale, { style: 'unit', unit, unitDisplay: 'long' }).format(value));
