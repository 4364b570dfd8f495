import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { GatewayConfigInput } from '../platform/config/config-schema.ts';
import { hashOf, sampleConfig, sampleConsole, sampleMcpServer, sampleReceipts } from './sample-config.ts';

export const withServer = (server: object) => ({ ...sampleConfig(), mcpServers: [{ ...sampleMcpServer, ...server }] });

export const groupOf = (...identities: object[]) => ({
  ...sampleConfig(),
  mcpServers: identities.map((identity, at) => ({
    ...sampleMcpServer,
    id: `server-${at}`,
    apiKeys: [{ hash: hashOf(`key-${at}`) }],
    group: 'office',
    identity,
  })),
});

const inService = (change: Partial<GatewayConfigInput>, transactionKey?: string) =>
  sampleConfig({
    vault: { keys: [{ kid: 'own', service: 'module', key: 'a', module: 'a.mjs' }], transactionKey },
    ...change,
  });
const withKey = (key: string) => sampleConfig({ vault: { keys: [{ kid: 'first', key }] } });

const jwkOf = (bits: number) =>
  generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' }) as { kty: 'RSA' };

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const publicEcKey = ec.publicKey.export({ format: 'jwk' });

/** A gateway for the person of this machine, without Redis. */
const onFile = (change: Partial<GatewayConfigInput> = {}) => ({
  ...sampleConfig({ redis: {}, ...change }),
  publicUrl: 'http://localhost',
  mcpServers: [{ ...sampleMcpServer, identity: { mode: 'loopback' as const } }],
});
const secrets = [`whsec_${randomBytes(32).toString('base64')}`];

function withWebhooks(...webhooks: readonly object[]) {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  return withServer({
    webhooks: webhooks.map(webhook => ({ id: 'hook', url: 'https://hooks.example', secrets: [secret], ...webhook })),
  });
}

const limits = 'mcpServers[0].payment.maxAmount';
const payees = 'mcpServers[0].payment.payees';
const stripe = { type: 'stripe', name: 'stripe-main', secretKey: 'sk_live_1', webhookSecrets: ['whsec_1'] };
/** A configuration with payments by Stripe only, within these limits. */
const withStripe = (maxAmount: Readonly<Record<string, number>>) => ({
  ...withServer({ payment: { processors: [stripe.name], maxAmount, payees: ['Shop'] } }),
  processors: [stripe],
});
const withPayees = (payees: readonly unknown[]) => ({
  ...withServer({ payment: { processors: ['none', stripe.name], maxAmount: { EUR: 50 }, payees } }),
  processors: [stripe],
});

const withConsole = (changes: object) => ({ ...sampleConfig(), console: { ...sampleConsole, ...changes } });

const tenant = '11111111-2222-4333-8444-555555555555';

