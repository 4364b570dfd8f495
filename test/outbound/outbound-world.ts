import { randomBytes } from 'node:crypto';
import { type AnsweringMachine, startAnsweringMachine } from '@postern/testkit/any-answer';
import { startOpenIdProvider, type TestProvider } from '@postern/testkit/providers';
import type { FakeStripe } from '@postern/testkit/stripe';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { freePort, startWorld, type World } from '../support/world.ts';

const AUDIENCE = 'http://localhost:7001/mcp';

/** A gateway that reaches every outside party through a server that can send arbitrary responses. */
export interface OutboundWorld extends AsyncDisposable {
  readonly stage: World;
  readonly stripe: FakeStripe;
  readonly remote: TestProvider;
  /** The timeout of every request for which a caller waits. */
  readonly timeoutSeconds: number;
  /**
   * Fault servers in front of the identity provider, the provider `forge`, the authorization server of `remote`, and
   * Stripe.
   */
  readonly machines: Readonly<Record<'identity' | 'forge' | 'remote' | 'stripe' | 'others', AnsweringMachine>>;
  /** Returns an unused user of the identity provider. */
  subject(): string;
  /** An access token for an MCP server, issued by an identity provider at the server `others`. */
  accessTokenOf(subject: string): Promise<string>;
}

/** Providers that are remote MCP servers. The gateway caches their metadata and registers a client at each. */
const remoteNames = ['remote-1', 'remote-2', 'remote-3', 'remote-4'];

/** Many users, because every use of a client needs a new one. */
const PEOPLE = 20_000;

const json = (value: unknown, status = 200, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(value)),
});

/** Longer than any honest response on a busy machine, and different from all other timeouts. */
const timeoutSeconds = 19;

export async function startOutboundWorld(): Promise<OutboundWorld> {
  await using stack = new AsyncDisposableStack();
  const machine = async () => stack.use(await startAnsweringMachine());
  const machines = {
    identity: await machine(),
    forge: await machine(),
    remote: await machine(),
    stripe: await machine(),
    others: await machine(),
  };
  const originOf = ({ port }: AnsweringMachine) => `http://localhost:${port}`;
  const others = originOf(machines.others);
  const publicUrl = `http://localhost:${await freePort()}`;

  const remote = stack.use(
    await startOpenIdProvider({
      clients: [],
      scopes: ['issues'],
      registration: 'open',
      publicPort: machines.remote.port,
      refreshTokens: 'static',
    }),
  );
  machines.remote.behind(remote.port);

  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'of-others' }] };
  const metadata = {
    issuer: others,
    authorization_endpoint: `${others}/auth`,
    token_endpoint: `${others}/token`,
    jwks_uri: `${others}/jwks`,
    code_challenge_methods_supported: ['S256'],
  };
  machines.others.behind(({ path }) => {
    const [, kind = '', name = ''] = /^\/(mcp|resource)\/(.+)$/.exec(path) ?? [];
    if (kind === 'mcp')
      return json({}, 401, { 'www-authenticate': `Bearer resource_metadata="${others}/resource/${name}"` });
    if (kind === 'resource') return json({ resource: `${others}/mcp/${name}`, authorization_servers: [remote.issuer] });
    switch (path) {
      case '/.well-known/openid-configuration':
        return json(metadata);
      case '/jwks':
        return json(keys);
      default:
        return json({});
    }
  });

  const world = stack.use(
    await startWorld({
      publicUrl,
      people: PEOPLE,
      payment: {},
      stripe: { publicPort: machines.stripe.port },
      identityProvider: { publicPort: machines.identity.port, profileInIdToken: false },
      provider: {
        publicPort: machines.forge.port,
        pushedAuthorization: 'offered',
        deviceFlow: true,
        refreshTokens: 'static',
        clients: [
          {
            clientId: 'postern-at-forge',
            clientSecret: 'forge-client-secret',
            redirectUris: ['forge', 'profile', 'panel'].map(name => `${publicUrl}/callback/tracker/${name}`),
          },
        ],
      },
      config: ({ base, identityProvider, provider }) => {
        machines.identity.behind(identityProvider.port);
        machines.forge.behind(provider.port);
        const forge = base.providers?.[0];
        const account = { from: 'userinfo', nameClaim: 'name' };
        const remotes = remoteNames.map(name => ({
          name,
          displayName: 'Remote',
          mcpResource: `${others}/mcp/${name}`,
          baseScopes: ['openid'],
        }));
        const tokenIssuer = { name: 'others', displayName: 'Others', issuer: others, clientId: 'postern' };
        return {
          outbound: { timeoutSeconds },
          telemetry: { otlpEndpoint: others },
          identityProviders: [
            ...(base.identityProviders ?? []),
            { ...tokenIssuer, clientSecret: 'unused-secret', accessTokens: { audience: AUDIENCE } },
          ],
          providers: [
            ...(base.providers ?? []),
            Object.assign({}, forge, { name: 'profile', account }),
            Object.assign({}, forge, { name: 'panel', flow: 'device' }),
            ...remotes,
          ],
        };
      },
      mcpServer: {
        providers: ['forge', 'profile', 'panel', ...remoteNames],
        issuers: [originOf(machines.identity), others],
        limits: { requestsPerMinute: 1_000_000, elicitationsPerSubject: 1_000_000 },
        credentialChecks: { acme: { url: `${others}/check`, bearer: 'key' } },
        webhooks: [
          {
            id: 'ends',
            url: `${others}/hooks`,
            statuses: ['cancelled'],
            secrets: [`whsec_${randomBytes(32).toString('base64')}`],
          },
        ],
      },
    }),
  );
  machines.stripe.behind(world.stripe.port);
  const owned = stack.move();
  return {
    stage: world,
    stripe: world.stripe,
    remote,
    machines,
    timeoutSeconds,
    subject: world.subject,
    accessTokenOf: subject =>
      new SignJWT()
        .setProtectedHeader({ alg: 'ES256', kid: 'of-others' })
        .setIssuer(others)
        .setSubject(subject)
        .setAudience(AUDIENCE)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
