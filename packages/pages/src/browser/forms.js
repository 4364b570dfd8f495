/** Sends one form at a time, and shows which button is busy. */
{
  let timer;

  const release = () => {
    clearTimeout(timer);
    timer = undefined;
    for (const button of document.querySelectorAll('[aria-busy]')) button.removeAttribute('aria-busy');
  };

  document.addEventListener('submit', event => {
    if (event.defaultPrevented || event.target.method !== 'post') return;
    if (timer !== undefined) {
      event.preventDefault();
      return;
    }
    event.submitter?.setAttribute('aria-busy', 'true');
    // The user stopped the request, or the answer was a download: the page is still here.
    timer = setTimeout(release, 10_000);
  });

  // Also when the browser restores the page from its cache.
  addEventListener('pageshow', release);
}
