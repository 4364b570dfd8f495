import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../support/contract.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { appendOnlyFile, snapshot, watchCommands } from '../support/redis-files.ts';
import { findLeaks, type Secret } from '../support/secret-recorder.ts';
import { expireAccessToken } from '../support/token-expiry.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

let world: World;
let redis: Redis;
beforeAll(async () => {
  world = await startWorld();
  redis = new Redis(world.redis.url);
});
afterAll(async () => {
  redis?.disconnect();
  await world?.[Symbol.asyncDispose]();
});

async function connection(): Promise<{ connectionId: string; key: string }> {
  const subject = world.subject();
  const { elicitationId } = await world.ask(subject);
  await connectAccount(world.raw(), elicitationId, subject);
  const connectionId = (await world.api.read(elicitationId)).body.outcome?.connectionId ?? '';
  const [key] = await redis.keys(`*:cn:${connectionId.slice(5)}`);
  if (key === undefined) throw new Error('the connection is not stored');
  return { connectionId, key };
}

/** The sealed part of a record, a JWE, and the name of its field. */
async function sealedIn(key: string): Promise<{ field: string; whole: string; value: string }> {
  for (const [field, whole] of Object.entries(await redis.hgetall(key))) {
    const value = /ey[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){4}/.exec(whole)?.[0];
    if (value !== undefined) return { field, whole, value };
  }
  throw new Error('nothing is sealed');
}

describe('S01: the URL of an elicitation', () => {
  it('holds an opaque id and nothing else', async () => {
    const message = 'Canary message';
    const subject = world.subject();
    const { body } = await world.api.issue(
      askFor(world, subject, { message, requestedBy: { mcpClient: 'Canary client', tool: 'canary_tool' } }),
    );
    const url = new URL(body.url);
    expect(body.url).toBe(`${world.publicUrl}/e/${body.elicitationId}`);
    expect([url.search, url.hash, url.username, url.password]).toEqual(['', '', '', '']);
    for (const plain of [
      subject,
      'forge',
      'tracker',
      'canary',
      body.matchCode,
      new URL(world.identityProvider.issuer).port,
    ])
      expect(body.elicitationId.toLowerCase()).not.toContain(plain.toLowerCase());
    const { location } = await world.raw().get(`/login?e=${body.elicitationId}`);
    for (const plain of [subject, message, 'canary_tool', 'forge']) expect(location).not.toContain(plain);
  });
});

describe('S02: a link without sign-in', () => {
  it('shows the same page for a real and an unknown id', async () => {
    const { elicitationId } = await world.ask(world.subject(), { message: 'Canary message' });
    const unknown = `el_${elicitationId.slice(3, 5)}${'a'.repeat(43)}`;
    for (const path of ['', '/leaving', '?switch=1']) {
      const [real, none] = await Promise.all(
        [elicitationId, unknown].map(async id => {
          const { status, body, headers } = await world.raw().get(`/e/${id}${path}`);
          const { date: _, 'content-length': __, 'x-ratelimit-remaining': ___, ...rest } = headers;
          return JSON.stringify([status, body.replaceAll(id, '(id)'), rest]);
        }),
      );
      expect(real).toBe(none);
      expect(real).not.toMatch(/Canary|forge|Issue Tracker/i);
    }
  });

  it('leads to the same sign-in for a real and an unknown id', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const start = async (id: string) => {
      const { status, location } = await world.raw().get(`/login?e=${id}`);
      const { origin, pathname, searchParams } = new URL(location ?? '');
      return [status, origin, pathname, [...searchParams.keys()].sort(), searchParams.get('client_id')];
    };
    expect(await start(`el_00${'a'.repeat(43)}`)).toEqual(await start(elicitationId));
  });
});

describe('S45: ids and bearer values', () => {
  it('are 256 bits of base64url after their prefix, and never repeat', async () => {
    const ids = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const { elicitationId } = await world.ask(world.subject());
      const [, secret = ''] = /^el_[0-9a-f]{2}([A-Za-z0-9_-]{43})$/.exec(elicitationId) ?? [];
      expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
      ids.add(secret);
    }
    expect(ids.size).toBe(20);
    // A shared prefix or a counter would show in the letters of one position.
    for (const at of [0, 20, 42]) expect(new Set([...ids].map(id => id[at])).size).toBeGreaterThan(1);
  });

  it('have the same length in cookies and OAuth parameters', async () => {
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    const browser = world.raw();
    const login = new URL((await browser.get(`/login?e=${elicitationId}`)).location ?? '');
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(Buffer.from(login.searchParams.get(name) ?? '', 'base64url').byteLength).toBeGreaterThanOrEqual(32);
    await browser.signIn(elicitationId, subject);
    const provider = await browser.accept(elicitationId);
    expect(provider.searchParams.get('state')).toMatch(/^st_[0-9a-f]{2}[A-Za-z0-9_-]{43}$/);
    expect(browser.cookies.get('postern_browser')).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(browser.cookies.get('postern_session')).toMatch(/^bs_[0-9a-f]{2}[A-Za-z0-9_-]{43}$/);
  });
});

