import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GatewayConfigInput } from '@postern/gateway';
import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const POSTERN = fileURLToPath(new URL('../../services/gateway/src/postern.ts', import.meta.url));
const CANARY = 'canary-7c1d9e';
/** Another host name than that of the pages. */
const CONSOLE = 'http://127.0.0.1:7';
const RESTRICTED = 'rk_test_restricted';
const POWERLESS = 'rk_test_powerless';
const findingSchema = z.strictObject({
  check: z.string(),
  status: z.enum(['ok', 'warning', 'failed']),
  message: z.string(),
});
const reportSchema = z.strictObject({ result: z.enum(['ok', 'failed']), findings: z.array(findingSchema) });

let world: PayingWorld;
let evil: EvilProvider;
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postern-check-'));
  world = await startWorld({
    payment: {},
    stripe: { restrictedKey: RESTRICTED, powerlessKey: POWERLESS },
    plantsLeaks: true,
  });
  evil = await startEvilProvider({ clientId: 'postern' });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await evil?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});
let honest: Partial<EvilProvider> | undefined;
beforeEach(() => {
  const { metadata, metadataAnswer, jwksAnswer } = evil;
  honest ??= { metadata, metadataAnswer, jwksAnswer };
  Object.assign(evil, honest);
});

let files = 0;
function fileWith(text: string): string {
  files += 1;
  const path = join(folder, `file-${files}`);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** Runs the command. No secret of the configuration may be in its output. */
async function run(config: GatewayConfigInput | string, ...args: string[]) {
  const path = fileWith(typeof config === 'string' ? config : JSON.stringify(config));
  const { code, out, err } = await runCommand(['check', path, '--json', ...args]);
  for (const secret of [
    CANARY,
    'postern-login-secret',
    'forge-client-secret',
    world.stripe.secretKey,
    ...world.stripe.webhookSecrets,
    ...world.config.vault.keys.map(({ key }) => key),
  ])
    expect(out + err).not.toContain(secret);
  const report = reportSchema.parse(JSON.parse(out));
  expect(code).toBe(report.result === 'ok' ? 0 : 1);
  return {
    ...report,
    /** The statuses of one check, and of those below it. */
    of: (check: string) => report.findings.filter(finding => finding.check === check),
    statusOf: (check: string) => [...new Set(report.findings.filter(f => f.check === check).map(f => f.status))],
  };
}

const identityProviderAt = (issuer: string): GatewayConfigInput['identityProviders'] => [
  { name: 'example-id', issuer, clientId: 'postern', clientSecret: CANARY },
];
const withIssuer = (issuer: string, timeoutSeconds = 20): GatewayConfigInput => ({
  ...world.config,
  outbound: { timeoutSeconds },
  identityProviders: identityProviderAt(issuer) ?? [],
  mcpServers: world.config.mcpServers.map(server => ({ ...server, issuers: [issuer] })),
});

describe('postern check', () => {
  it('S99: finds no fault in a running deployment, creates nothing there, and names the redirect URIs to register', async () => {
    const report = await run(world.config);
    expect(report.findings.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(report.result).toBe('ok');
    for (const check of [
      'configuration',
      'redis.writes',
      'redis.permissions',
      'publicUrl',
      'clock',
      'processor.stripe-main',
    ])
      expect([check, report.statusOf(check)]).toEqual([check, ['ok']]);
    expect(report.of('identityProvider.example-id.redirectUri')[0]?.message).toContain(
      `${world.publicUrl}/login/callback/example-id`,
    );
    expect(report.of('provider.forge.redirectUri')[0]?.message).toContain(`${world.publicUrl}/callback/tracker/forge`);
    // Nothing was issued, registered or charged.
    expect(world.stripe.checkoutSessions).toEqual([]);
  });

  it('is a command that reads a token from standard input, and prints a line per finding', async () => {
    const path = fileWith(JSON.stringify(world.config));
    const child = execFile(process.execPath, [POSTERN, 'check', '-c', path, '--token-file', '-']);
    let out = '';
    child.stdout?.on('data', text => {
      out += text;
    });
    child.stdin?.end(CANARY);
    const [code] = await once(child, 'close');
    expect(out).toMatch(/^ok +configuration /m);
    expect(out).toMatch(/^failed +token /m);
    // On a busy machine this new process may exceed the deadlines of other checks.
    expect(out).toMatch(/^\d+ ok, \d+ warnings, [1-9]\d* failed$/m);
    expect(out).not.toContain(CANARY);
    expect(code).toBe(1);
  });

  it('names every fault of the configuration by its path, and checks nothing else', async () => {
    const report = await run({ ...world.config, publicUrl: `http://${CANARY}.example`, limits: { storedRecords: 1 } });
    expect(report.findings.map(({ check, status }) => [check, status])).toEqual([
      ['configuration', 'failed'],
      ['configuration', 'failed'],
    ]);
    expect((await run(`publicUrl: "${CANARY}`)).findings).toHaveLength(1);
  });

  it('warns about files that other users may read', async () => {
    const key = fileWith(world.config.vault.keys[0]?.key ?? '');
    const vault = { keys: [{ kid: 'test', key: `\${file:${key}}` }] };
    expect((await run({ ...world.config, vault })).statusOf('files')).toEqual(['ok']);
    chmodSync(key, 0o644);
    expect((await run({ ...world.config, vault })).statusOf('files')).toEqual(['warning']);
  });
});

describe('publicUrl', () => {
  const publicUrlOf = async (changes: Partial<GatewayConfigInput>) => {
    const [finding] = (await run({ ...world.config, ...changes })).of('publicUrl');
    return finding;
  };

  it('S98: counts only if a gateway with the same vault keys answers', async () => {
    const other = {
      keys: [{ kid: 'other', key: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64') }],
    };
    expect(await publicUrlOf({ vault: other })).toMatchObject({ status: 'failed' });
    expect((await publicUrlOf({ vault: other }))?.message).toContain('other vault keys');
  });

  it('may lead through a proxy', async () => {
    const { hostname: host, port } = new URL(world.publicUrl);
    const target = () => ({ host, port: Number(port) });
    await using proxy = await startTcpProxy({ target, pass: (near, far) => void near.pipe(far) });
    expect(await publicUrlOf({ publicUrl: `http://localhost:${proxy.port}` })).toMatchObject({ status: 'ok' });
  });

  it('fails if it leads to another program, while the gateway runs here', async () => {
    expect(await publicUrlOf({ publicUrl: new URL(evil.issuer).origin })).toMatchObject({ status: 'failed' });
  });

  it('is not judged while the gateway does not run', async () => {
    const [finding] = (await run({ ...world.config, publicUrl: 'http://127.0.0.1:1', listen: { port: 1 } })).of(
      'publicUrl',
    );
    expect(finding).toMatchObject({ status: 'warning' });
    expect(finding?.message).toContain('not running');
  });

  it('S98: the proof answers only to a nonce of the right form, and differs for each', async () => {
    const proof = async (nonce: string) => fetch(`${world.publicUrl}/gateway-proof/${nonce}`);
    const [first, second] = ['a', 'b'].map(letter => letter.repeat(43));
    const answers = await Promise.all([first, second].map(async nonce => (await proof(nonce ?? '')).text()));
    expect(new Set(answers).size).toBe(2);
    for (const nonce of ['short', 'a'.repeat(44), `${'a'.repeat(42)}*`, `${'a'.repeat(42)}%2F`])
      expect((await proof(nonce)).status).toBe(404);
  });
});

describe('an identity provider', () => {
  const statusOf = async (config: GatewayConfigInput) => {
    const [finding] = (await run(config)).of('identityProvider.example-id');
    return finding;
  };

  it.each<[string, () => Partial<EvilProvider>, RegExp]>([
    ['names another issuer', () => ({ metadata: { ...evil.metadata, issuer: 'https://other.example' } }), /issuer/],
    ['answers with HTML', () => ({ metadataAnswer: () => ({ body: `<h1>${CANARY}</h1>` }) }), /metadata/],
    ['answers with an error', () => ({ metadataAnswer: () => ({ status: 500, body: CANARY }) }), /unavailable/],
    ['has no key', () => ({ jwksAnswer: () => ({ body: { keys: [] } }) }), /no key/],
    ['has only broken keys', () => ({ jwksAnswer: () => ({ body: { keys: [{ kty: 'RSA', n: CANARY }] } }) }), /no key/],
    ['answers with keys of another shape', () => ({ jwksAnswer: () => ({ body: { keys: CANARY } }) }), /metadata/],
  ])('that %s fails', async (_, behaviour, text) => {
    Object.assign(evil, behaviour());
    const finding = await statusOf(withIssuer(evil.issuer));
    expect(finding).toMatchObject({ status: 'failed', message: expect.stringMatching(text) });
  });

  it('S194: with metadataUrl and tenants is checked like any other', async () => {
    const tenant = '11111111-2222-4333-8444-555555555555';
    const issuer = `${evil.issuer}/{tenantid}/v2.0`;
    const config = withIssuer(issuer.replace('{tenantid}', tenant));
    const metadataUrl = `${evil.issuer}/organizations/.well-known/openid-configuration`;
    const identityProviders = (config.identityProviders ?? []).map(one => ({
      ...one,
      issuer,
      metadataUrl,
      tenants: [tenant],
    }));
    evil.metadata = { ...evil.metadata, issuer };
    expect(await statusOf({ ...config, identityProviders })).toMatchObject({ status: 'ok' });
    evil.metadata = { ...evil.metadata, issuer: evil.issuer };
    const finding = await statusOf({ ...config, identityProviders });
    expect(finding).toMatchObject({ status: 'failed', message: expect.stringMatching(/metadataUrl/) });
  });

  it('of the console is checked as well, with its own redirect URI', async () => {
    const consoleOf = (issuer: string): GatewayConfigInput => ({
      ...world.config,
      console: {
        publicUrl: CONSOLE,
        listen: { port: 0 },
        identityProvider: { issuer, clientId: 'postern-console', clientSecret: CANARY },
        roles: { claim: 'groups', operator: ['staff'] },
      },
    });
    const good = await run(consoleOf(evil.issuer));
    expect(good.statusOf('console.identityProvider')).toEqual(['ok']);
    expect(good.of('console.identityProvider.redirectUri')[0]?.message).toContain(`${CONSOLE}/login/callback/console`);
    expect((await run(consoleOf('http://127.0.0.1:1'))).statusOf('console.identityProvider')).toEqual(['failed']);
    expect((await run(world.config)).of('console.identityProvider')).toEqual([]);
  });

  it('that accepts connections and never responds does not stop the other checks', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const report = await run(withIssuer(`http://127.0.0.1:${port}`, 0.5));
    silent.close();
    expect(report.of('identityProvider.example-id')).toMatchObject([{ status: 'failed' }]);
    expect(report.statusOf('redis.writes')).toEqual(['ok']);
    // With this timeout, a busy machine decides about its result.
    expect(report.of('publicUrl')).toHaveLength(1);
  });

  it('whose clock is wrong is a fault of the clock', async () => {
    evil.metadataAnswer = () => ({
      headers: { date: new Date(Date.now() + 3_600_000).toUTCString() },
      body: evil.metadata,
    });
    expect((await run(withIssuer(evil.issuer))).statusOf('clock')).toEqual(['warning']);
  });
});

describe('Redis', () => {
  const findingsWith = async (redis: GatewayConfigInput['redis']) =>
    (await run({ ...world.config, ...(redis && { redis }) })).findings.filter(({ check }) =>
      check.startsWith('redis.'),
    );

  it.each([
    ['without an append-only file', { appendonly: 'no' as const }, 'redis.settings'],
    ['that evicts', { args: ['--maxmemory-policy', 'allkeys-lru'] }, 'redis.settings'],
    ['that is full', { args: ['--maxmemory', '100kb'] }, 'redis.writes'],
    [
      'with a user that only reads',
      {
        access: { lines: ['user reader on >secret ~* &* +@all -@write'], user: { name: 'reader', password: 'secret' } },
      },
      'redis.permissions',
    ],
  ])('%s fails', async (_, options, check) => {
    await using redis = await startRedis(options);
    const failed = (await findingsWith({ url: redis.url })).filter(({ status }) => status === 'failed');
    expect(failed.map(finding => finding.check)).toContain(check);
    expect((await redis.ask('KEYS', '*')).trim()).toBe('');
  });

  it('that refuses the password, or the connection, fails', async () => {
    await using redis = await startRedis();
    await redis.ask('CONFIG', 'SET', 'requirepass', 'right');
    const wrong = `redis://:${CANARY}@${redis.host}:${redis.port}`;
    expect(await findingsWith({ url: wrong })).toMatchObject([{ check: 'redis.connection', status: 'failed' }]);
    expect(await findingsWith({ url: 'redis://127.0.0.1:1' })).toMatchObject([{ status: 'failed' }]);
  });
});

describe('a payment processor', () => {
  const processorOf = async (changes: object) => {
    const processors = (world.config.processors ?? []).map(each => ({ ...each, ...changes }));
    const { findings } = await run({ ...world.config, processors });
    return findings.filter(({ check }) => check.startsWith('processor.')).map(({ status }) => status);
  };

  it('that refuses the key, or grants it too little, fails', async () => {
    expect(await processorOf({ secretKey: 'sk_test_wrong' })).toEqual(['failed']);
    expect(await processorOf({ secretKey: POWERLESS })).toEqual(['failed', 'ok']);
    // It may charge, and not refund.
    expect(await processorOf({ secretKey: RESTRICTED })).toEqual(['failed', 'ok']);
  });

  it('without a webhook endpoint for this gateway is a warning', async () => {
    expect(await processorOf({})).toEqual(['ok', 'warning']);
  });
});

describe('a provider', () => {
  it('whose endpoint does not respond fails, with the redirect URIs to register', async () => {
    const providers = [
      {
        name: 'forge',
        displayName: 'Forge',
        clientId: 'a',
        clientSecret: CANARY,
        authorizationEndpoint: 'http://127.0.0.1:1/authorize',
        tokenEndpoint: 'http://127.0.0.1:1/token',
      },
    ];
    const report = await run({ ...world.config, providers });
    expect(report.of('provider.forge')).toMatchObject([{ status: 'failed' }]);
    expect(report.of('provider.forge.redirectUri')).toHaveLength(1);
  });
});

describe('--token-file', () => {
  const claims = (changes: object) => ({
    iss: evil.issuer,
    sub: 'user-1',
    aud: 'http://localhost:7001/mcp',
    exp: Math.floor(Date.now() / 1000) + 3600,
    ...changes,
  });
  const config = (): GatewayConfigInput => ({
    ...withIssuer(evil.issuer),
    identityProviders: (identityProviderAt(evil.issuer) ?? []).map(each => ({ ...each, accessTokens: {} })),
  });
  const tokenOf = async (changes: object, header = {}) => evil.sign(claims(changes), header);
  const checkedToken = async (token: string, used = config()) => {
    const report = await run(used, '--token-file', fileWith(token));
    for (const part of token.split('.')) expect(JSON.stringify(report.findings)).not.toContain(part);
    return report.of('token')[0];
  };

  it('shows which user an access token stands for', async () => {
    const found = await checkedToken(await tokenOf({}));
    expect(found).toMatchObject({ status: 'ok', message: expect.stringContaining('"user-1"') });
  });

  it.each<[string, object, RegExp]>([
    ['has expired', { exp: 1_000_000 }, /expired at 1970/],
    ['is for another audience', { aud: 'https://other.example' }, /audience is "https:\/\/other.example"/],
    ['is an ID token', { aud: 'postern' }, /ID token/],
    ['comes from another issuer', { iss: 'https://other.example' }, /issuer/],
    ['is not valid yet', { nbf: 9_000_000_000, exp: 9_900_000_000 }, /valid only from/],
    ['has no subject', { sub: undefined }, /claim sub/],
  ])('explains why a token that %s is refused', async (_, changes, text) => {
    const found = await checkedToken(await tokenOf(changes));
    expect(found).toMatchObject({ status: 'failed', message: expect.stringMatching(text) });
  });

  it('explains a wrong signature, an opaque token, and a missing section', async () => {
    const token = await tokenOf({});
    const forged = `${token.slice(0, -8)}AAAAAAAA`;
    expect(await checkedToken(forged)).toMatchObject({ status: 'failed', message: expect.stringMatching(/signature/) });
    expect(await checkedToken('opaque-token')).toMatchObject({ message: expect.stringMatching(/not a JWT/) });
    const without = withIssuer(evil.issuer);
    expect(await checkedToken(token, without)).toMatchObject({ message: expect.stringMatching(/accessTokens/) });
  });
});
