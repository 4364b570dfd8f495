import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import type { IssueElicitationInput } from '@postern/api';
import { createLogger, type Gateway, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { freePort } from '@postern/testkit/processes';
import { startOpenIdProvider, type TestProvider, type TestUser } from '@postern/testkit/providers';
import { leaseRedis, type RedisServer, startRedis } from '@postern/testkit/redis';
import { type FakeStripe, type FakeStripeOptions, startFakeStripe } from '@postern/testkit/stripe';
import { type Api, createApi, type ElicitationAnswer, keyOf } from './api.ts';
import type { PaymentPolicy } from './asks.ts';
import { watchForLeaks } from './leak-watch.ts';
import { createRawBrowser, type RawBrowser } from './raw-browser.ts';
import { createWorldClock, type WorldClock } from './world-clock.ts';
import { baseConfig, hashOf, type McpServerInput } from './world-config.ts';

export interface WorldOptions {
  /** Default: one of its own, empty, that the worker hands to its next world. */
  readonly redisUrl?: string;
  /** Its own Redis is killed or frozen: commands time out as in the product, and nothing that it has said yes to may depend on how busy the disk is. */
  readonly isRedisKilled?: boolean;
  /** Extends or replaces what the MCP server `tracker` is registered with. */
  readonly mcpServer?: Partial<McpServerInput>;
  /** Further MCP servers, each with the API key `keyOf(id)`. */
  readonly otherMcpServers?: readonly (Partial<McpServerInput> & { readonly id: string })[];
  /** Lets `tracker` ask for payments, by an imitation of Stripe, with these changes of the policy. */
  readonly payment?: Partial<PaymentPolicy>;
  readonly stripe?: FakeStripeOptions;
  /** Replaces top-level members of the configuration; a function sees what is there already. */
  readonly config?: Partial<GatewayConfigInput> | ((parts: ConfigParts) => Partial<GatewayConfigInput>);
  /** Pause between two ticks of the sweepers, in ms, for a file that waits for them. Default: the pause of the product. */
  readonly sweepPauseMs?: number;
  /** Gateways on the same Redis behind the same public URL. Default 1; with none, `publicUrl` is needed. */
  readonly replicas?: number;
  readonly provider?: Partial<Parameters<typeof startOpenIdProvider>[0]>;
  readonly identityProvider?: Partial<Parameters<typeof startOpenIdProvider>[0]>;
  /** The address people use, where a TLS proxy stands before the gateway. */
  readonly publicUrl?: string;
  readonly accessTokenAudience?: string;
  /** How many users `subject()` can return. Default 80. */
  readonly people?: number;
  /** Of what is logged. Default `debug`. */
  readonly logLevel?: string;
  /** The file leaves secrets where they do not belong on purpose, or searches for them itself. */
  readonly plantsLeaks?: true;
}

export interface ConfigParts {
  readonly base: GatewayConfigInput;
  readonly identityProvider: TestProvider;
  readonly provider: TestProvider;
}

/** Everything around one or more gateways, real and on loopback, with enough people that no two tests of a file share a subject. */
export interface World extends AsyncDisposable {
  readonly publicUrl: string;
  readonly gateways: readonly Gateway[];
  /** What the gateways were started with, for processes beside them; `listen` is of the first. */
  readonly config: GatewayConfigInput;
  readonly redis: { readonly url: string; readonly server: RedisServer | undefined };
  readonly identityProvider: TestProvider;
  readonly provider: TestProvider;
  readonly clock: WorldClock;
  /** Everything any gateway logged, as text. */
  readonly log: () => string;
  /** API of the MCP server `tracker` at the first gateway. */
  readonly api: Api;
  /** Default: of `tracker`, at the first gateway. */
  apiOf(p?: { replica?: number; apiKey?: string }): Api;
  /** A user of the identity provider whom no test has used yet. */
  subject(): string;
  /** A browser at the first gateway. */
  raw(): RawBrowser;
  /** Issues an authorization request for `user`. @throws when it is not issued */
  ask(user: string, overrides?: Partial<AuthorizationInput>): Promise<ElicitationAnswer>;
}

/** A world that was started with `payment`. */
export interface PayingWorld extends World {
  readonly stripe: FakeStripe;
}

export const ALICE = 'alice';
export const BOB = 'bob';

const user = (sub: string): TestUser => ({ sub, name: `${sub} Example`, email: `${sub}@example.com` });
const usersOf = (people: number): readonly TestUser[] => [
  user(ALICE),
  user(BOB),
  ...Array.from({ length: people }, (_, n) => user(`person-${n}`)),
];
/** Users of the identity provider: Alice, Bob, and those that `subject()` returns. */
export const worldUsers = usersOf(80);

export { type Answer, type Api, createApi, type ElicitationAnswer, keyOf } from './api.ts';
export { freePort, hashOf };

/** Starts Redis, an identity provider, a third-party provider and the gateways between them. */
export function startWorld(options: WorldOptions & Required<Pick<WorldOptions, 'payment'>>): Promise<PayingWorld>;
export function startWorld(options?: WorldOptions): Promise<World>;
export async function startWorld(options: WorldOptions = {}): Promise<World | PayingWorld> {
  await using stack = new AsyncDisposableStack();
  const people = options.people ?? 80;
  const clock = createWorldClock();
  const stripe =
    options.payment === undefined
      ? undefined
      : stack.use(await startFakeStripe({ now: () => Date.now() + clock.ahead, ...options.stripe }));
  const server =
    options.redisUrl === undefined
      ? stack.use(options.isRedisKilled ? await startRedis({ args: ['--appendfsync', 'always'] }) : await leaseRedis())
      : undefined;
  const redisUrl = options.redisUrl ?? server?.url ?? '';
  const ports = await Promise.all(Array.from({ length: options.replicas ?? 1 }, freePort));
  const publicUrl = options.publicUrl ?? `http://localhost:${ports[0]}`;
  const mcpServerIds = ['tracker', ...(options.otherMcpServers ?? []).map(other => other.id)];

  const identityProvider = stack.use(
    await startOpenIdProvider({
      name: 'Example ID',
      consent: 'skip',
      users: usersOf(people),
      clients: [
        {
          clientId: 'postern',
          clientSecret: 'postern-login-secret',
          redirectUris: [`${publicUrl}/login/callback/example-id`],
        },
      ],
      accessTokenFormat: 'jwt',
      ...options.identityProvider,
    }),
  );
  const provider = stack.use(
    await startOpenIdProvider({
      name: 'Code Forge',
      clients: [
        {
          clientId: 'postern-at-forge',
          clientSecret: 'forge-client-secret',
          redirectUris: mcpServerIds.map(id => `${publicUrl}/callback/${id}/forge`),
        },
      ],
      scopes: ['repo', 'issues'],
      ...options.provider,
    }),
  );

  const vaultKey = randomBytes(32).toString('base64');
  const chunks: string[] = [];
  const logger = createLogger({
    level: options.logLevel ?? 'debug',
    destination: new Writable({
      write(chunk, _encoding, done) {
        chunks.push(String(chunk));
        done();
      },
    }),
  });

  const gateways: Gateway[] = [];
  const inputFor = (port: number): GatewayConfigInput => {
    const base = baseConfig({ options, port, publicUrl, redisUrl, vaultKey, identityProvider, provider, stripe });
    const { config: changes } = options;
    return { ...base, ...(typeof changes === 'function' ? changes({ base, identityProvider, provider }) : changes) };
  };
  const inputs = ports.map(inputFor);
  for (const input of inputs) {
    const config = parseConfig(input);
    gateways.push(
      stack.use(
        await startGateway(config, {
          logger,
          // Redis takes as long as a busy machine makes it, unless it goes away on purpose.
          ...(options.isRedisKilled === true ? {} : { redisTimeoutMs: 100_000 }),
          now: clock.now,
          ...(options.sweepPauseMs === undefined ? {} : { sweepPauseMs: options.sweepPauseMs }),
        }),
      ),
    );
  }

  const parts = {
    publicUrl,
    gateways,
    config: inputs[0] ?? inputFor(0),
    redis: { url: redisUrl, server },
    identityProvider,
    provider,
    clock,
    log: () => chunks.join(''),
  };
  const apiOf: World['apiOf'] = ({ replica = 0, apiKey = keyOf('tracker') } = {}) =>
    createApi(gateways[replica]?.address ?? publicUrl, apiKey);
  const api = apiOf();
  const leaks = watchForLeaks(parts);
  let used = 0;
  const owned = stack.move();
  return {
    ...parts,
    ...(stripe && { stripe }),
    api,
    apiOf,
    subject() {
      if (used === people) throw new Error('nobody is left');
      used += 1;
      return `person-${used - 1}`;
    },
    raw: () => createRawBrowser({ address: gateways[0]?.address ?? publicUrl, publicUrl }),
    async ask(subject, overrides) {
      const issued = await api.issue(askFor(parts, subject, overrides));
      if (issued.status !== 201) throw new Error(`not issued: ${issued.status} ${issued.body.code ?? ''}`);
      return issued.body;
    },
    async [Symbol.asyncDispose]() {
      try {
        // Whatever a file has played: none of the secrets of it may be left anywhere.
        if (options.plantsLeaks !== true) await leaks.assertNone();
      } finally {
        leaks[Symbol.dispose]();
        await owned.disposeAsync();
      }
    },
  };
}

export type AuthorizationInput = Extract<IssueElicitationInput, { kind: 'authorization' }>;

/** An ask for repositories in the name of `user`. */
export function askFor(
  world: Pick<World, 'identityProvider'>,
  user: string,
  overrides: Partial<AuthorizationInput> = {},
): AuthorizationInput {
  return {
    kind: 'authorization',
    subject: { issuer: world.identityProvider.issuer, subject: user },
    message: 'Connect Code Forge to list your repositories',
    authorization: { provider: 'forge', scopes: ['repo'] },
    ...overrides,
  };
}