/** Configurations with one fault each: its name, the document, and the paths in the error. */
export const faultyConfigs: readonly (readonly [fault: string, document: unknown, paths: readonly string[]])[] = [
  ['an empty document', undefined, ['']],
  ['a list as document', [], ['']],
  ['an unknown field', { ...sampleConfig(), publicURL: 'https://gate.example' }, ['']],
  ['an unknown nested field', withServer({ apikey: 'x' }), ['mcpServers[0]']],
  ['a malformed public URL', sampleConfig({ publicUrl: 'gate' }), ['publicUrl']],
  ['http off loopback', sampleConfig({ publicUrl: 'http://gate.example' }), ['publicUrl']],
  ['http on a look-alike of loopback', sampleConfig({ publicUrl: 'http://127.0.0.1.example' }), ['publicUrl']],
  ['another scheme', sampleConfig({ publicUrl: 'ftp://gate.example' }), ['publicUrl']],
  ['a public URL with a path', sampleConfig({ publicUrl: 'https://gate.example/x' }), ['publicUrl']],
  ['a public URL with a query', sampleConfig({ publicUrl: 'https://gate.example/?x' }), ['publicUrl']],
  [
    'a feed as large as the storage quota',
    sampleConfig({ events: { retained: 1_000_000 }, limits: { storedMegabytes: 180 } }),
    ['mcpServers[0].limits.storedMegabytes'],
  ],
  ['a port out of range', sampleConfig({ listen: { port: 70_000 } }), ['listen.port']],
  ['a trusted proxy by host name', sampleConfig({ trustProxy: ['proxy.example'] }), ['trustProxy[0]']],
  [
    'a trusted proxy range that covers all addresses',
    sampleConfig({ trustProxy: ['10.0.0.0/8', '0.0.0.0/0'] }),
    ['trustProxy[1]'],
  ],
  ['a gateway for other people without Redis', sampleConfig({ redis: {} }), ['redis']],
  [
    'a gateway for other machines on a file',
    { ...onFile(), publicUrl: 'https://gate.example' },
    ['redis', 'mcpServers[0].identity'],
  ],
  [
    'webhooks without Redis',
    onFile({ operatorWebhooks: [{ id: 'hook', url: 'https://hooks.example', secrets }] }),
    ['redis'],
  ],
  ['an admin API without Redis', onFile({ adminApi: { port: 8091 } }), ['redis']],
  ['a bare % in the password of Redis', sampleConfig({ redis: { url: 'redis://:50%off@redis' } }), ['redis.url']],
  ['an http URL of Redis', sampleConfig({ redis: { url: 'http://redis:6379' } }), ['redis.url']],
  [
    'both a Redis URL and Sentinels',
    sampleConfig({ redis: { url: 'redis://one', sentinel: { nodes: ['redis://two'], masterName: 'postern' } } }),
    ['redis'],
  ],
  [
    'Sentinels with different credentials',
    sampleConfig({ redis: { sentinel: { nodes: ['redis://:a@one', 'redis://:b@two'], masterName: 'postern' } } }),
    ['redis.sentinel.nodes'],
  ],
  ['TLS settings for a redis:// address', sampleConfig({ redis: { url: 'redis://one', tls: {} } }), ['redis.tls']],
  [
    'a certificate without its key',
    sampleConfig({ redis: { url: 'rediss://one', tls: { certFile: 'one.crt' } } }),
    ['redis.tls'],
  ],
  ['the durability profile ha without Redis', onFile({ redis: { durability: { profile: 'ha' } } }), ['redis']],
  ['a Redis Cluster node without a URL', sampleConfig({ redis: { cluster: ['redis'] } }), ['redis.cluster[0]']],
  ['both a Redis URL and a cluster', sampleConfig({ redis: { url: 'redis://a', cluster: ['redis://b'] } }), ['redis']],
  ['a prefix with a hash tag', sampleConfig({ redis: { prefix: 'a:{b}' } }), ['redis.prefix']],
  ['no vault key', sampleConfig({ vault: { keys: [] } }), ['vault.keys']],
  ['a short vault key', withKey(randomBytes(16).toString('base64')), ['vault.keys[0].key']],
  ['a long vault key', withKey(randomBytes(33).toString('base64')), ['vault.keys[0].key']],
  ['a vault key of zeros', withKey(Buffer.alloc(32).toString('base64')), ['vault.keys[0].key']],
  ['a vault key of a few letters', withKey(Buffer.from('abcd'.repeat(8)).toString('base64')), ['vault.keys[0].key']],
  ['a password as vault key', withKey('correct horse battery staple'), ['vault.keys[0].key']],
  ['no MCP server', sampleConfig({ mcpServers: [] }), ['mcpServers']],
  ['an API key in plain text', withServer({ apiKeys: [{ hash: 'pk_clear' }] }), ['mcpServers[0].apiKeys[0].hash']],
  [
    'an expiry without zone',
    withServer({ apiKeys: [{ hash: hashOf('x'), expires: '2026-01-01' }] }),
    ['mcpServers[0].apiKeys[0].expires'],
  ],
  ['a wildcard return URL', withServer({ returnUrls: ['https://*.example/back'] }), ['mcpServers[0].returnUrls[0]']],
  ['a return URL with http', withServer({ returnUrls: ['http://app.example/'] }), ['mcpServers[0].returnUrls[0]']],
  ['a script as return URL', withServer({ returnUrls: ['javascript:alert(1)'] }), ['mcpServers[0].returnUrls[0]']],
  [
    'a return URL with an unknown scheme',
    withServer({ returnUrls: ['x://localhost/'] }),
    ['mcpServers[0].returnUrls[0]'],
  ],
  [
    'a script with a loopback host as return URL',
    withServer({ returnUrls: ['javascript://localhost/%0aalert(1)'] }),
    ['mcpServers[0].returnUrls[0]'],
  ],
  ['a return URL with a user', withServer({ returnUrls: ['https://a@app.example/'] }), ['mcpServers[0].returnUrls[0]']],
  ['an MCP endpoint that is not a URL', withServer({ url: 'tracker' }), ['mcpServers[0].url']],
  ['an unknown kind', withServer({ kinds: ['everything'] }), ['mcpServers[0].kinds[0]']],
  ['an unknown provider', withServer({ providers: ['forge', 'nowhere'] }), ['mcpServers[0].providers']],
  [
    'an issuer without identity provider',
    withServer({ issuers: ['https://other.example'] }),
    ['mcpServers[0].issuers'],
  ],
  ['no issuer', withServer({ issuers: [] }), ['mcpServers[0].issuers']],
  ['loopback identity with a public URL', withServer({ identity: { mode: 'loopback' } }), ['mcpServers[0].identity']],
  [
    'loopback identity for the whole network',
    { ...withServer({ identity: { mode: 'loopback' } }), publicUrl: 'http://localhost', listen: { host: '0.0.0.0' } },
    ['mcpServers[0].identity'],
  ],
  [
    'a group with two identity modes',
    groupOf({ mode: 'login' }, { mode: 'external', verifyUrl: 'https://app.example/verify' }),
    ['mcpServers[1].group'],
  ],
  [
    'a group with two applications',
    groupOf(
      { mode: 'external', verifyUrl: 'https://app.example/verify' },
      { mode: 'external', verifyUrl: 'https://other.example/verify' },
    ),
    ['mcpServers[1].group'],
  ],
  [
    'a verify URL with http',
    withServer({ identity: { mode: 'external', verifyUrl: 'http://app.example' } }),
    ['mcpServers[0].identity.verifyUrl'],
  ],
  [
    'a private JWK',
    withServer({ jwks: { keys: [{ ...ec.privateKey.export({ format: 'jwk' }), kid: 'a' }] } }),
    ['mcpServers[0].jwks.keys[0]'],
  ],
  [
    'a shared secret as JWK',
    withServer({ jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'a' }] } }),
    ['mcpServers[0].jwks.keys[0].kty'],
  ],
  ['an incomplete JWK', withServer({ jwks: { keys: [{ kty: 'EC', kid: 'a' }] } }), ['mcpServers[0].jwks.keys[0]']],
  ['a short RSA key', withServer({ jwks: { keys: [{ ...jwkOf(1024), kid: 'a' }] } }), ['mcpServers[0].jwks.keys[0]']],
  [
    'two identity providers with the same name',
    sampleConfig({
      identityProviders: ['https://id.example', 'https://other.example'].map(issuer => ({
        name: 'company',
        clientId: 'postern',
        clientSecret: 's',
        issuer,
      })),
    }),
    ['identityProviders'],
  ],
  [
    'two identity providers whose issuers differ in the slash of an empty path',
    sampleConfig({
      identityProviders: ['https://id.example', 'https://id.example/'].map((issuer, at) => ({
        name: `company-${at}`,
        clientId: 'postern',
        clientSecret: 's',
        issuer,
      })),
    }),
    ['identityProviders'],
  ],
  [
    'two identity providers with the same tenant',
    sampleConfig({
      identityProviders: [
        { name: 'company', issuer: `https://id.example/${tenant}/v2.0`, clientId: 'postern' },
        {
          name: 'everybody',
          issuer: 'https://id.example/{tenantid}/v2.0',
          clientId: 'postern',
          metadataUrl: 'https://id.example/organizations/metadata',
          tenants: [tenant],
        },
      ],
    }),
    ['identityProviders', 'mcpServers[0].issuers'],
  ],
  [
    'a multi-tenant identity provider without tenants',
    sampleConfig({
      identityProviders: [
        {
          name: 'company',
          issuer: 'https://id.example/{tenantid}/v2.0',
          clientId: 'postern',
          metadataUrl: 'https://id.example/organizations/metadata',
        },
      ],
    }),
    ['identityProviders[0].tenants'],
  ],
  [
    'two MCP servers with the same id',
    sampleConfig({ mcpServers: [sampleMcpServer, sampleMcpServer] }),
    ['mcpServers'],
  ],
  [
    'two MCP servers with the same API key',
    sampleConfig({ mcpServers: [sampleMcpServer, { ...sampleMcpServer, id: 'other' }] }),
    ['mcpServers'],
  ],
  ['a key service without transactionKey', inService({ receipts: sampleReceipts }), ['vault.transactionKey']],
  [
    'only keys in a key service, from which no receipt key derives',
    inService({}, randomBytes(32).toString('base64')),
    ['receipts.keys'],
  ],
  [
    'two vault keys with the same name',
    sampleConfig({
      vault: { keys: [1, 2].map(() => ({ kid: 'first', key: randomBytes(32).toString('base64') })) },
    }),
    ['vault.keys'],
  ],
  [
    'a passkey threshold in a currency without payments',
    withServer({ payment: { maxAmount: { EUR: 1 }, passkeyAbove: { USD: 1 } } }),
    ['mcpServers[0].payment.passkeyAbove.USD'],
  ],
  [
    'a limit of first passkeys in a currency without payments',
    withServer({ payment: { maxAmount: { EUR: 1 }, firstPasskeyUpTo: { USD: 1 } } }),
    ['mcpServers[0].payment.firstPasskeyUpTo.USD'],
  ],
  [
    'a limit of first passkeys that is not above the passkey threshold',
    withServer({ payment: { maxAmount: { EUR: 9 }, passkeyAbove: { EUR: 2 }, firstPasskeyUpTo: { EUR: 2 } } }),
    ['mcpServers[0].payment.firstPasskeyUpTo.EUR'],
  ],
  ['payments without a processor', withServer({ kinds: ['payment'] }), ['mcpServers[0].payment']],
  [
    'an unknown processor',
    withServer({ payment: { maxAmount: { EUR: 1 }, processors: ['none', 'cash'] } }),
    ['mcpServers[0].payment.processors'],
  ],
  [
    'a test key on a public gateway',
    { ...sampleConfig(), processors: [{ ...stripe, secretKey: 'rk_test_1' }] },
    ['processors[0].secretKey'],
  ],
  [
    'test mode with a live key',
    { ...sampleConfig(), processors: [{ ...stripe, testMode: true }] },
    ['processors[0].testMode'],
  ],
  ['a processor without registered payees', withPayees([]), [payees]],
  ['a payee that occurs twice', withPayees(['Shop', { name: ' Shop ' }]), [payees]],
  ['a payee in two alphabets', withPayees(['Sh\u043ep']), [`${payees}[0]`]],
  [
    'an account that Stripe does not have',
    withPayees([{ name: 'S', accounts: { [stripe.name]: 'a' } }]),
    [`${payees}[0].accounts.stripe-main`],
  ],
  [
    'an account at a processor of others',
    withPayees([{ name: 'S', accounts: { cash: 'acct_1', none: 'acct_1' } }]),
    [`${payees}[0].accounts.cash`, `${payees}[0].accounts.none`],
  ],
  ['a currency that the processor does not accept', withStripe({ EUR: 50, CUP: 1000 }), [`${limits}.CUP`]],
  ['a limit below the minimum of the processor', withStripe({ EUR: 49, JPY: 50 }), [`${limits}.EUR`]],
  ['a limit above the maximum of the processor', withStripe({ USD: 100_000_000 }), [`${limits}.USD`]],
  [
    'a passkey threshold with an IP address as public host',
    {
      ...sampleConfig({ publicUrl: 'http://127.0.0.1:8080' }),
      mcpServers: [{ ...sampleMcpServer, payment: { maxAmount: { EUR: 1 }, passkeyAbove: { EUR: 0 } } }],
    },
    ['mcpServers[0].payment.passkeyAbove'],
  ],
  [
    'a credential check with two authentication methods',
    withServer({
      credentialChecks: { a: { url: 'https://a.example', bearer: 'x', header: { name: 'x', field: 'x' } } },
    }),
    ['mcpServers[0].credentialChecks.a'],
  ],
  [
    'a credential check with http',
    withServer({ credentialChecks: { a: { url: 'http://a.example', bearer: 'x' } } }),
    ['mcpServers[0].credentialChecks.a.url'],
  ],
  ['a webhook without a signing key', withWebhooks({ secrets: [] }), ['mcpServers[0].webhooks[0].secrets']],
  [
    'a webhook with a short secret',
    withWebhooks({ secrets: ['whsec_c2hvcnQ='] }),
    ['mcpServers[0].webhooks[0].secrets[0]'],
  ],
  [
    'a webhook with a public key',
    withWebhooks({ signingKeys: ['whpk_'] }),
    ['mcpServers[0].webhooks[0].signingKeys[0]'],
  ],
  ['a webhook with http', withWebhooks({ url: 'http://hooks.example' }), ['mcpServers[0].webhooks[0].url']],
  ['a webhook to this machine', withWebhooks({ url: 'https://localhost/' }), ['mcpServers[0].webhooks[0].url']],
  ['two webhooks with the same id', withWebhooks({}, {}), ['mcpServers[0].webhooks']],
  ['CSS as colour', sampleConfig({ branding: { accent: 'red;}' } }), ['branding.accent']],
  [
    'an accent of one MCP server in the colour of danger',
    withServer({ branding: { accent: '#d32f2f' } }),
    ['mcpServers[0].branding.accent'],
  ],
  ['an accent in the colour of danger', sampleConfig({ branding: { accent: '#d32f2f' } }), ['branding.accent']],
  [
    'a logo on another host',
    sampleConfig({ branding: { logo: { light: '//evil.example/x.png' } } }),
    ['branding.logo.light'],
  ],
  [
    'a console on the host name of the pages',
    withConsole({ publicUrl: 'https://gate.example:8443' }),
    ['console.publicUrl'],
  ],
  ['a console over http', withConsole({ publicUrl: 'http://console.example' }), ['console.publicUrl']],
  [
    'a console on this machine beside public pages',
    withConsole({ publicUrl: 'http://127.0.0.1:9000' }),
    ['console.publicUrl'],
  ],
  ['a console on the port of the pages', withConsole({ listen: { port: 8080 } }), ['console.listen.port']],
  ['the admin API on the port of the pages', { ...sampleConfig(), adminApi: { port: 8080 } }, ['adminApi.port']],
  [
    'the admin API on the port of the console',
    { ...withConsole({ listen: { port: 8090 } }), adminApi: { port: 8090 } },
    ['adminApi.port'],
  ],
  ['a console without a role', withConsole({ roles: { claim: 'groups' } }), ['console.roles']],
  [
    'a console with both a secret and a key',
    withConsole({
      identityProvider: { issuer: 'https://id.example', clientId: 'c', clientSecret: 's', clientKey: '{}' },
    }),
    ['console.identityProvider.clientKey'],
  ],
  [
    'metrics on the port of the public listener',
    sampleConfig({ listen: { host: '0.0.0.0', port: 9000 }, metrics: { host: '127.0.0.1', port: 9000 } }),
    ['metrics.port'],
  ],
  [
    'an email claim as subject',
    sampleConfig({
      identityProviders: [{ name: 'example-id', issuer: 'https://id.example', clientId: 'c', subjectClaim: 'email' }],
    }),
    ['identityProviders[0].subjectClaim'],
  ],
];
