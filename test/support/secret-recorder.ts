import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TestProvider } from '@postern/testkit/providers';
import type { RawAnswer, RawBrowser } from './raw-browser.ts';

/** A secret that must not be found anywhere, and where it was seen on the wire. */
export interface Secret {
  readonly kind: string;
  readonly value: string;
}

export interface Leak {
  readonly sink: string;
  readonly kind: string;
}

/** Records every secret that really occurred, and the requests and responses of browsers. */
export interface SecretRecorder extends Disposable {
  readonly secrets: () => readonly Secret[];
  readonly note: (kind: string, value: string | null | undefined) => void;
  /** Watches requests to this provider and its responses. */
  watchProvider(name: string, provider: TestProvider): void;
  /** Watches the cookies and form tokens that the gateway at this address issues. */
  watchGateway(address: string): void;
  watchBrowser(browser: RawBrowser): RawBrowser;
  /** Targets that browsers requested of the gateway. */
  readonly targets: readonly string[];
  readonly pages: readonly string[];
}

/** Shorter values would produce false matches. */
const MIN_LENGTH = 12;
/** User codes are shorter, but have a hyphen in the middle (RFC 8628 section 6.1), which rarely occurs by chance. */
const MIN_USER_CODE_LENGTH = 9;

const SECRET_PARAMETERS: ReadonlySet<string> = new Set([
  'client_assertion',
  'client_secret',
  'code',
  'code_verifier',
  'device_code',
  'nonce',
  'refresh_token',
  'state',
  'token',
  'user_code',
]);

export function createSecretRecorder(): SecretRecorder {
  const secrets = new Map<string, string>();
  const targets: string[] = [];
  const pages: string[] = [];
  const watchedGateways = new Set<number>();
  const watchedProviders = new Map<number, { of: string; provider: TestProvider }>();
  const note = (kind: string, value: string | null | undefined): void => {
    const atLeast = kind.endsWith(' user_code') ? MIN_USER_CODE_LENGTH : MIN_LENGTH;
    if (typeof value === 'string' && value.length >= atLeast && !secrets.has(value)) secrets.set(value, kind);
  };

  function noteParameters(parameters: Iterable<[string, string]>, of: string): void {
    for (const [name, value] of parameters) if (SECRET_PARAMETERS.has(name)) note(`${of} ${name}`, value);
  }

  function noteGiven(setCookies: readonly string[], body: string): void {
    for (const line of setCookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      note(`cookie ${name}`, decodeURIComponent(value));
    }
    note('CSRF token', /name="csrf_token" value="([^"]+)"/.exec(body)?.[1]);
  }

  function noteAnswer(answer: RawAnswer): void {
    pages.push(answer.body);
    noteGiven(answer.setCookies, answer.body);
  }

  /** Watches a provider's responses: tokens in JSON, codes and states in redirects. */
  function onRequest(message: unknown): void {
    const { response, server } = message as { request: IncomingMessage; response: ServerResponse; server: Server };
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const watched = watchedProviders.get(port);
    const isGateway = watchedGateways.has(port);
    if (watched === undefined && !isGateway) return;
    const { end, writeHead } = response;
    // fastify passes its headers here instead of setting them one by one.
    if (isGateway)
      response.writeHead = ((...args: Parameters<typeof writeHead>) => {
        for (const headers of args)
          if (typeof headers === 'object' && 'set-cookie' in headers)
            noteGiven([headers['set-cookie'] ?? []].flat().map(String), '');
        return writeHead.apply(response, args);
      }) as typeof writeHead;
    response.end = ((...args: Parameters<typeof end>) => {
      const [body] = args as unknown[];
      if (isGateway) noteGiven([], String(body ?? ''));
      if (watched === undefined) return end.apply(response, args);
      const location = response.getHeader('location');
      if (typeof location === 'string')
        noteParameters(new URL(location, watched.provider.issuer).searchParams, watched.of);
      if (typeof body === 'string' || Buffer.isBuffer(body)) noteTokens(String(body), watched.of);
      return end.apply(response, args);
    }) as typeof end;
  }
  subscribe('http.server.request.start', onRequest);

  function noteTokens(body: string, of: string): void {
    for (const [, name, value] of body.matchAll(
      /"((?:access|refresh|id|registration_access)_token|device_code|user_code|client_secret)":"([^"]+)"/g,
    ))
      note(`${of} ${name}`, value);
  }

  /** Watches the requests to a provider, from its own log. */
  function noteRequests(): void {
    for (const { of, provider } of watchedProviders.values()) {
      for (const { url, form, headers } of provider.requests()) {
        noteParameters(url.searchParams, of);
        noteParameters(Object.entries(form), of);
        note(`${of} credentials`, headers['authorization']?.toString().replace(/^\S+ /, ''));
        note(`${of} DPoP proof`, headers['dpop']?.toString());
      }
    }
  }

  return {
    secrets: () => {
      noteRequests();
      return [...secrets].map(([value, kind]) => ({ value, kind }));
    },
    note,
    targets,
    pages,
    watchGateway: address => void watchedGateways.add(Number(new URL(address).port)),
    watchProvider: (of, provider) => void watchedProviders.set(provider.port, { of, provider }),
    [Symbol.dispose]: () => void unsubscribe('http.server.request.start', onRequest),

    watchBrowser(browser) {
      const { get, post } = browser;
      const watched =
        (send: RawBrowser['get']): RawBrowser['get'] =>
        async (target, request) => {
          targets.push(target instanceof URL ? `${target.pathname}${target.search}` : target);
          const answer = await send(target, request);
          noteAnswer(answer);
          return answer;
        };
      return Object.assign(browser, { get: watched(get), post: watched(post) });
    },
  };
}

/** Decodes runs of base64 or base64url, each once. */
function decoded(text: string): string {
  return [...new Set(text.match(/[A-Za-z0-9+/_-]{16,}/g))]
    .map(run => Buffer.from(run, 'base64').toString('latin1'))
    .join('\n');
}

/** Returns where a secret of which kind is readable: plain, percent-encoded, in JSON, or in base64 of any of these. */
export function findLeaks(sinks: Readonly<Record<string, string>>, secrets: readonly Secret[]): Leak[] {
  const leaks: Leak[] = [];
  for (const [sink, text] of Object.entries(sinks)) {
    const haystack = `${text}\n${decoded(text)}`;
    for (const { kind, value } of secrets) {
      // Mostly the same.
      const forms = new Set([value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]);
      if ([...forms].some(form => haystack.includes(form))) leaks.push({ sink, kind });
    }
  }
  return leaks;
}
