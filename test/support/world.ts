import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createLogger, type Gateway, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { freePort } from '@postern/testkit/processes';
import { startOpenIdProvider } from '@postern/testkit/providers';
import { leaseRedis, startRedis } from '@postern/testkit/redis';
import { startFakeStripe } from '@postern/testkit/stripe';
import { createApi, keyOf } from './api.ts';
import { watchForLeaks } from './leak-watch.ts';
import { createRawBrowser } from './raw-browser.ts';
import { createWorldClock } from './world-clock.ts';
import { baseConfig, hashOf } from './world-config.ts';
import type { AuthorizationInput, PayingWorld, World, WorldOptions } from './world-parts.ts';
import { storeOfWorlds } from './world-store.ts';

const ALICE = 'alice';
const BOB = 'bob';

const user = (sub: string) => ({ sub, name: `${sub} Example`, email: `${sub}@example.com` });
const usersOf = (people: number) => [
  user(ALICE),
  user(BOB),
  ...Array.from({ length: people }, (_, n) => user(`person-${n}`)),
];
/** Users of the identity provider: Alice, Bob, and those that `subject()` returns. */
export const worldUsers = usersOf(80);

export { type Answer, type Api, createApi, type ElicitationAnswer, keyOf } from './api.ts';
export type { AuthorizationInput, PayingWorld, World, WorldOptions } from './world-parts.ts';
export { freePort, hashOf };

/** Starts Redis, an identity provider, a provider, and the gateways between them. */
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
  const { redis, file } =
    (options.store ?? storeOfWorlds()) === 'file' ? newFile(stack) : await ownRedis(options, stack);
  const { replicas = 1 } = options;
  const ports = await Promise.all(
    Array.from({ length: file === undefined ? replicas : Math.min(replicas, 1) }, freePort),
  );
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
          metadata: { post_logout_redirect_uris: [`${publicUrl}/logout/callback/example-id`] },
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
  const state = file === undefined ? { redis: { url: redis.url } } : { store: { file } };
  const inputFor = (port: number): GatewayConfigInput => {
    const base = baseConfig({ options, port, publicUrl, state, vaultKey, identityProvider, provider, stripe });
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
          // No command timeout: a busy machine slows Redis down, unless the test takes Redis away.
          ...(options.isRedisKilled === true ? {} : { redisTimeoutMs: 100_000 }),
          now: clock.now,
          sweepPauseMs: options.sweepPauseMs,
        }),
      ),
    );
  }

  // One process has the file: what a test does at another replica, it does at the same gateway.
  const [only] = gateways;
  if (file !== undefined && only !== undefined) gateways.push(...Array.from({ length: replicas - 1 }, () => only));
  const parts = {
    publicUrl,
    gateways,
    config: inputs[0] ?? inputFor(0),
    redis,
    file,
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
      if (used === people) throw new Error('no unused user is left');
      used += 1;
      return `person-${used - 1}`;
    },
    raw: () => createRawBrowser({ address: gateways[0]?.address ?? publicUrl, publicUrl, signsIn: file === undefined }),
    async ask(subject, overrides) {
      const issued = await api.issue(askFor(parts, subject, overrides));
      if (issued.status !== 201) throw new Error(`not issued: ${issued.status} ${issued.body.code ?? ''}`);
      return issued.body;
    },
    async [Symbol.asyncDispose]() {
      try {
        // Whatever the tests did, none of their secrets may remain anywhere.
        if (options.plantsLeaks !== true) await leaks.assertNone();
      } finally {
        leaks[Symbol.dispose]();
        await owned.disposeAsync();
      }
    },
  };
}

async function ownRedis({ redisUrl, isRedisKilled }: WorldOptions, stack: AsyncDisposableStack) {
  if (redisUrl !== undefined) return { redis: { url: redisUrl, server: undefined }, file: undefined };
  const server = stack.use(
    isRedisKilled ? await startRedis({ args: ['--appendfsync', 'always'] }) : await leaseRedis(),
  );
  return { redis: { url: server.url, server }, file: undefined };
}

function newFile(stack: AsyncDisposableStack) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-world-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const redis: World['redis'] = {
    get url(): string {
      throw new Error('this world has no Redis');
    },
    server: undefined,
  };
  return { redis, file: join(folder, 'postern.sqlite') };
}

/** An authorization request for repositories, for `user`. */
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
