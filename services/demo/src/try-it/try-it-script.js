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

const fill = (selector, lines) => {
  const list = document.querySelector(selector);
  const shown = list.childElementCount;
  if (lines.length === shown) return;
  list.replaceChildren(...lines.map(line => make('li', '', line)));
  list.scrollTop = list.scrollHeight;
};

const refresh = async () => {
  try {
    const { entries, messages, events, secrets } = await (await fetch('/try-it/state', { cache: 'no-store' })).json();
    if (conversation.childElementCount !== entries.length) {
      conversation.replaceChildren(...entries.map(entryOf));
      conversation.lastElementChild?.scrollIntoView({ block: 'nearest' });
    }
    fill('#messages', messages);
    fill('#events', events);
    document.querySelector('#secrets').textContent =
      `${secrets.known} codes, tokens and keys exist by now. ${secrets.leaked} of them are in the ${messages.length} MCP messages and ${events.length} events below.`;
  } catch {
    document.querySelector('#secrets').textContent = 'The demo has stopped.';
  }
  setTimeout(refresh, 700);
};

document.addEventListener('submit', async event => {
  event.preventDefault();
  await fetch(event.target.action, { method: 'POST' });
});
refresh();
