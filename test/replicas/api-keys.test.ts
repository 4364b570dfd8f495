import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { listen } from '../support/event-listener.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

const WITHIN = { timeout: 100_000, interval: 10 };
let world: World;
let folder: string;
let config: string;
beforeAll(async () => {
  world = await startWorld({ replicas: 2, isRedisKilled: true, config: { audit: { stream: true } } });
  folder = await mkdtemp(join(tmpdir(), 'postern-keys-'));
  config = join(folder, 'postern.config.yaml');
  await writeFile(config, JSON.stringify(world.config));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await world?.[Symbol.asyncDispose]();
});

const run = (...args: readonly string[]) => runCommand([...args, '-c', config]);
/** 503 where this machine was too busy to read the list within a second. */
const REFUSED = [401, 503];
const because = ['--by', 'olga', '--reason', 'test'];

/** Adds a key, and waits until both replicas accept it. */
async function addKey() {
  const added = await run('api-keys', 'add', 'tracker', 'production', ...because, '--json');
  expect(added.code).toBe(0);
  const { apiKeyId, key } = JSON.parse(added.out) as { apiKeyId: string; key: string };
  for (const replica of [0, 1])
    await vi.waitFor(async () => expect((await apiOf(key, replica).call('GET', '/v1/me')).status).toBe(200), WITHIN);
  return { apiKeyId, key };
}
const apiOf = (apiKey: string, replica = 0) => world.apiOf({ apiKey, replica });
/** KEYSPACE.md: all API keys are in one slot. */
const SLOT = 'f7';
const statusOf = async (key: string, replica: number) => (await apiOf(key, replica).call('GET', '/v1/me')).status;

