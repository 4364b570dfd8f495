/** Adds to each time its age and the time in the operator's time zone. Keeps a page with `data-live` up to date. */
{
  const language = document.documentElement.lang;
  const age = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' };
  const localTime = new Intl.DateTimeFormat(language, clock);
  const localDay = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', ...clock });

  const ageOf = ms => {
    const seconds = Math.round(ms / 1000);
    const size = Math.abs(seconds);
    if (size < 60) return age.format(seconds, 'second');
    if (size < 3600) return age.format(Math.trunc(seconds / 60), 'minute');
    if (size < 86_400) return age.format(Math.trunc(seconds / 3600), 'hour');
    return age.format(Math.trunc(seconds / 86_400), 'day');
  };

  const localOf = date => {
    if (date.getTimezoneOffset() === 0) return '';
    const isSameDay = date.getDate() === date.getUTCDate();
    return ` · ${(isSameDay ? localTime : localDay).format(date)}`;
  };

  const showTimes = () => {
    for (const time of document.querySelectorAll('time[datetime]')) {
      const date = new Date(time.dateTime);
      const text = ageOf(date - Date.now()) + localOf(date);
      const note = time.querySelector('small') ?? time.appendChild(document.createElement('small'));
      if (note.textContent !== text) note.textContent = text;
    }
  };

  showTimes();
  setInterval(showTimes, 15_000);

  const live = document.querySelector('[data-live]');
  const pause = document.querySelector('[data-pause]');
  const notice = document.querySelector('[data-stale]');
  let isPaused = false;
  let timer;

  /** Makes a node like another one, and keeps what is equal, so that focus, scroll positions and opened details stay. */
  const patch = (node, next) => {
    if (node.nodeName !== next.nodeName) {
      node.replaceWith(next);
      return;
    }
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.data !== next.data) node.data = next.data;
      return;
    }
    for (const { name } of [...node.attributes])
      if (!next.hasAttribute(name) && name !== 'open') node.removeAttribute(name);
    for (const { name, value } of next.attributes)
      if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    const before = [...node.childNodes];
    const after = [...next.childNodes];
    after.forEach((child, at) => {
      if (at < before.length) patch(before[at], child);
      else node.append(child);
    });
    for (const child of before.slice(after.length)) child.remove();
  };

  const plan = () => {
    clearTimeout(timer);
    const seconds = Number(live?.dataset.live);
    if (pause !== null) pause.hidden = !(seconds > 0);
    if (seconds > 0 && !isPaused && !document.hidden) timer = setTimeout(ask, seconds * 1000);
  };

  const ask = () => {
    const page = location.href.split('#')[0];
    const request = new XMLHttpRequest();
    request.open('GET', page);
    request.responseType = 'document';
    request.timeout = 30_000;
    request.addEventListener('loadend', () => {
      // A page of another address or status is not this one: the session has ended, or the console is not available.
      const isThisPage = request.status === 200 && request.responseURL === page;
      const next = isThisPage ? request.response?.querySelector('[data-live]') : null;
      if (next) {
        patch(live, next);
        showTimes();
      }
      notice.hidden = Boolean(next);
      const isRefused = request.status >= 400 && request.status < 500 && request.status !== 429;
      if (!isRefused) plan();
      else if (pause !== null) pause.hidden = true;
    });
    request.send();
  };

  pause?.addEventListener('click', () => {
    isPaused = !isPaused;
    pause.setAttribute('aria-pressed', String(isPaused));
    plan();
  });
  document.addEventListener('visibilitychange', plan);
  if (live !== null) plan();
}
