import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { createCookieJar, type DriveOptions, driveAuthorization } from '@postern/testkit/providers';

export interface RawRequest {
  /** Sent urlencoded; a string is sent unchanged. */
  readonly form?: Readonly<Record<string, string>> | string;
  /** Overrides of the headers of a browser; `undefined` removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Pairs of header names and values as received. */
  readonly rawHeaders: readonly string[];
  readonly setCookies: readonly string[];
  readonly location: string | undefined;
  readonly body: string;
}

/** A browser without an engine: one cookie jar, and full control over every request. */
export interface RawBrowser {
  /** Cookies of the gateway by name. A test may read, set and delete them. */
  readonly cookies: Map<string, string>;
  request(method: string, target: string | URL, request?: RawRequest): Promise<RawAnswer>;
  get(target: string | URL, request?: RawRequest): Promise<RawAnswer>;
  post(target: string | URL, request?: RawRequest): Promise<RawAnswer>;
  /** Signs in up to the identity provider's response. @returns the callback URL at the gateway, not yet requested */
  signInAnswer(elicitationId: string, user: string): Promise<URL>;
  /** Signs in completely. @throws if the gateway refuses */
  signIn(elicitationId: string, user: string): Promise<RawAnswer>;
  /** Signs in again as the user of the last {@link signIn}, as the gateway demands. @throws before a first sign-in */
  signInAgain(loginPath: string): Promise<RawAnswer>;
  /** The synchronizer token on the page of an elicitation. */
  csrfToken(elicitationId: string): Promise<string>;
  /** Form data of the page's accepting button. */
  acceptForm(elicitationId: string): Promise<Record<string, string>>;
  /** Accepts and follows to the leaving page. @returns the provider's authorization URL */
  accept(elicitationId: string): Promise<URL>;
  /** Signs in at the provider and decides there. @returns the callback URL, not yet requested */
  decideAtProvider(
    authorizationUrl: URL,
    account: string,
    options?: Pick<DriveOptions, 'decision' | 'grantScopes'>,
  ): Promise<URL>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 128 });

export interface RawBrowserOptions {
  /** Address of the gateway. A function is called for every request, like a load balancer. */
  readonly address: string | (() => string);
  readonly publicUrl: string;
  /** How long this user waits for a response. Default: no limit. */
  readonly timeoutMs?: number;
  /** False for one person's gateway, where only the pages of the person need a sign-in. Default true. */
  readonly signsIn?: boolean;
}

