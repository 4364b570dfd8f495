import { inspect } from 'node:util';
import { inFull } from '@postern/testkit/in-full';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectAccount, declineOnPage } from '../support/person-at-gateway.ts';
import { dumpRedis, joinedRecords } from '../support/redis-dump.ts';
import { appendOnlyFile, snapshot, watchCommands } from '../support/redis-files.ts';
import { createSecretRecorder, findLeaks, type SecretRecorder } from '../support/secret-recorder.ts';
import { type Answer, type Api, askFor, keyOf, startWorld, type World } from '../support/world.ts';
import { type LastingStage, prepareLastingStory } from './lasting-story.ts';

const REDIS_PASSWORD = 'canary-redis-password-93f1';
const FROM_PROVIDER = 'canary-text-of-the-provider-7c2e';

let redisServer: RedisServer;
let world: World;
let lasting: LastingStage;
let recorder: SecretRecorder;
/** All response bodies of the API, except access tokens for their owner. */
const answers: string[] = [];
let sinks: Record<string, string>;

/** The API client; records every response. */
function recorded(api: Api): Api {
  const keep = <T extends Answer<unknown>>(answer: T): T => {
    answers.push(inspect([answer.status, [...answer.headers], answer.body], { depth: 10 }));
    return answer;
  };
  return {
    call: async (...args) => keep(await api.call(...args)) as never,
    issue: async (...args) => keep(await api.issue(...args)),
    read: async (...args) => keep(await api.read(...args)),
    cancel: async (...args) => keep(await api.cancel(...args)),
    connections: async subject => keep(await api.connections(subject)),
    redeem: async (...args) => {
      const answer = await api.redeem(...args);
      for (const value of Object.values(answer.body.values ?? {}))
        recorder.note('typed value over the API', String(value));
      return answer.status === 200 ? answer : keep(answer);
    },
    credentials: async subject => keep(await api.credentials(subject)),
    credential: async (...args) => {
      const answer = await api.credential(...args);
      for (const value of Object.values(answer.body.values ?? {}))
        recorder.note('typed value over the API', String(value));
      return answer.status === 200 ? answer : keep(answer);
    },
    removeCredential: async credentialId => keep(await api.removeCredential(credentialId)),
    remove: async connectionId => keep(await api.remove(connectionId)),
    accessToken: async (connectionId, request) => {
      const answer = await api.accessToken(connectionId, request);
      if (answer.status === 200) recorder.note('access token over the API', answer.body.accessToken);
      else keep(answer);
      return answer;
    },
  };
}

