import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { exportJWK, generateKeyPair } from 'jose';
import { type Offers, readOffers } from './capabilities.ts';
import { CODE_FORGE, type CodeForge, FORGE_COLOUR, forgeScopes, startCodeForge } from './code-forge/code-forge.ts';
import { consoleRoles, EXAMPLE_ID, employees, startIdentityProvider } from './identity-provider.ts';
import { BOOK_SHOP } from './mcp-server/book-catalogue.ts';
import { createLedger, type Ledger } from './mcp-server/ledger.ts';
import { startMcpEndpoint } from './mcp-server/mcp-endpoint.ts';
import { createPickupDesk, type PickupDesk } from './mcp-server/pickup-desk.ts';
import { startOwnRedis } from './own-redis.ts';
import { mcpUrlAt, type Ports } from './ports.ts';
import { Ring } from './ring.ts';
import { followEvents } from './try-it/follow-events.ts';
import { MOST_LINES, TryItHost } from './try-it/try-it-host.ts';
import { tryItPages } from './try-it/try-it-page.ts';
import {
  API_KEY_HEADER,
  startWeatherStation,
  WEATHER_STATION,
  type WeatherStation,
} from './weather-station/weather-station.ts';

/** The running demo. All services are in this process, except Redis. */
export interface Constellation extends AsyncDisposable {
  readonly offers: Offers;
  /** The page to try everything. */
  readonly tryItUrl: string;
  readonly posternUrl: string;
  /** Where the operator signs in. */
  readonly consoleUrl: string;
  readonly mcpUrl: string;
  readonly issuer: string;
  readonly codeForge: CodeForge;
  readonly weatherStation: WeatherStation;
  readonly ledger: Ledger;
  readonly pickupDesk: PickupDesk;
}

const MCP_SERVER_ID = 'desk-helper';
export const MCP_SERVER_NAME = 'Desk Helper';

