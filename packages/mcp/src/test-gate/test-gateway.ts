import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod/v4';
import { invalidOptions, PosternUsageError } from '../errors.ts';
import { callable, parseStrictly } from '../parse-strictly.ts';
import type { Subject } from '../subject.ts';
import { createTestPerson, type TestPerson } from './scripted-person.ts';
import { startStandInProvider } from './stand-in-provider.ts';

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