/** Uses the gateway in every way, as users, providers and machines do, with most of the possible failures. */
async function story(): Promise<void> {
  const api = recorded(world.api);
  const browser = () => recorder.watchBrowser(world.raw());
  const ask = async (user: string) =>
    (await api.issue(askFor(world, user), { 'idempotency-key': `key of ${user}`.replaceAll(' ', '-') })).body
      .elicitationId;
  const begun = async (user: string) => {
    const elicitationId = await ask(user);
    const someone = browser();
    await someone.signIn(elicitationId, user);
    const destination = await someone.accept(elicitationId);
    return { elicitationId, someone, destination };
  };

  // Connects an account and reads the token.
  const subject = world.subject();
  const connected = await ask(subject);
  await connectAccount(browser(), connected, subject);
  const connectionId = (await api.read(connected)).body.outcome?.connectionId ?? '';
  await api.accessToken(connectionId);
  await api.issue(askFor(world, subject));
  await api.call('GET', `/v1/connections?${new URLSearchParams({ issuer: world.identityProvider.issuer, subject })}`);

  // A decline here, a refusal at the provider, a wrong user.
  const decliner = world.subject();
  await declineOnPage(browser(), await ask(decliner), decliner);
  const denied = await begun(world.subject());
  await denied.someone.get(await denied.someone.decideAtProvider(denied.destination, 'alice', { decision: 'deny' }));
  const wrong = browser();
  await wrong.signIn(denied.elicitationId, 'bob');
  await wrong.get(`/e/${denied.elicitationId}`);
  await wrong.post(`/e/${denied.elicitationId}/accept`, { form: { csrf_token: 'x' } });

  // OAuth callbacks in another browser, repeated, without a code, and with an error text.
  const foreign = await begun(world.subject());
  const answer = await foreign.someone.decideAtProvider(foreign.destination, 'alice');
  await browser().get(answer);
  await foreign.someone.get(answer);
  const failing = await begun(world.subject());
  const bad = await failing.someone.decideAtProvider(failing.destination, 'alice');
  bad.searchParams.set('iss', `https://evil.example/${FROM_PROVIDER}`);
  await failing.someone.get(bad);
  const erring = await begun(world.subject());
  const error = await erring.someone.decideAtProvider(erring.destination, 'alice');
  error.searchParams.delete('code');
  error.searchParams.set('error', 'server_error');
  error.searchParams.set('error_description', FROM_PROVIDER);
  await erring.someone.get(error);

  // Every failure of a token endpoint.
  for (const fault of [
    { status: 500, body: FROM_PROVIDER },
    { status: 400, body: JSON.stringify({ error: 'invalid_grant', error_description: FROM_PROVIDER }) },
    { status: 200, body: JSON.stringify({ access_token: FROM_PROVIDER, token_type: FROM_PROVIDER, scope: 7 }) },
    { status: 200, body: `<html>${FROM_PROVIDER}` },
    { status: 302, headers: { location: `http://localhost:1/${FROM_PROVIDER}` } },
    { drop: 'after' as const },
    { drop: 'before' as const },
  ]) {
    const attempt = await begun(world.subject());
    const code = await attempt.someone.decideAtProvider(attempt.destination, 'alice');
    world.provider.fault({ endpoint: 'token', times: 1, headers: { 'content-type': 'application/json' }, ...fault });
    await attempt.someone.get(code);
    world.provider.clearFaults();
    await attempt.someone.get(`/e/${attempt.elicitationId}`);
  }

  // A sign-in that fails, and a callback without a login transaction.
  const stuck = browser();
  const signIn = await stuck.signInAnswer(denied.elicitationId, subject);
  world.identityProvider.fault({ endpoint: 'token', times: 1, status: 500, body: FROM_PROVIDER });
  await stuck.get(signIn);
  await stuck.get(signIn);
  await browser().get(signIn);
  world.identityProvider.clearFaults();

  // Refused callers, and refused input.
  const stolen = 'pk_canary-key-unknown-71aa';
  recorder.note('wrong API key', stolen);
  await recorded(world.apiOf({ apiKey: stolen })).read(connected);
  await api.call('POST', '/v1/elicitations', { kind: FROM_PROVIDER, subject: { accessToken: FROM_PROVIDER } });
  await api.call('POST', '/v1/elicitations', `{"subject":"${FROM_PROVIDER}`);
  await api.call(
    'POST',
    '/v1/elicitations',
    askFor(world, 'alice', { subject: { accessToken: `${FROM_PROVIDER}.a.b` } }),
  );
  await api.cancel(denied.elicitationId);

  // A sealed value that cannot be opened gives a 500.
  const redis = new Redis(world.redis.url);
  const [key = ''] = await redis.keys(`*:cn:${connectionId.slice(5)}`);
  for (const [field, value] of Object.entries(await redis.hgetall(key)))
    await redis.hset(
      key,
      field,
      value.replace(/ey[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){4}/, sealed => `${sealed.slice(0, -4)}AAAA`),
    );
  redis.disconnect();
  expect((await api.accessToken(connectionId)).status).toBe(500);
}

beforeAll(async () => {
  recorder = createSecretRecorder();
  redisServer = await startRedis({ args: ['--requirepass', REDIS_PASSWORD] });
  const redisUrl = `redis://:${REDIS_PASSWORD}@127.0.0.1:${redisServer.port}`;
  using commands = await watchCommands(redisUrl);
  let vaultKey = '';
  lasting = await prepareLastingStory(recorder.note);
  const { config } = lasting.options;
  world = await startWorld({
    ...lasting.options,
    plantsLeaks: true,
    redisUrl,
    isRedisKilled: true,
    config: parts => {
      vaultKey = parts.base.vault.keys[0]?.key ?? '';
      return typeof config === 'function' ? config(parts) : {};
    },
  });
  recorder.note('Redis password', REDIS_PASSWORD);
  recorder.note('vault key', vaultKey);
  recorder.note('API key', keyOf('tracker'));
  recorder.note('client secret', 'forge-client-secret');
  recorder.note('client secret of sign-in', 'postern-login-secret');
  recorder.note('text of the provider', FROM_PROVIDER);
  recorder.watchProvider('provider', world.provider);
  recorder.watchProvider('identity provider', world.identityProvider);
  const browser = () => recorder.watchBrowser(world.raw());
  await lasting.play({ world, api: recorded(world.api), recorder, browser });
  await story();
  await recorded(world.api).call('GET', '/v1/connections?provider=unknown');

  const dump = await dumpRedis(redisUrl);
  const aof = await appendOnlyFile(redisUrl);
  const rdb = await snapshot(redisUrl);
  const openApi = await (await fetch(`${world.gateways[0]?.address}/openapi.json`)).text();
  await redisServer.kill();
  await recorded(world.api).read(`el_00${'d'.repeat(43)}`);
  sinks = {
    log: world.log(),
    'Redis keys and values': JSON.stringify(dump),
    'Redis records, joined': joinedRecords(dump),
    'append-only file': aof,
    'RDB snapshot': rdb,
    MONITOR: commands.text(),
    '/openapi.json': openApi,
    'event streams': JSON.stringify(Object.entries(dump).filter(([name]) => name.endsWith(':events'))),
    'answers of the API': answers.join('\n'),
    'URLs of the gateway': recorder.targets.filter(target => !/^\/(login\/)?callback[/?]/.test(target)).join('\n'),
  };
});
afterAll(async () => {
  recorder?.[Symbol.dispose]();
  await redisServer?.restart();
  await world?.[Symbol.asyncDispose]();
  await lasting?.[Symbol.asyncDispose]();
  await redisServer?.[Symbol.asyncDispose]();
});

