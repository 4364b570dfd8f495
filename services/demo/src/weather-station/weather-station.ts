import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpListener, listenHttp } from '../listen-http.ts';
import { brandedPage, type ProviderBrand, pageHeaders } from '../oidc/provider-pages.ts';

export const WEATHER_STATION = 'Weather Station';

/** Of the API that needs a key, and of the live check. */
export const API_KEY_HEADER = 'X-Api-Key';

const brand: ProviderBrand = {
  name: WEATHER_STATION,
  tagline: 'Tomorrow’s weather, by API key',
  accent: '#1d5f63',
  scopeTexts: {},
};

export interface WeatherStation extends HttpListener {
  readonly url: string;
  /** Every key that was ever good for something. None of them belongs into MCP. */
  readonly issuedKeys: () => ReadonlySet<string>;
  /** How many forecasts were given to this person. */
  readonly forecastsFor: (person: string) => number;
}

/** An API that knows one key per person, and a page where people find theirs. */
export async function startWeatherStation(p: {
  port: number;
  people: readonly { readonly id: string; readonly name: string }[];
}): Promise<WeatherStation> {
  const issued = new Set<string>();
  const keys = new Map<string, string>();
  const forecasts = new Map<string, number>();
  for (const { id } of p.people) replaceKey(id);

  function replaceKey(person: string): void {
    const key = `ws_${randomBytes(24).toString('base64url')}`;
    issued.add(key);
    keys.set(person, key);
  }

  function personOf({ headers }: IncomingMessage): string | undefined {
    const key = headers[API_KEY_HEADER.toLowerCase()];
    return p.people.find(({ id }) => keys.get(id) === key)?.id;
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
      ({ id, name }) =>
        `<h2>${name}</h2>\n<p><code id="key-${id}">${keys.get(id)}</code></p>\n` +
        `<form method="post" action="/keys/${id}"><button>Replace the key of ${name}</button></form>`,
    );
    return brandedPage(
      brand,
      'API keys',
      `${people.join('\n')}\n<p class="muted">This is a demo: everybody sees every key.</p>`,
    );
  }

  const listener = await listenHttp(p.port, (request, response) => {
    const target = new URL(request.url ?? '/', 'http://localhost');
    const replaced = p.people.find(({ id }) => target.pathname === `/keys/${id}`);
    if (target.pathname.startsWith('/api/') && request.method === 'GET') {
      answerApi(request, response, target);
    } else if (replaced !== undefined && request.method === 'POST') {
      replaceKey(replaced.id);
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
