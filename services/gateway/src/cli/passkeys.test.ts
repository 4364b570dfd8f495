import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIRST_DELAY_MS, type Subject } from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import { runCommand } from '../testing/run-command.ts';
import { sampleConfig } from '../testing/sample-config.ts';

const { passkeyFor, somebody } = samples;

let redis: RedisServer;
let stores: RedisStores;
let folder: string;
let configPath: string;
let vouching: string;
beforeAll(async () => {
  redis = await startRedis();
  stores = await createRedisStores({ url: redis.url, prefix: 'passkeys' });
  folder = await mkdtemp(join(tmpdir(), 'postern-passkeys-'));
  configPath = join(folder, 'config.yaml');
  const config = sampleConfig({ redis: { url: redis.url, prefix: 'passkeys' }, audit: { stream: true } });
  const [first, ...others] = config.mcpServers;
  if (first === undefined) throw new Error('no MCP server');
  const identity = { mode: 'external' as const, verifyUrl: 'https://app.example.com/verify' };
  const app = { ...first, id: 'app', apiKeys: [{ hash: `sha256:${'a'.repeat(64)}` }], identity };
  vouching = app.id;
  await writeFile(configPath, JSON.stringify({ ...config, mcpServers: [first, ...others, app] }));
});
afterAll(async () => {
  await stores?.close();
  await redis?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const cli = (...args: string[]) => runCommand([...args, '-c', configPath]);

const reset = (...args: string[]) => cli('passkeys', 'reset', ...args, '--by', 'olga', '--reason', 'ticket 7');

const add = (subject: Subject) => stores.passkeys.add(passkeyFor(subject), 10);
const trail = async () => (await stores.audits.read({ limit: 100 })).map(({ line }) => JSON.parse(line));

describe('S67: postern passkeys reset', () => {
  test('removes every passkey of the user in every identity mode, and no other passkey', async () => {
    const [subject, other] = [somebody(), somebody()];
    const vouched = passkeyOwnerOf({ identityMode: 'external', mcpServerId: vouching, subject });
    for (const holder of [subject, subject, vouched, other]) expect(await add(holder)).toBe('added');
    const { code, out } = await reset(subject.issuer, subject.subject);
    const named = await cli('audit', 'pseudonym', subject.issuer, subject.subject);
    expect([code, named.code]).toEqual([0, 0]);
    const pseudonym = named.out.trim();
    expect(out).toContain(pseudonym);
    expect(out).not.toContain(subject.subject);
    for (const holder of [subject, vouched]) expect(await stores.passkeys.list(holder)).toEqual([]);
    expect(await stores.passkeys.list(other)).toHaveLength(1);
    expect(await trail()).toContainEqual(
      expect.objectContaining({
        audit: true,
        event: 'passkey.reset',
        subject: pseudonym,
        passkeys: 3,
        by: 'operator',
        operator: 'olga',
        reason: 'ticket 7',
      }),
    );
  });

  test('S179: a dry run, which shows a count, is in the audit trail', async () => {
    const subject = somebody();
    await add(subject);
    expect((await reset(subject.issuer, subject.subject, '--dry-run')).code).toBe(0);
    expect((await trail()).at(-1)).toMatchObject({
      event: 'admin.person_viewed',
      what: 'passkeys',
      operator: 'olga',
      reason: 'ticket 7',
    });
    expect(await stores.passkeys.list(subject)).toHaveLength(1);
  });

  test('makes the next passkey count 24 hours after it was added', async () => {
    const subject = somebody();
    await add(subject);
    await reset(subject.issuer, subject.subject);
    await add(subject);
    const [added] = await stores.passkeys.list(subject);
    expect(await stores.passkeys.countFrom(subject)).toEqual({
      at: (added?.createdAt ?? 0) + FIRST_DELAY_MS,
      isLimited: false,
    });
  });

  test('S179: exits with 1 and removes nothing if the user has no passkey, which it records as a look', async () => {
    const subject = somebody();
    expect(await reset(subject.issuer, subject.subject)).toMatchObject({ code: 1, out: '' });
    await add(subject);
    expect(await stores.passkeys.countFrom(subject)).toBeUndefined();
    expect((await trail()).at(-1)).toMatchObject({
      event: 'admin.person_viewed',
      what: 'passkeys',
      reason: 'ticket 7',
    });
  });

  test.each([[['https://id.example.com']], [['a', 'b', 'c']]])('exits with 2 for %j', async args => {
    expect((await reset(...args)).code).toBe(2);
  });
});