export function createRawBrowser(p: RawBrowserOptions): RawBrowser {
  const cookies = new Map<string, string>();
  const elsewhere = createCookieJar();
  let lastUser: string | undefined;

  function keep(setCookies: readonly string[]): void {
    for (const line of setCookies) {
      const [pair = '', ...attributes] = line.split(';').map(part => part.trim());
      const at = pair.indexOf('=');
      const isRemoval = attributes.some(part => /^max-age=0$/i.test(part) || /^expires=thu, 01 jan 1970/i.test(part));
      if (isRemoval) cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
  }

  function request(method: string, target: string | URL, { form, headers = {} }: RawRequest = {}): Promise<RawAnswer> {
    const path = target instanceof URL ? `${target.pathname}${target.search}` : target;
    const body = form === undefined || typeof form === 'string' ? form : new URLSearchParams(form).toString();
    const sent: Record<string, string | undefined> = {
      host: new URL(p.publicUrl).host,
      accept: 'text/html,application/xhtml+xml',
      'accept-language': 'en-GB',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
      'sec-fetch-site': method === 'POST' ? 'same-origin' : 'none',
      origin: method === 'POST' ? p.publicUrl : undefined,
      cookie: cookies.size === 0 ? undefined : [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'content-type': body === undefined ? undefined : 'application/x-www-form-urlencoded',
      'content-length': body === undefined ? undefined : String(Buffer.byteLength(body)),
      ...headers,
    };
    const listener = new URL(typeof p.address === 'string' ? p.address : p.address());
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    const outgoing = httpRequest(
      {
        agent,
        host: listener.hostname,
        port: listener.port,
        method,
        path,
        headers: Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)),
      },
      incoming => {
        const chunks: Buffer[] = [];
        incoming.on('data', chunk => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const setCookies = incoming.headers['set-cookie'] ?? [];
          keep(setCookies);
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            rawHeaders: incoming.rawHeaders,
            setCookies,
            location: incoming.headers.location,
            body: Buffer.concat(chunks).toString('utf8'),
          });
        });
      },
    );
    outgoing.on('error', reject);
    if (p.timeoutMs !== undefined)
      outgoing.setTimeout(p.timeoutMs, () => outgoing.destroy(new Error('no response in time')));
    outgoing.end(body);
    return promise;
  }

  async function answerAt(loginPath: string, user: string): Promise<URL> {
    const { location, status } = await raw.get(loginPath);
    if (location === undefined) throw new Error(`sign-in did not start: ${status}`);
    return driveAuthorization(location, user, { jar: createCookieJar() });
  }

  const raw: RawBrowser = {
    cookies,
    request,
    get: (target, options) => request('GET', target, options),
    post: (target, options) => request('POST', target, { form: {}, ...options }),

    signInAnswer: (elicitationId, user) => answerAt(`/login?e=${elicitationId}`, user),

    async signInAgain(loginPath) {
      if (lastUser === undefined) throw new Error('no user has signed in');
      const answer = await raw.get(await answerAt(loginPath, lastUser));
      if (answer.status !== 303) throw new Error(`sign-in was refused: ${answer.status}`);
      return answer;
    },

    async signIn(elicitationId, user) {
      if (p.signsIn === false) {
        const { location } = await raw.get('/login?to=me');
        if (location !== undefined) await raw.get(await driveAuthorization(location, user, { jar: createCookieJar() }));
        return raw.get(`/e/${elicitationId}`);
      }
      lastUser = user;
      for (let times = 1; ; times += 1) {
        const answer = await raw.get(await raw.signInAnswer(elicitationId, user));
        if (answer.status !== 303) throw new Error(`sign-in was refused: ${answer.status}`);
        // A page that needs a fresh sign-in demands one as soon as it knows the user.
        if (times === 2 || answer.location !== `/login?e=${elicitationId}`) return answer;
      }
    },

    async csrfToken(elicitationId) {
      return csrfTokenIn(await raw.get(`/e/${elicitationId}`));
    },

    async acceptForm(elicitationId) {
      return acceptFormIn(await raw.get(`/e/${elicitationId}`));
    },

    async accept(elicitationId) {
      const form = await raw.acceptForm(elicitationId);
      const accepted = await raw.post(`/e/${elicitationId}/accept`, { form });
      if (accepted.location === undefined) throw new Error(`accepting was refused: ${accepted.status}`);
      return destinationIn(await raw.get(accepted.location));
    },

    decideAtProvider: (authorizationUrl, account, options = {}) =>
      driveAuthorization(authorizationUrl, account, { jar: elsewhere, ...options }),
  };
  return raw;
}

/** Without the ceremony of a passkey, if the page has one. @throws if the page has no decision */
export function acceptFormIn(page: RawAnswer): Record<string, string> {
  const form =
    /<form method="post" action="[^"]*\/accept"[^>]*>(.*?)<\/form>/s.exec(page.body)?.[1] ??
    /<form class="needs-script" method="post" action="[^"]*\/passkey"[^>]*>(.*?)<input type="hidden" name="ceremony"/s.exec(
      page.body,
    )?.[1];
  if (form === undefined) throw new Error(`the page has no decision: ${page.status}`);
  return Object.fromEntries(
    [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
}

/** @throws if the page has no form */
export function csrfTokenIn(page: RawAnswer): string {
  const token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1];
  if (token === undefined) throw new Error(`the page has no form: ${page.status}`);
  return token;
}

/** Link on the leaving page. @throws if it is another page */
export function destinationIn(page: RawAnswer): URL {
  const href = /<a class="button accent" href="([^"]+)"/.exec(page.body)?.[1];
  if (href === undefined) throw new Error(`not the leaving page: ${page.status} ${page.location ?? ''}`);
  return new URL(unescapeHtml(href));
}

/** Links of a page to paths of our own origin. */
export function ownLinksIn(page: RawAnswer): string[] {
  return [...page.body.matchAll(/ href="(\/[^"]*)"/g)].map(([, href = '']) => unescapeHtml(href));
}

/** Decodes the character references in our pages. */
export const unescapeHtml = (text: string): string =>
  text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