describe('postern api-keys', () => {
  it('S130: a key added on one machine works on every replica until it is revoked, without a reload', async () => {
    const { apiKeyId, key } = await addKey();
    expect((await run('api-keys', 'revoke', apiKeyId, ...because)).code).toBe(0);
    for (const replica of [0, 1]) await vi.waitFor(async () => expect(await statusOf(key, replica)).toBe(401), WITHIN);
  });

  it('S181: postern audit shows what was done with one key, its refusal included, and neither another key nor a key itself', async () => {
    const { apiKeyId, key } = await addKey();
    const other = await addKey();
    for (const used of [key, other.key])
      expect((await apiOf(used).issue(askFor(world, world.subject()))).status).toBe(201);
    expect((await run('api-keys', 'revoke', apiKeyId, ...because)).code).toBe(0);
    await vi.waitFor(async () => expect(await statusOf(key, 0)).toBe(401), WITHIN);
    const events = async () => {
      const { out } = await run('audit', '--api-key', apiKeyId);
      expect(out).not.toContain(other.apiKeyId);
      for (const secret of [key, createHash('sha256').update(key).digest('hex')]) expect(out).not.toContain(secret);
      const lines = out.trim().split('\n');
      return [...new Set(lines.map(line => JSON.parse(line).event))];
    };
    const expected = ['api_key.added', 'elicitation.issued', 'api_key.revoked', 'caller.refused'];
    await vi.waitFor(async () => expect(await events()).toEqual(expected), WITHIN);
  });

  it('S130: revoking a key ends its waiting reads on every replica without a status, and its event streams', async () => {
    const { apiKeyId, key } = await addKey();
    const { elicitationId } = await world.ask(world.subject());
    const waiting = [0, 1].map(replica => apiOf(key, replica).read(elicitationId, 50));
    using stream = await listen(world.gateways[1]?.address ?? '', { apiKey: key });
    await run('api-keys', 'revoke', apiKeyId, ...because);
    for (const answer of await Promise.all(waiting)) {
      expect(REFUSED).toContain(answer.status);
      expect(answer.body).not.toHaveProperty('status', 'pending');
    }
    await stream.ended;
    expect(REFUSED).toContain((await listen(world.gateways[1]?.address ?? '', { apiKey: key })).status);
  });

  it('S130: a revoked key gets no response, whatever was under way', async () => {
    const { apiKeyId, key } = await addKey();
    const ids = await Promise.all(Array.from({ length: 8 }, () => world.ask(world.subject())));
    const waits = ids.map(({ elicitationId }, n) => apiOf(key, n % 2).read(elicitationId, 50));
    const ends = ids.map(({ elicitationId }) => world.api.cancel(elicitationId));
    const [revoked, answers] = await Promise.all([
      run('api-keys', 'revoke', apiKeyId, ...because),
      Promise.all(waits),
      Promise.all(ends),
    ]);
    expect(revoked.code).toBe(0);
    for (const { status } of answers) expect([200, ...REFUSED]).toContain(status);
    for (const replica of [0, 1]) await vi.waitFor(async () => expect(await statusOf(key, replica)).toBe(401), WITHIN);
    // From here on, nothing brings the key back.
    for (const replica of [0, 1]) expect(REFUSED).toContain(await statusOf(key, replica));
  });

  it('S130: a key of the configuration is refused while its revocation is stored', async () => {
    const found = JSON.parse((await run('api-keys', 'list', '--json')).out) as {
      apiKeys: { apiKeyId: string; source: string }[];
    };
    const [{ apiKeyId = '' } = {}] = found.apiKeys.filter(({ source }) => source === 'file');
    const keyFile = join(folder, 'leaked');
    await writeFile(keyFile, `${keyOf('tracker')}\n`);
    const dry = await run('api-keys', 'revoke', '--key-file', keyFile, ...because, '--dry-run');
    expect([dry.code, dry.out.includes(apiKeyId)]).toEqual([0, true]);
    expect(await statusOf(keyOf('tracker'), 0)).toBe(200);
    const revoked = await run('api-keys', 'revoke', '--key-file', keyFile, ...because);
    expect([revoked.code, revoked.err]).toEqual([0, expect.stringContaining('configuration file')]);
    for (const replica of [0, 1])
      await vi.waitFor(async () => expect(await statusOf(keyOf('tracker'), replica)).toBe(401), WITHIN);
    await world.redis.server?.ask('DEL', `postern:{${SLOT}}:ak:${apiKeyId}`);
    await world.redis.server?.ask('HDEL', `postern:{${SLOT}}:aks`, 'version');
    // A Redis that forgets makes it valid again, as the text says.
    await vi.waitFor(async () => expect(await statusOf(keyOf('tracker'), 0)).toBe(200), WITHIN);
  });

  it('S132: refuses a key that someone with write access to Redis adds, copies or moves', async () => {
    const { apiKeyId, key } = await addKey();
    const redis = world.redis.server;
    const base = `postern:{${SLOT}}`;
    const record = String(await redis?.ask('HGET', `${base}:ak:${apiKeyId}`, 'record')).trim();
    const about = String(await redis?.ask('HGET', `${base}:ak:${apiKeyId}`, 'about')).trim();
    await redis?.ask('HSET', `${base}:ak:ak_forged`, 'about', about, 'record', record, 'createdAt', '1');
    await redis?.ask('HSET', `${base}:aks`, 'ak_forged', 'valid', 'version', 'forged');
    await vi.waitFor(() => expect(world.log()).toContain('"apiKeyId":"ak_forged"'), WITHIN);
    await run('api-keys', 'revoke', apiKeyId, ...because);
    for (const replica of [0, 1]) await vi.waitFor(async () => expect(await statusOf(key, replica)).toBe(401), WITHIN);
    expect(String(await redis?.ask('HGET', `${base}:ak:${apiKeyId}`, 'record')).trim()).toBe('');
  });

  it('writes the key to a file that only its owner can read, and never overwrites one', async () => {
    const out = join(folder, 'new.key');
    const added = await run('api-keys', 'add', 'tracker', 'in a file', ...because, '--out', out);
    const key = (await readFile(out, 'utf8')).trim();
    expect([added.code, (await stat(out)).mode & 0o777, added.out]).toEqual([0, 0o600, '']);
    await vi.waitFor(async () => expect(await statusOf(key, 0)).toBe(200), WITHIN);
    expect((await run('api-keys', 'add', 'tracker', 'again', ...because, '--out', out)).code).toBe(1);
    expect((await readFile(out, 'utf8')).trim()).toBe(key);
  });

  it('says who and why in the list and in the audit trail, and never the key or its hash', async () => {
    const { apiKeyId, key } = await addKey();
    await run('api-keys', 'revoke', apiKeyId, '--by', 'olga', '--reason', 'found on a pastebin');
    const { out } = await run('api-keys', 'list');
    expect(out).toMatch(new RegExp(`${apiKeyId}.*olga: found on a pastebin`));
    const trail = (await run('audit')).out.split('\n').filter(line => line.includes(apiKeyId));
    expect(trail.map(line => JSON.parse(line) as object)).toMatchObject([
      { event: 'api_key.added', operator: 'olga', reason: 'test', mcpServerId: 'tracker' },
      { event: 'api_key.revoked', operator: 'olga', reason: 'found on a pastebin', source: 'store' },
    ]);
    const dump = `${out}${trail.join()}${world.log()}`;
    expect(dump).not.toContain(key);
  });

  it.each([
    ['without a reason', ['add', 'tracker', 'x'], 2],
    ['without a name', ['add', 'tracker', ...because], 2],
    ['of an unknown MCP server', ['add', 'nowhere', 'x', ...because], 1],
    ['with a name of two lines', ['add', 'tracker', 'a\nb', ...because], 1],
    ['with a reason of two lines', ['add', 'tracker', 'a', '--reason', 'a\nb'], 2],
    ['with an unknown id', ['revoke', 'ak_unknown', ...because], 1],
    ['with an id that is none', ['revoke', '../../x', ...because], 1],
    ['with an id and a file', ['revoke', 'ak_1', '--key-file', '/dev/null', ...because], 2],
    ['with an empty file', ['revoke', '--key-file', '/dev/null', ...because], 1],
  ])('refuses to change a key %s', async (_, args, code) => {
    const before = (await run('api-keys', 'list', '--json')).out;
    expect((await run('api-keys', ...args)).code).toBe(code);
    expect((await run('api-keys', 'list', '--json')).out).toBe(before);
  });

  it('a dry run adds no key', async () => {
    const before = (await run('api-keys', 'list', '--json')).out;
    expect((await run('api-keys', 'add', 'tracker', 'x', ...because, '--dry-run')).code).toBe(0);
    expect((await run('api-keys', 'list', '--json')).out).toBe(before);
  });

  it('S131: without Redis, keys of the store get 503, and those of the configuration still authenticate', async () => {
    const { key } = await addKey();
    await world.redis.server?.kill();
    await vi.waitFor(async () => {
      const refused = await apiOf(key).call<{ code?: string }>('GET', '/v1/me');
      expectProblem(refused, 'api_keys_unavailable');
      expectInContract('readCaller', refused);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    }, WITHIN);
    expect(await statusOf(keyOf('tracker'), 0)).toBe(200);
    // A credential of another form cannot be a key of the store.
    expect(await statusOf('pk_unknown', 0)).toBe(401);
    await world.redis.server?.restart();
    for (const replica of [0, 1]) await vi.waitFor(async () => expect(await statusOf(key, replica)).toBe(200), WITHIN);
  });
});
