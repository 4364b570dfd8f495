/** Finds out that the page is out of date, and then shows the current one. */
{
  const announcement = document.querySelector('[data-watch]');
  if (announcement !== null) {
    const { watch, page, phase, ended, see, timeUp } = announcement.dataset;
    const check = document.querySelector('form[data-check]');
    let delay = 2000;
    let remaining = 120;
    let timer;
    let isAsking = false;
    let hasInput = false;

    /** Whether the page is out of date; undefined if the gateway tells this browser nothing. */
    const ask = async () => {
      const options = { redirect: 'manual', cache: 'no-store', signal: AbortSignal.timeout(15_000) };
      // The form: as if the user pressed its button. It leads to another page when there is one.
      const response = await (check === null
        ? fetch(watch, options)
        : fetch(check.action, { method: 'POST', body: new URLSearchParams(new FormData(check)), ...options }));
      if (response.type === 'opaqueredirect') return true;
      if (response.status >= 500 || response.status === 429) return false;
      if (!response.ok) return undefined;
      return check === null && (await response.json()).phase !== phase;
    };

    const say = text => {
      const link = document.createElement('a');
      link.href = page;
      link.textContent = see;
      announcement.replaceChildren(`${text} `, link);
    };

    const showCurrent = () => {
      remaining = 0;
      if (hasInput) say(ended);
      else location.replace(page);
    };

    const next = async () => {
      clearTimeout(timer);
      if (document.hidden || isAsking || remaining === 0) return;
      isAsking = true;
      remaining -= 1;
      try {
        const isOver = await ask();
        if (isOver === undefined) remaining = 0;
        else if (isOver) showCurrent();
      } catch {
        // Offline: asks again later.
      }
      isAsking = false;
      delay = Math.min(delay * 1.5, 30_000);
      timer = setTimeout(next, delay);
    };

    timer = setTimeout(next, delay);
    addEventListener('input', () => {
      hasInput = true;
    });
    addEventListener('pageshow', event => {
      if (event.persisted) next();
    });
    document.addEventListener('visibilitychange', next);
    announcement.addEventListener('timeup', () => {
      // Nothing can be pressed or sent any more, also while the gateway does not answer.
      document.querySelector('[data-closes]')?.replaceChildren(announcement);
      say(timeUp);
      delay = 1000;
      next();
    });
  }
}
