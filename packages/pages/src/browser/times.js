/** Writes times in the reader's time zone, and how much time is left. */
{
  const language = document.documentElement.lang;
  // As in times.ts.
  const date = { year: 'numeric', month: 'long', day: 'numeric' };
  const clock = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' };
  const styles = {
    day: date,
    date: { ...date, month: 'short' },
    clock,
    moment: { ...date, ...clock },
    stamp: { ...date, month: 'short', ...clock },
  };

  for (const time of document.querySelectorAll('time[data-style]'))
    time.textContent = new Intl.DateTimeFormat(language, styles[time.dataset.style]).format(new Date(time.dateTime));

  const announcement = document.querySelector('[data-watch]');
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'always' });

  const textOf = seconds => {
    if (seconds < 60) return format.format(seconds, 'second');
    if (seconds < 7200) return format.format(Math.floor(seconds / 60), 'minute');
    return format.format(Math.floor(seconds / 3600), 'hour');
  };

  for (const countdown of document.querySelectorAll('[data-left]')) {
    // The seconds left are of the gateway: the clock of this device may be wrong, but it measures durations.
    const end = Date.now() + Number(countdown.dataset.left) * 1000;
    let wasLong = Number(countdown.dataset.left) >= 60;

    const tick = setInterval(() => {
      const seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
      const text = textOf(seconds);
      if (countdown.textContent !== text) countdown.textContent = text;
      if (seconds === 0) clearInterval(tick);
      if (announcement === null) return;
      if (seconds < 60 && wasLong) announcement.textContent = countdown.closest('p').textContent;
      wasLong = seconds >= 60;
      if (seconds > 0) return;
      announcement.dispatchEvent(new Event('timeup'));
    }, 1000);
  }

  // The next page then comes in this time zone. The gateway writes the language of the same cookie.
  const name = location.protocol === 'https:' ? '__Host-postern_view' : 'postern_view';
  const [, written = ''] = document.cookie.match(new RegExp(`(?:^|; )${name}=([^;]*)`)) ?? [];
  const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const choices = [...written.split('&').filter(part => part.startsWith('lang=')), `tz=${zone}`].join('&');
  const flags = `path=/; max-age=31536000; samesite=lax${name === 'postern_view' ? '' : '; secure'}`;
  // biome-ignore lint/suspicious/noDocumentCookie: older browsers have no Cookie Store
  if (choices !== written) document.cookie = `${name}=${choices}; ${flags}`;
}
