import { spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod/v4';
import { callable, invalidOptions, PosternUsageError, parseStrictly } from '../errors.ts';
import type { Subject } from '../gateway/client.ts';

export interface TestGatewayOptions {
  /** Names of the providers that your tools use. A stand-in on this machine issues their tokens. */
  readonly providers?: readonly string[];
  /** Answers the requests of your tools to the APIs of these providers. Default: they fail. */
  readonly api?: (request: Request) => Response | Promise<Response>;
  /** Issuers of your users, besides `http://localhost`. */
  readonly issuers?: readonly string[];
  /** Limits of your MCP server, such as `openElicitationsPerSubject`, to test what happens at them. Default: higher than tests reach. */
  readonly limits?: Readonly<Record<string, number>>;
  /** The command that starts a gateway; the path of the configuration is added. Default: the `@postern/gateway` of this project. */
  readonly command?: readonly string[];
}

/** A gateway of its own, with a store of its own, that ends with the test. */
export interface TestGateway extends AsyncDisposable {
  readonly url: string;
  /** For `postern({ ...gateway.options })`. `subject` is one fixed user: replace it if your requests carry access tokens. */
  readonly options: {
    readonly url: string;
    readonly apiKey: string;
    readonly subject: Subject;
    readonly fetch: typeof fetch;
  };
  readonly person: TestPerson;
}

const optionsSchema = z.strictObject({
  providers: z.array(z.string()).optional(),
  api: callable.optional(),
  issuers: z.array(z.string()).optional(),
  limits: z.record(z.string(), z.number()).optional(),
  command: z.array(z.string()).min(1).optional(),
});

const ISSUER = 'http://localhost';
const SERVER_ID = 'test';

/**
 * Starts the real gateway on loopback: the HTTP contract, the pages and the store are those of production. Its one user is the person
 * of this machine, whom `person` plays, and no payment is ever charged.
 *
 * @throws {PosternUsageError} `invalid_options`
 * @throws with what the gateway printed, if it does not start
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  parseStrictly('invalid_options', 'startTestGateway', optionsSchema, options);
  const { api = noApi, command = [process.execPath, installedProgram(), 'start'] } = options;
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'postern-test-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const standIn = opened.use(await startStandInProvider());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const apiKey = `pk_${randomBytes(32).toString('base64url')}`;
  const path = join(folder, 'postern.config.yaml');
  // JSON is YAML.
  await writeFile(
    path,
    JSON.stringify(configuration({ ...options, standIn: standIn.url, folder, url, port, apiKey })),
    {
      mode: 0o600,
    },
  );
  opened.use(await start([...command, path], folder));
  const owned = opened.move();
  return {
    url,
    options: {
      url,
      apiKey,
      subject: { issuer: ISSUER, subject: 'test-user' },
      async fetch(input, init) {
        const request = new Request(input, init);
        return request.url.startsWith(`${url}/`) ? await fetch(request) : await api(request);
      },
    },
    person: createTestPerson(url, standIn.url),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function installedProgram(): string {
  try {
    const manifest = createRequire(join(process.cwd(), 'package.json')).resolve('@postern/gateway/package.json');
    const { bin } = z
      .object({ bin: z.object({ postern: z.string() }) })
      .parse(JSON.parse(readFileSync(manifest, 'utf8')));
    return join(dirname(manifest), bin.postern);
  } catch (cause) {
    const text = 'startTestGateway: install @postern/gateway as a development dependency of this project.';
    throw new PosternUsageError('invalid_options', text, { cause });
  }
}

interface Place {
  readonly providers?: readonly string[];
  readonly issuers?: readonly string[];
  readonly limits?: Readonly<Record<string, number>>;
  readonly standIn: string;
  readonly folder: string;
  readonly url: string;
  readonly port: number;
  readonly apiKey: string;
}

function configuration({
  providers = [],
  issuers = [],
  limits = {},
  standIn,
  folder,
  url,
  port,
  apiKey,
}: Place): object {
  const limit = 100_000_000;
  return {
    publicUrl: url,
    listen: { host: '127.0.0.1', port },
    store: { file: join(folder, 'postern.sqlite') },
    vault: { keys: [{ kid: 'test', key: randomBytes(32).toString('base64') }] },
    providers: providers.map(name => ({
      name,
      displayName: name,
      clientId: 'test',
      clientAuthentication: 'none',
      authorizationEndpoint: `${standIn}/${name}/authorize`,
      tokenEndpoint: `${standIn}/${name}/token`,
    })),
    mcpServers: [
      {
        id: SERVER_ID,
        name: 'MCP server under test',
        url: 'http://127.0.0.1:3000/mcp',
        apiKeys: [{ hash: `sha256:${createHash('sha256').update(apiKey).digest('hex')}` }],
        issuers: [ISSUER, ...issuers],
        identity: { mode: 'loopback' },
        providers,
        limits,
        payment: { processors: ['none'], maxAmount: { CHF: limit, EUR: limit, GBP: limit, JPY: limit, USD: limit } },
      },
    ],
  };
}

/** Resolves when the gateway serves requests. Disposing it is Ctrl-C. */
async function start([program = '', ...args]: readonly string[], folder: string): Promise<AsyncDisposable> {
  // Its store is its own, whatever this process uses.
  const { REDIS_URL: _, POSTERN_CONFIG: __, ...env } = process.env;
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...env, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close');
  const { promise: isStarted, resolve } = Promise.withResolvers<boolean>();
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', data => {
      printed = (printed + String(data)).slice(-16_384);
      if (printed.includes('"gateway.started"')) resolve(true);
    });
  ended.then(
    () => resolve(false),
    () => resolve(false),
  );
  if (!(await isStarted)) throw new Error(`The gateway did not start:\n${printed}`);
  return {
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', kill);
      child.kill('SIGINT');
      await ended;
    },
  };
}

