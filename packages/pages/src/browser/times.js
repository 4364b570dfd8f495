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
      const seconds = Math.max(0, Math.floor((end - Date.now()) / 1000));
      const text = textOf(seconds);
      if (countdown.textContent !== text) countdown.textContent = text;
      if (seconds === 0) clearInterval(tick);
      if (announcement === null) return;
      if (seconds < 60 && wasLong) announcement.textContent = countdown.closest('p').textContent;
      wasLong = seconds >= 60;
      if (seconds > 0) return;
      announcement.textContent = announcement.dataset.timeUp;
      announcement.dispatchEvent(new Event('timeup'));
    }, 1000);
  }
}
