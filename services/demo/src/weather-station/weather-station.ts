import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Brand, brandedPage, pageHeaders } from '@postern/openid-server';
import { type HttpListener, listenHttp } from '../listen-http.ts';

export const WEATHER_STATION = 'Weather Station';

/** The API and the check of credentials both read the key from this header. */
export const API_KEY_HEADER = 'X-Api-Key';

const brand: Brand = {
  name: WEATHER_STATION,
  tagline: 'Tomorrow’s weather, by API key',
  accent: '#1d5f63',
  scopeTexts: {},
};

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
    return brandedPage(
      brand,
      'API keys',
      `${people.join('\n')}\n<p class="muted">In this demo, everyone sees all keys.</p>`,
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
