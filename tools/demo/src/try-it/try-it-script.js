/** Shows what the host says, as it happens. All texts become text nodes. */
const make = (name, className, text) => {
  const element = document.createElement(name);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

const conversation = document.querySelector('#conversation');
const entryOf = ({ kind, title, lines, href }) => {
  const item = make('li', kind);
  item.append(make('strong', '', title), ...lines.map(line => make('p', '', line)));
  if (href !== undefined) {
    const link = make('a', 'open', kind === 'sign-in' ? 'Sign in' : 'Open the page');
    Object.assign(link, { href, target: '_blank', rel: 'noopener' });
    item.append(link);
  }
  return item;
};

/** How many lines of each log there were. Their number in the page stops growing: old lines are dropped. */
const totals = new Map();
const hasGone = (name, total) => {
  const goesOn = totals.get(name) !== total;
  totals.set(name, total);
  return goesOn;
};

const fill = (name, { total, lines }) => {
  if (!hasGone(name, total)) return;
  const list = document.querySelector(`#${name}`);
  list.replaceChildren(...lines.map(line => make('li', '', line)));
  list.scrollTop = list.scrollHeight;
};

const waitingTexts = {
  'sign-in': 'Waiting for your sign-in in the other tab',
  page: 'Waiting for you to finish on the page in the other tab',
  tool: 'Desk Helper is working',
};
const waiting = document.querySelector('#waiting');
const showWaiting = what => {
  const text = waitingTexts[what] ?? '';
  if (waiting.textContent !== text) waiting.textContent = text;
  waiting.hidden = text === '';
};

const refresh = async () => {
  try {
    const response = await fetch('/try-it/state', { cache: 'no-store' });
    const { conversation: said, waitingFor, messages, events, secrets } = await response.json();
    if (hasGone('conversation', said.total)) {
      conversation.replaceChildren(...said.lines.map(entryOf));
      conversation.lastElementChild?.scrollIntoView({ block: 'nearest' });
    }
    showWaiting(waitingFor);
    fill('messages', messages);
    fill('events', events);
    document.querySelector('#secrets').textContent =
      `${secrets.known} codes, tokens and keys exist by now. ${secrets.leaked} of them are in the ${messages.total} MCP messages and ${events.total} events so far.`;
  } catch {
    document.querySelector('#secrets').textContent = 'The demo has stopped.';
    showWaiting(undefined);
  }
  setTimeout(refresh, 700);
};

document.addEventListener('submit', async event => {
  event.preventDefault();
  await fetch(event.target.action, { method: 'POST' });
});
refresh();
