import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import type { Offers } from '../capabilities.ts';
import { type TryItStory, tryItStories } from './stories.ts';
import type { TryItHost } from './try-it-host.ts';

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
const script = read('try-it-script.js');
const style = read('try-it.css');
const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const headers = {
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src ${digest(style)}; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Texts of our own only: everything that a tool says reaches the page as JSON. */
const card = ({ id, title, text }: TryItStory) =>
  `<li><h3>${title}</h3><p>${text}</p><form method="post" action="/try-it/${id}"><button aria-label="Try it: ${title}">Try it</button></form></li>`;

const page = (
  stories: readonly TryItStory[],
  addresses: readonly (readonly [name: string, url: string])[],
) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Try Postern</title>
<style>${style}</style>
<script src="/try-it/script.js" defer></script>
</head>
<body>
<header><h1>Try Postern</h1>
<p>Tools that need what must never pass through MCP. You play Alice. The chat in the middle is what you would see in your app; on the right is what travels behind it.</p>${stories.length < tryItStories.length ? '<p>There is no Redis here: the terminal names what this demo leaves out.</p>' : ''}</header>
<main>
<section aria-labelledby="stories"><h2 id="stories">Try it</h2><ul class="cards">${stories.map(card).join('')}</ul></section>
<section aria-labelledby="chat"><h2 id="chat">Your app</h2><ol id="conversation" aria-live="polite"></ol><p id="waiting" role="status" hidden></p></section>
<section aria-labelledby="log"><h2 id="log">Behind it</h2>
<p id="secrets" role="status"></p>
<h3 id="messages-heading">MCP messages</h3><ol id="messages" class="log" tabindex="0" aria-labelledby="messages-heading"></ol>
<h3 id="events-heading">Events to the MCP server</h3><ol id="events" class="log" tabindex="0" aria-labelledby="events-heading"></ol></section>
</main>
<footer>${addresses.map(([name, url]) => `<a href="${url}">${name}</a>`).join(' ')}</footer>
</body>
</html>
`;

/** Serves the page at `/`, its script and state, and starts stories. Everything else is not found. */
export function tryItPages(p: {
  host: TryItHost;
  port: number;
  offers: Offers;
  addresses: readonly (readonly [name: string, url: string])[];
}): RequestListener {
  const stories = tryItStories.filter(({ needs }) => needs === undefined || p.offers(needs));
  const origin = `http://localhost:${p.port}`;
  return (request, response) => {
    const send = (status: number, type: string, body: string) =>
      response.writeHead(status, { ...headers, 'content-type': `${type}; charset=utf-8` }).end(body);
    const { method, url, headers: sent } = request;
    // A foreign name that resolves to this machine must not become an origin of its own (DNS rebinding).
    if (sent.host !== `localhost:${p.port}` && sent.host !== `127.0.0.1:${p.port}`)
      return send(403, 'text/plain', 'Forbidden.');
    if (method === 'GET' && url === '/') return send(200, 'text/html', page(stories, p.addresses));
    if (method === 'GET' && url === '/try-it/script.js') return send(200, 'text/javascript', script);
    if (method === 'GET' && url === '/try-it/state')
      return send(200, 'application/json', JSON.stringify(p.host.state()));
    const story = stories.find(({ id }) => url === `/try-it/${id}`);
    if (method !== 'POST' || story === undefined) return send(404, 'text/plain', 'Not found.');
    if (sent.origin !== origin && sent.origin !== `http://127.0.0.1:${p.port}`)
      return send(403, 'text/plain', 'Forbidden.');
    void p.host.start(story);
    // Without the script, the browser returns to the page.
    return response.writeHead(303, { ...headers, location: '/' }).end();
  };
}
