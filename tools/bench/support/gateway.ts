import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayConfigInput } from '@postern/gateway';
import { freePort } from '@postern/testkit/processes';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type Child, startChild } from './child.ts';
import { FORGE_CLIENT } from './forge.ts';

export const API_KEY = 'pk_bench_0123456789abcdefghijklmnop';
const OTHER_API_KEY = 'pk_bench_other_0123456789abcdefghij';
export const MCP_SERVER_ID = 'tracker';
export const PROVIDER = 'forge';
export const SCOPES = ['issues', 'repo'];
/** Placeholder addresses that are never contacted during a measurement. */
export const IDENTITY_ISSUER = 'http://127.0.0.1:9/identity';
export const FORGE = 'http://127.0.0.1:9/forge';

export interface GatewayProcess extends AsyncDisposable {
  readonly child: Child;
  readonly port: number;
  /** Of the console, if the gateway has one. */
  readonly consolePort: number;
  readonly publicUrl: string;
  /** From the start of the process to the first positive response of /readyz, in milliseconds. */
  readonly readyAfterMs: number;
}

export interface GatewaySettings {
  /** Without one, the gateway keeps its state in a new file. */
  readonly redisUrl?: string;
  readonly directory: string;
  readonly vaultKey: string;
  readonly profileDir?: string | undefined;
  /** The shared address, if there are replicas. */
  readonly publicUrl?: string;
  /** A real provider. Without it the configured provider does not exist and is never contacted. */
  readonly providerIssuer?: string;
  /** Maximum duration of a provider request. Default: as in the product. */
  readonly outboundTimeoutSeconds?: number;
  /** Serves one person without a sign-in, as a gateway on a file always does. */
  readonly isLoopback?: true;
  /** Registers a second MCP server, that of `otherApiHeaders`. */
  readonly isShared?: true;
  /** Adds the console, and the audit trail in Redis that it searches. */
  readonly hasConsole?: true;
  /** Overrides of the defaults of this section. */
  readonly redis?: Omit<NonNullable<GatewayConfigInput['redis']>, 'url'>;
  readonly env?: Readonly<Record<string, string>>;
  /** The program to start, if not that of the sources. */
  readonly program?: string;
}

/** The claim value of operators at the console. */
export const OPERATORS = 'support';

export const newVaultKey = (): string => randomBytes(32).toString('base64');

const unlimited = 1_000_000_000;

const mcpServer = (id: string, apiKey: string): GatewayConfigInput['mcpServers'][number] => ({
  id,
  name: 'Issue Tracker',
  url: 'http://localhost:7001/mcp',
  apiKeys: [{ hash: `sha256:${createHash('sha256').update(apiKey).digest('hex')}` }],
  providers: [PROVIDER],
  issuers: [IDENTITY_ISSUER],
  limits: {
    requestsPerMinute: unlimited,
    elicitationsPerSubject: unlimited,
    concurrentWaits: 100_000,
    eventStreams: 100_000,
    storedRecords: 10_000_000,
    storedMegabytes: 100_000,
  },
});

