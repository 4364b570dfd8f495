/** Writes times in the reader's time zone, and how much time is left. */
{
  const language = document.documentElement.lang;
  // As in times.ts.
  const date = { year: 'numeric', month: 'long', day: 'numeric' };
  const clock = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' };
  const styles = { day: date, clock, moment: { ...date, ...clock }, stamp: { ...date, month: 'short', ...clock } };

  for (const time of document.querySelectorAll('time[data-style]'))
    time.textContent = new Intl.DateTimeFormat(language, styles[time.dataset.style]).format(new Date(time.dateTime));

  const countdown = document.querySelector('[data-left]');
  if (countdown !== null) {
    // The seconds left are of the gateway: the clock of this device may be wrong, but it measures durations.
    const end = Date.now() + Number(countdown.dataset.left) * 1000;
    const format = new Intl.RelativeTimeFormat(language, { numeric: 'always' });
    const announcement = document.querySelector('[data-watch]');
    let isAnnounced = end - Date.now() < 60_000;

    const textOf = seconds => {
      if (seconds < 60) return format.format(seconds, 'second');
      if (seconds < 7200) return format.format(Math.floor(seconds / 60), 'minute');
      return format.format(Math.floor(seconds / 3600), 'hour');
    };

    const tick = setInterval(() => {
      const seconds = Math.max(0, Math.floor((end - Date.now()) / 1000));
      const text = textOf(seconds);
      if (countdown.textContent !== text) countdown.textContent = text;
      if (seconds < 60 && !isAnnounced) {
        isAnnounced = true;
        if (announcement !== null) announcement.textContent = countdown.closest('p').textContent;
      }
      if (seconds > 0) return;
      clearInterval(tick);
      if (announcement === null) return;
      announcement.textContent = announcement.dataset.timeUp;
      announcement.dispatchEvent(new Event('timeup'));
    }, 1000);
  }
}
