/** Shows a secret for a moment, copies a code, and chooses the time zone of a local time. */

for (const button of document.querySelectorAll('[data-show]')) {
  const field = document.getElementById(button.dataset.show);
  const name = button.firstElementChild;
  const label = name.textContent;
  let isOpen = false;
  let timer;

  const show = isShown => {
    clearTimeout(timer);
    if (field.type === 'textarea') field.classList.toggle('masked', !isShown);
    else field.type = isShown ? 'text' : 'password';
    isOpen = isShown;
    // The name says what the button does next; a state in addition would contradict it.
    name.textContent = isShown ? button.dataset.hide : label;
    if (isShown) timer = setTimeout(() => show(false), 10_000);
  };

  button.addEventListener('click', () => show(!isOpen));
  // Before the form is sent: browsers keep the values of text fields. And before the user looks at something else.
  addEventListener('submit', () => show(false), true);
  document.addEventListener('visibilitychange', () => show(false));
  button.hidden = false;
}

// Undefined on plain http, except for loopback addresses.
for (const button of navigator.clipboard === undefined ? [] : document.querySelectorAll('[data-copy]')) {
  const announcement = button.nextElementSibling;
  const label = button.textContent;
  let timer;

  button.addEventListener('click', async () => {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent.trim());
    } catch {
      // The browser refuses: the code is selected, so that the user can copy it.
      getSelection().selectAllChildren(code);
      return;
    }
    clearTimeout(timer);
    button.textContent = announcement.textContent = button.dataset.done;
    timer = setTimeout(() => {
      button.textContent = label;
      announcement.textContent = '';
    }, 3000);
  });
  button.hidden = false;
}

for (const select of document.querySelectorAll('select[data-zone]')) {
  const time = select.previousElementSibling;

  // The offset at the chosen time, which daylight saving changes.
  const choose = () => {
    const minutes = -(time.value === '' ? new Date() : new Date(time.value)).getTimezoneOffset();
    const [hours, rest] = [Math.abs(minutes) / 60, Math.abs(minutes) % 60].map(part =>
      String(Math.floor(part)).padStart(2, '0'),
    );
    const offset = minutes === 0 ? 'Z' : `${minutes < 0 ? '-' : '+'}${hours}:${rest}`;
    if ([...select.options].some(({ value }) => value === offset)) select.value = offset;
  };

  time.addEventListener('input', choose);
  select.addEventListener('change', () => time.removeEventListener('input', choose));
  choose();
}