describe('S13, S49, S53: after all flows', () => {
  it('every kind of secret was used', () => {
    const kinds = new Set(recorder.secrets().map(({ kind }) => kind));
    for (const kind of [
      'provider code',
      'provider state',
      'provider code_verifier',
      'provider access_token',
      'provider refresh_token',
      'provider id_token',
      'provider credentials',
      'identity provider code',
      'identity provider state',
      'identity provider nonce',
      'identity provider code_verifier',
      'identity provider id_token',
      'cookie postern_session',
      'cookie postern_browser',
      'cookie postern_login0',
      'CSRF token',
      'API key',
      'wrong API key',
      'vault key',
      'Redis password',
      'client secret',
      'client key',
      'client secret of the device client',
      'DPoP private key',
      'provider DPoP proof',
      'provider client_assertion',
      'provider device_code',
      'provider user_code',
      'provider client_secret',
      'provider registration_access_token',
    ])
      expect(kinds, [...kinds].join(', ')).toContain(kind);
    expect(recorder.secrets().length).toBeGreaterThan(100);
  });

  it('no sink is empty', () => {
    for (const [sink, text] of Object.entries(sinks)) expect(text.length, sink).toBeGreaterThan(500);
    expect(sinks['log']).toContain('http.surprise');
    expect(sinks['log']).toContain('callback.refused');
    for (const event of ['refreshed', 'lost', 'disconnected']) expect(sinks['log']).toContain(`connection.${event}`);
    for (const event of ['revocation.postponed', 'revocation.ended']) expect(sinks['log']).toContain(event);
    expect(sinks['event streams']).toContain('"status","completed"');
    for (const sink of ['Redis keys and values', 'append-only file', 'RDB snapshot', 'MONITOR'])
      expect(sinks[sink], sink).toMatch(/\}:cn:/);
    // The pending revocation from the provider's downtime. On a slow machine it has already succeeded and is gone.
    for (const sink of ['append-only file', 'MONITOR']) expect(sinks[sink], sink).toMatch(/\}:rv:/);
    expect(sinks['/openapi.json']).toContain('access-token');
  });

  it('no sink contains a secret', () => {
    expect(findLeaks(sinks, recorder.secrets())).toEqual([]);
  });

  it('no page contains a code, a token, a cookie or a key', () => {
    // Three exceptions: forms contain the CSRF token, the leaving page links to the provider with state and nonce, and
    // the device page shows the user code.
    const secrets = recorder.secrets().filter(({ kind }) => !/CSRF|state|nonce|user_code/.test(kind));
    expect(findLeaks({ pages: recorder.pages.join('\n') }, secrets)).toEqual([]);
  });

  inFull.it('the scan finds each secret planted in each sink, in every encoding', () => {
    const disguises = [
      (value: string) => value,
      encodeURIComponent,
      (value: string) => JSON.stringify({ value }),
      (value: string) => Buffer.from(`x${value}`).toString('base64'),
      (value: string) => Buffer.from(JSON.stringify({ value })).toString('base64url'),
    ];
    const [secret] = recorder.secrets().slice(-1);
    if (secret === undefined) throw new Error('no secret');
    for (const [sink, text] of Object.entries(sinks)) {
      for (const disguise of disguises)
        expect(findLeaks({ [sink]: `${text} ${disguise(secret.value)}` }, [secret])).toEqual([
          { sink, kind: secret.kind },
        ]);
    }
  });

  it('the scan finds a secret in a log line', () => {
    const [code] = recorder.secrets().filter(({ kind }) => kind === 'provider code');
    world.gateways[0]?.deps.logger.info({ event: 'mistake', url: `/callback?code=${code?.value}` }, 'request');
    expect(findLeaks({ log: world.log() }, recorder.secrets())).toContainEqual({
      sink: 'log',
      kind: 'provider code',
    });
  });
});