/** Another program may take the port before the gateway does. Then the gateway says so, and does not start. */
async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function noApi(): Promise<never> {
  throw invalidOptions('startTestGateway: pass `api` to answer requests to an API.');
}

/** Input of a person: values of a credential, or content of a form, by the name of the field. */
export type Typed = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** A person at a browser without an engine, for the pages of a gateway whose only user is the one of this machine. */
export interface TestPerson {
  /**
   * Opens the link, types the values if the page asks for any, accepts, and consents at the provider.
   *
   * @throws if the page refuses, such as a link that is no longer open, or input that does not fit
   */
  accept(url: string, typed?: Typed): Promise<void>;
  /** Opens the link and declines. @throws if the page refuses */
  decline(url: string): Promise<void>;
}

/** @param standIn origin of the stand-in for the providers, the only other place that the person goes to */
function createTestPerson(gateway: string, standIn: string): TestPerson {
  /** Opens an elicitation, and posts one of the two forms on its page. Each visit is a browser of its own. */
  async function decide(url: string, decision: 'accept' | 'decline', typed: Typed) {
    if (new URL(url).origin !== gateway) throw new Error('The person opens only links of the test gateway.');
    const cookies = new Map<string, string>();
    const visit = (method: 'GET' | 'POST', target: string, form?: URLSearchParams) =>
      send(cookies, gateway, { method, url: new URL(target, gateway), form });
    const page = await visit('GET', url);
    const { action, hidden } = formOf(page, decision);
    const form = new URLSearchParams(hidden);
    for (const [name, value] of Object.entries(typed))
      for (const each of Array.isArray(value) ? value : [value]) form.append(`field.${name}`, String(each));
    const answer = await visit('POST', action, form);
    if (answer.location === undefined) throw refused(answer);
    return { visit, location: answer.location };
  }

  return {
    async accept(url, typed = {}) {
      const { visit, location } = await decide(url, 'accept', typed);
      if (!location.endsWith('/leaving')) return;
      const leaving = await visit('GET', location);
      const provider = unescapeHtml(/<a class="button accent" href="([^"]+)"/.exec(leaving.body)?.[1] ?? '');
      if (URL.parse(provider)?.origin !== standIn) throw refused(leaving);
      const consent = await fetch(provider, { redirect: 'manual' });
      const callback = await visit('GET', consent.headers.get('location') ?? '/');
      if (callback.location === undefined) throw refused(callback);
    },
    async decline(url) {
      await decide(url, 'decline', {});
    },
  };
}

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