/** Starts the demo with new keys and secrets, and without data. Disposing it deletes them. */
export async function startConstellation(p: { ports: Ports; log: NodeJS.WritableStream }): Promise<Constellation> {
  const { ports } = p;
  const posternUrl = `http://localhost:${ports.postern}`;
  // Cookies ignore ports, so the console needs another host name than the pages.
  const consoleUrl = `http://127.0.0.1:${ports.console}`;
  const mcpUrl = mcpUrlAt(ports.mcpServer);
  const secret = () => randomBytes(32).toString('base64url');
  const login = {
    clientId: 'postern',
    clientSecret: secret(),
    redirectUri: `${posternUrl}/login/callback/example-id`,
    postLogoutRedirectUri: `${posternUrl}/logout/callback/example-id`,
  };
  const operatorLogin = {
    clientId: 'postern-console',
    clientSecret: secret(),
    redirectUri: `${consoleUrl}/login/callback/console`,
    postLogoutRedirectUri: `${consoleUrl}/logout/callback/console`,
  };
  const application = {
    clientId: 'desk-helper-at-postern',
    clientSecret: secret(),
    redirectUri: `${posternUrl}/callback/${MCP_SERVER_ID}/forge`,
  };
  const apiKey = `pk_${secret()}`;
  const receiptKey = await createReceiptKey();

  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'postern-demo-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const identityProvider = stack.use(
    await startIdentityProvider({ port: ports.identityProvider, mcpUrl, postern: login, console: operatorLogin }),
  );
  const codeForge = stack.use(await startCodeForge({ port: ports.codeForge, postern: application }));
  const weatherStation = stack.use(await startWeatherStation({ port: ports.weatherStation, people: employees }));

  const redis = stack.use(await startOwnRedis(directory));
  const exampleId = {
    name: 'example-id',
    displayName: EXAMPLE_ID,
    issuer: identityProvider.issuer,
    clientId: login.clientId,
    clientSecret: login.clientSecret,
  };

  const config = parseConfig({
    publicUrl: posternUrl,
    listen: { host: '127.0.0.1', port: ports.postern },
    console: {
      publicUrl: consoleUrl,
      listen: { port: ports.console },
      identityProvider: {
        issuer: identityProvider.issuer,
        clientId: operatorLogin.clientId,
        clientSecret: operatorLogin.clientSecret,
      },
      roles: consoleRoles,
    },
    ...(redis === undefined
      ? { store: { file: join(directory, 'postern.sqlite') } }
      : { redis: { url: redis.url }, identityProviders: [exampleId] }),
    vault: { keys: [{ kid: 'demo', key: randomBytes(32).toString('base64') }] },
    receipts: { keys: [receiptKey.configured] },
    providers: [
      {
        name: 'forge',
        displayName: CODE_FORGE,
        mark: { letters: 'CF', colour: FORGE_COLOUR },
        issuer: codeForge.issuer,
        clientId: application.clientId,
        clientSecret: application.clientSecret,
        baseScopes: ['openid', 'profile'],
        defaultScopes: ['repo'],
        scopes: { ...forgeScopes },
        apiHosts: [new URL(codeForge.issuer).host],
        account: { from: 'id_token', nameClaim: 'name' },
      },
    ],
    mcpServers: [
      {
        id: MCP_SERVER_ID,
        name: MCP_SERVER_NAME,
        url: mcpUrl,
        apiKeys: [{ hash: `sha256:${createHash('sha256').update(apiKey).digest('hex')}` }],
        kinds: ['authorization', 'payment', 'confirmation', 'credential', 'form'],
        issuers: [identityProvider.issuer],
        identity: { mode: redis === undefined ? 'loopback' : 'login' },
        providers: ['forge'],
        // In cents. The shop itself charges, and presents the receipt.
        payment: {
          processors: ['none'],
          maxAmount: { EUR: 50_000 },
          passkeyAbove: { EUR: 10_000 },
          firstPasskeyUpTo: { EUR: 25_000 },
          payees: [BOOK_SHOP],
        },
        confirmation: { freshSignInSeconds: 600 },
        credentialChecks: {
          'weather-station': {
            url: `${weatherStation.url}/api/key`,
            header: { name: API_KEY_HEADER, field: 'apiKey' },
          },
        },
      },
    ],
  } satisfies GatewayConfigInput);
  stack.use(await startGateway(config, { logger: createLogger({ level: 'info', destination: p.log }) }));
  const offers = await readOffers({ url: posternUrl, apiKey });

  const events = new Ring<string>(MOST_LINES);
  const feed = new AbortController();
  stack.defer(() => feed.abort());
  void followEvents({ url: posternUrl, apiKey, signal: feed.signal, events });
  const tryIt = stack.use(
    new TryItHost({
      mcpUrl,
      events,
      secrets: () => [...codeForge.issuedSecrets(), ...weatherStation.issuedKeys()],
    }),
  );

  const ledger = createLedger();
  const pickupDesk = createPickupDesk();
  stack.use(
    await startMcpEndpoint({
      port: ports.mcpServer,
      mcpUrl,
      issuer: identityProvider.issuer,
      jwksUri: `${identityProvider.issuer}/jwks`,
      forgeUrl: codeForge.issuer,
      weatherUrl: weatherStation.url,
      gateway: { url: posternUrl, apiKey },
      // With this key, the MCP server verifies receipts without a request.
      receipts: { issuer: posternUrl, mcpServerId: MCP_SERVER_ID, keys: receiptKey.published },
      ledger,
      pickupDesk,
      pages: tryItPages({
        host: tryIt,
        port: ports.mcpServer,
        offers,
        addresses: [
          [offers('identity_login') ? 'Your account at Postern' : 'Open requests at Postern', `${posternUrl}/me`],
          ['Console for operators', consoleUrl],
          [EXAMPLE_ID, identityProvider.issuer],
          [CODE_FORGE, codeForge.issuer],
          [WEATHER_STATION, weatherStation.url],
        ],
      }),
    }),
  );

  const owned = stack.move();
  return {
    offers,
    tryItUrl: new URL('/', mcpUrl).href,
    posternUrl,
    consoleUrl,
    mcpUrl,
    issuer: identityProvider.issuer,
    codeForge,
    weatherStation,
    ledger,
    pickupDesk,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Creates the key with which the gateway signs receipts, and the public key for their verifiers. */
async function createReceiptKey() {
  const kid = 'demo';
  const { privateKey, publicKey } = await generateKeyPair('Ed25519', { extractable: true });
  return {
    configured: { kid, key: JSON.stringify(await exportJWK(privateKey)) },
    published: { keys: [{ ...(await exportJWK(publicKey)), kid }] },
  };
}