describe('S49, S50: tokens at rest', () => {
  it('are sealed under a new key each time', async () => {
    const [first, second] = [await connection(), await connection()];
    const [one, two] = [await sealedIn(first.key), await sealedIn(second.key)];
    const token = (await world.api.accessToken(first.connectionId)).body.accessToken;
    expect(JSON.stringify(await redis.hgetall(first.key))).not.toContain(token);
    const header = JSON.parse(Buffer.from(one.value.split('.')[0] ?? '', 'base64url').toString()) as object;
    expect(header).toMatchObject({ alg: 'A256GCMKW', enc: 'A256GCM', kid: 'test' });
    const parts = (value: string) => value.split('.').slice(1);
    for (const [at, part] of parts(one.value).entries()) expect(part).not.toBe(parts(two.value)[at]);
  });

  it.each<[string, (own: string, other: string) => string]>([
    ['of another person', (_, other) => other],
    ['with a changed last letter', own => `${own.slice(0, -1)}${own.endsWith('A') ? 'Q' : 'A'}`],
    [
      'cut short',
      own =>
        own
          .split('.')
          .with(3, own.split('.')[3]?.slice(0, -4) ?? '')
          .join('.'),
    ],
    [
      'with a weaker algorithm in the header',
      own =>
        own
          .split('.')
          .with(0, Buffer.from('{"alg":"dir","enc":"A128GCM","kid":"test"}').toString('base64url'))
          .join('.'),
    ],
    [
      'under an unknown key',
      own =>
        own
          .split('.')
          .with(0, Buffer.from('{"alg":"A256GCMKW","enc":"A256GCM","kid":"gone"}').toString('base64url'))
          .join('.'),
    ],
    ['that is not sealed at all', () => '{"accessToken":"planted","tokenType":"Bearer"}'],
    ['that is empty', () => ''],
  ])('do not open %s', async (_, change) => {
    const [mine, other] = [await connection(), await connection()];
    const { field, whole, value } = await sealedIn(mine.key);
    const planted = change(value, (await sealedIn(other.key)).value);
    expect(planted).not.toBe(value);
    await redis.hset(
      mine.key,
      field,
      whole.replace(value, () => JSON.stringify(planted).slice(1, -1)),
    );
    const answer = await world.api.accessToken(mine.connectionId);
    expectProblem(answer, 'internal_error');
    expect(JSON.stringify(answer.body)).not.toContain('planted');
    // The gateway does not offer a connection that it can no longer open; the other connection is untouched.
    expect((await world.api.accessToken(other.connectionId)).status).toBe(200);
  });
});

describe('S49: secrets at rest and in transit', () => {
  /** The files of Redis, and the commands that it received meanwhile. */
  async function sinksOf(commands: { readonly text: () => string }): Promise<Record<string, string>> {
    const { url } = world.redis;
    return { aof: await appendOnlyFile(url), rdb: await snapshot(url), monitor: commands.text() };
  }
  const everywhere = (kind: string) => ['aof', 'rdb', 'monitor'].map(sink => ({ sink, kind }));

  it('no generation of a token is readable, before or after the deletion of its connection', async () => {
    using commands = await watchCommands(world.redis.url);
    const { provider } = world;
    const { connectionId } = await connection();
    const secrets: Secret[] = [];
    for (const round of ['first', 'second', 'third']) {
      const { status, body } = await world.api.accessToken(connectionId);
      expect(status).toBe(200);
      expect(secrets.map(({ value }) => value)).not.toContain(body.accessToken);
      secrets.push({ kind: `${round} access token`, value: body.accessToken });
      await expireAccessToken(world.redis.url, connectionId);
    }
    for (const { form } of provider.requests('token'))
      if (form['refresh_token'] !== undefined)
        secrets.push({ kind: `refresh token ${secrets.length}`, value: form['refresh_token'] });
    expect(secrets.length).toBeGreaterThanOrEqual(5);
    expect(findLeaks(await sinksOf(commands), secrets)).toEqual([]);

    provider.fault({ endpoint: 'revocation', status: 503, times: 1 });
    expect((await world.api.remove(connectionId)).body.revocation).toBe('pending');
    expect(await redis.keys(`*:cn:${connectionId.slice(5)}`)).toEqual([]);
    expect(findLeaks(await sinksOf(commands), secrets)).toEqual([]);
  });

  it('the search finds a secret that was written to any of the three by mistake', async () => {
    using commands = await watchCommands(world.redis.url);
    const value = 'canary-0123456789-abcdefghij';
    await redis.hset('planted', 'token', JSON.stringify({ value }));
    await redis.ping();
    const leaks = findLeaks(await sinksOf(commands), [{ kind: 'planted', value }]);
    await redis.del('planted');
    expect(leaks).toEqual(everywhere('planted'));
  });
});