/** The configuration of a real installation, with limits that do not restrict the load. */
function configuration(
  settings: GatewaySettings,
  { port, consolePort, publicUrl }: Pick<GatewayProcess, 'port' | 'consolePort' | 'publicUrl'>,
): GatewayConfigInput {
  return {
    publicUrl,
    listen: { host: '127.0.0.1', port },
    ...(settings.redisUrl === undefined
      ? { store: { file: join(settings.directory, `gateway-${port}.sqlite`) } }
      : { redis: { url: settings.redisUrl, ...settings.redis } }),
    vault: { keys: [{ kid: 'bench', key: settings.vaultKey }] },
    identityProviders:
      settings.isLoopback === true
        ? []
        : [{ name: 'example-id', issuer: IDENTITY_ISSUER, clientId: 'postern', clientSecret: 'only-for-benchmarks' }],
    providers: [
      {
        name: PROVIDER,
        displayName: 'Code Forge',
        ...(settings.providerIssuer === undefined
          ? { issuer: FORGE, authorizationEndpoint: `${FORGE}/authorize`, tokenEndpoint: `${FORGE}/token` }
          : { issuer: settings.providerIssuer }),
        clientId: FORGE_CLIENT.clientId,
        clientSecret: FORGE_CLIENT.clientSecret,
        defaultScopes: SCOPES,
        scopes: { repo: 'read the list of your repositories', issues: 'create issues in your name' },
      },
    ],
    mcpServers: [
      { ...mcpServer(MCP_SERVER_ID, API_KEY), ...(settings.isLoopback && { identity: { mode: 'loopback' } }) },
      ...(settings.isShared === true ? [mcpServer('other', OTHER_API_KEY)] : []),
    ],
    ...(settings.outboundTimeoutSeconds === undefined
      ? {}
      : { outbound: { timeoutSeconds: settings.outboundTimeoutSeconds } }),
    ...(settings.hasConsole === true ? { audit: { stream: true }, console: consoleOn(consolePort) } : {}),
    limits: { pageRequestsPerMinute: unlimited },
    // The benchmark overloads the machine on purpose.
    overload: { eventLoopDelayMs: 10_000 },
  };
}

/** Its host name differs from that of the pages, as the gateway requires. */
const consoleOn = (port: number): GatewayConfigInput['console'] => ({
  publicUrl: `http://127.0.0.1:${port}`,
  listen: { port },
  identityProvider: { issuer: IDENTITY_ISSUER, clientId: 'postern-console', clientSecret: 'only-for-benchmarks' },
  roles: { claim: 'groups', support: [OPERATORS] },
});

/** The gateway as in production: its entry point, a configuration file, one process. */
export async function startGatewayProcess(settings: GatewaySettings): Promise<GatewayProcess> {
  const [port, consolePort] = [await freePort(), await freePort()];
  const publicUrl = settings.publicUrl ?? `http://localhost:${port}`;
  const configPath = join(settings.directory, `gateway-${port}.yaml`);
  // JSON is YAML.
  writeFileSync(configPath, JSON.stringify(configuration(settings, { port, consolePort, publicUrl })));
  const startedAt = performance.now();
  const child = startChild({
    module: settings.program ?? 'services/gateway/src/postern.ts',
    args: ['start', configPath],
    profileDir: settings.profileDir,
    env: settings.env,
  });
  await untilReady(child, port);
  const readyAfterMs = performance.now() - startedAt;
  return {
    child,
    port,
    consolePort,
    publicUrl,
    readyAfterMs,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

async function untilReady(child: Child, port: number): Promise<void> {
  for (;;) {
    if (child.process.exitCode !== null) throw new Error('the gateway did not start');
    try {
      using connection = await HttpConnection.open(port);
      if ((await connection.request(httpRequest('GET', '/readyz', port, {}))).status === 200) return;
    } catch {
      // Not listening yet.
    }
    await delay(2);
  }
}

export const apiHeaders: Readonly<Record<string, string>> = {
  authorization: `Bearer ${API_KEY}`,
  'content-type': 'application/json',
};

/** Headers of the second MCP server of a gateway that `isShared`. */
export const otherApiHeaders: Readonly<Record<string, string>> = {
  ...apiHeaders,
  authorization: `Bearer ${OTHER_API_KEY}`,
};

let subjects = 0;

/** Returns an unused subject of constant length. */
export function newSubject(): string {
  subjects += 1;
  return `user-${String(subjects).padStart(12, '0')}`;
}

export const askBody = (subject: string): string =>
  JSON.stringify({
    kind: 'authorization',
    subject: { issuer: IDENTITY_ISSUER, subject },
    message: 'Connect Code Forge to list your repositories',
    requestedBy: { mcpClient: 'Example Host', tool: 'list_repositories' },
    authorization: { provider: PROVIDER, scopes: ['repo', 'issues'] },
  });
