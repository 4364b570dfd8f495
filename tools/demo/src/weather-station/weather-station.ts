import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Brand, brandedPage, pageHeaders } from '@postern/openid-server';
import { type HttpListener, listenHttp } from '../listen-http.ts';

export const WEATHER_STATION = 'Weather Station';

/** The API and the check of credentials both read the key from this header. */
export const API_KEY_HEADER = 'X-Api-Key';

const brand: Brand = {
  name: WEATHER_STATION,
  tagline: 'Forecasts by API key',
  accent: '#1d5f63',
  mark: '<circle cx="9" cy="8.5" r="3"/><path d="M9 2.5v1M3.5 8.5h-1M4.9 4.4l.7.7M13.1 4.4l-.7.7M8 19.5h9a3.5 3.5 0 0 0 .4-7 5 5 0 0 0-9.4 1.2A3 3 0 0 0 8 19.5z"/>',
  headingFont: 'ui-rounded, "Hiragino Maru Gothic ProN", system-ui, sans-serif',
  scopeTexts: {},
};

const stroke = 'fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" aria-hidden="true"';
const cloud = '<path d="M7 16.5h10a3.5 3.5 0 0 0 .4-7 5.5 5.5 0 0 0-10.7 1A3 3 0 0 0 7 16.5z"/>';

/** Weather of a place that does not exist. */
const outlook = [
  { day: 'Today', sky: `${cloud}<path d="M8 19.5h8M6 22h9"/>`, text: 'Fog, 9 °C' },
  {
    day: 'Tomorrow',
    sky: '<circle cx="12" cy="12" r="4.5"/><path d="M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1 1M17.4 17.4l1 1M5.6 18.4l1-1M17.4 6.6l1-1"/>',
    text: 'Sun, 14 °C',
  },
  { day: 'Then', sky: `${cloud}<path d="M9 19l-1 2.5M13 19l-1 2.5M17 19l-1 2.5"/>`, text: 'Rain, 11 °C' },
];

export interface WeatherStation extends HttpListener {
  readonly url: string;
  /** All keys issued so far. None may appear in MCP messages. */
  readonly issuedKeys: () => ReadonlySet<string>;
  /** Number of forecasts that this person received. */
  readonly forecastsFor: (person: string) => number;
}

/** Starts an API with one key per person, and a page that shows the keys. */
export async function startWeatherStation(p: {
  port: number;
  people: readonly { readonly sub: string; readonly name: string }[];
}): Promise<WeatherStation> {
  const issued = new Set<string>();
  const keys = new Map<string, string>();
  const forecasts = new Map<string, number>();
  for (const { sub } of p.people) replaceKey(sub);

  function replaceKey(person: string): void {
    const key = `ws_${randomBytes(24).toString('base64url')}`;
    issued.add(key);
    keys.set(person, key);
  }

  function personOf({ headers }: IncomingMessage): string | undefined {
    const key = headers[API_KEY_HEADER.toLowerCase()];
    return p.people.find(({ sub }) => keys.get(sub) === key)?.sub;
  }

  function answerApi(request: IncomingMessage, response: ServerResponse, target: URL): void {
    const person = personOf(request);
    const place = target.searchParams.get('place');
    if (person === undefined) {
      sendJson(response, 401, { error: 'invalid_key' });
    } else if (target.pathname === '/api/key') {
      sendJson(response, 200, { person });
    } else if (target.pathname === '/api/forecast' && place !== null) {
      forecasts.set(person, (forecasts.get(person) ?? 0) + 1);
      sendJson(response, 200, { place, summary: 'fog at first, then sun, 14 °C' });
    } else {
      sendJson(response, 404, { error: 'not_found' });
    }
  }

  function keysPage(): string {
    const people = p.people.map(
      ({ sub, name }) =>
        `<h2>${name}</h2>\n<p><code id="key-${sub}">${keys.get(sub)}</code></p>\n` +
        `<form method="post" action="/keys/${sub}"><button>Replace the key of ${name}</button></form>`,
    );
    const days = outlook.map(
      ({ day, sky, text }) =>
        `<li><b>${day}</b><svg viewBox="0 0 24 24" ${stroke}>${sky}</svg><span>${text}</span></li>`,
    );
    return brandedPage(
      brand,
      'Tomorrow’s weather, for programs',
      `<ul class="days">${days.join('')}</ul>
<p>Forecasts for every place, at <code>/api/forecast</code>. Each request carries an API key.</p>
${people.join('\n')}\n<p class="muted">In this demo, everyone sees all keys.</p>`,
      'wide',
    );
  }

  const listener = await listenHttp(p.port, (request, response) => {
    const target = new URL(request.url ?? '/', 'http://localhost');
    const replaced = p.people.find(({ sub }) => target.pathname === `/keys/${sub}`);
    if (target.pathname.startsWith('/api/') && request.method === 'GET') {
      answerApi(request, response, target);
    } else if (replaced !== undefined && request.method === 'POST') {
      replaceKey(replaced.sub);
      response.writeHead(303, { location: '/' }).end();
    } else if (target.pathname === '/' && request.method === 'GET') {
      response.writeHead(200, pageHeaders(brand)).end(keysPage());
    } else {
      sendJson(response, 404, { error: 'not_found' });
    }
  });
  return {
    ...listener,
    url: `http://localhost:${listener.port}`,
    issuedKeys: () => issued,
    forecastsFor: person => forecasts.get(person) ?? 0,
  };
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body));
}