interface Visit {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly form: URLSearchParams | undefined;
}

/** With the headers of a browser, which `fetch` would not let through. */
async function send(cookies: Map<string, string>, origin: string, { method, url, form }: Visit): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = {
    accept: 'text/html',
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    'sec-fetch-site': form === undefined ? 'none' : 'same-origin',
    ...(form === undefined ? {} : { origin, 'content-type': 'application/x-www-form-urlencoded' }),
  };
  const outgoing = httpRequest(url, { method, headers, agent: false }, resolve);
  outgoing.on('error', reject);
  outgoing.end(form?.toString());
  const incoming = await promise;
  for (const line of incoming.headers['set-cookie'] ?? []) {
    const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
    cookies.set(name, value);
  }
  return { status: incoming.statusCode ?? 0, location: incoming.headers.location, body: await text(incoming) };
}

/** The form with which the user decides, and its hidden fields. */
function formOf(page: Answer, decision: 'accept' | 'decline') {
  const forms = page.body.split('<form method="post" action="').slice(1);
  const form = forms.find(each => each.split('"', 1)[0]?.endsWith(`/${decision}`));
  if (form === undefined) throw refused(page);
  const [inner = ''] = form.split('</form>', 1);
  const fields = [...inner.matchAll(/name="([^"]+)" value="([^"]*)"/g)];
  return {
    action: unescapeHtml(form.slice(0, form.indexOf('"'))),
    hidden: fields.map(([, name = '', value = '']): [string, string] => [name, unescapeHtml(value)]),
  };
}

function refused({ status, body }: Answer): Error {
  const title = /<h1[^>]*>(.*?)<\/h1>/s
    .exec(body)?.[1]
    ?.replaceAll(/<[^<>]*>/g, '')
    .trim();
  return new Error(`The gateway's page does not allow this (HTTP ${status}): ${unescapeHtml(title ?? 'no title')}`);
}

/** Pages of the gateway contain decimal references only. */
const unescapeHtml = (html: string): string =>
  html.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))).replaceAll('&amp;', '&');

/** A request that is consented to, by its code. */
interface Consent {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scope: string;
}

/**
 * Stands in for the authorization servers of all providers (RFC 6749, with PKCE) on loopback. It consents to every request without
 * asking: the person has already decided on the gateway's page.
 */
async function startStandInProvider() {
  const consents = new Map<string, Consent>();
  /** Scopes by refresh token. */
  const grants = new Map<string, string>();

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirect = URL.parse(query.get('redirect_uri') ?? '');
    if (redirect === null) {
      json(response, 400, { error: 'invalid_request' });
      return;
    }
    const code = randomUUID();
    consents.set(code, {
      redirectUri: query.get('redirect_uri') ?? '',
      challenge: query.get('code_challenge') ?? '',
      scope: query.get('scope') ?? '',
    });
    redirect.searchParams.set('code', code);
    redirect.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: redirect.href }).end();
  }

  function issueTokens(provider: string, form: URLSearchParams, response: ServerResponse): void {
    const scope =
      form.get('grant_type') === 'refresh_token' ? grants.get(form.get('refresh_token') ?? '') : redeem(form);
    if (scope === undefined) {
      json(response, 400, { error: 'invalid_grant' });
      return;
    }
    const refreshToken = randomUUID();
    grants.set(refreshToken, scope);
    json(response, 200, {
      access_token: `${provider}-${randomUUID()}`,
      token_type: 'Bearer',
      expires_in: 3_600,
      refresh_token: refreshToken,
      scope,
    });
  }

  /** The scope of a code that fits redirect URI and verifier (RFC 7636 section 4.6). Once. */
  function redeem(form: URLSearchParams): string | undefined {
    const code = form.get('code') ?? '';
    const consent = consents.get(code);
    consents.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const fits = consent?.redirectUri === form.get('redirect_uri') && consent?.challenge === challenge;
    return fits ? consent?.scope : undefined;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stand-in');
    const [, provider = '', endpoint] = pathname.split('/');
    if (endpoint === 'authorize') authorize(searchParams, response);
    else if (endpoint === 'token') issueTokens(provider, new URLSearchParams(await text(request)), response);
    else json(response, 404, {});
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
