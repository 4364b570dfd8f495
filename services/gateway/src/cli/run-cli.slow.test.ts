import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ConnectionId } from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { createKeyRing, createVault, kidOf } from '@postern/vault';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { connectionContext } from '../sealing/seal-contexts.ts';
import { runCommand } from '../testing/run-command.ts';
import { sampleConfig } from '../testing/sample-config.ts';

const { ask, complete, connectionFor, created, engage, moved, somebody } = samples;

const keys = Object.fromEntries(['old', 'new', 'gone'].map(kid => [kid, randomBytes(32).toString('base64')]));
const keyOf = (kid: string) => ({ kid, key: keys[kid] ?? '' });
const vaultOf = (...kids: string[]) =>
  createVault(createKeyRing(kids.map(kid => ({ kid, key: Buffer.from(keyOf(kid).key, 'base64') }))));

const statusSchema = z.object({
  keys: z.array(
    z.object({
      kid: z.string(),
      role: z.string(),
      counts: z.record(z.string(), z.int()),
    }),
  ),
  unreadable: z.array(z.unknown()),
});
const rewrapSchema = statusSchema.extend({ result: z.string(), rewrapped: z.int() });

const none = { connection: 0, revocation: 0, registration: 0, credential: 0, result: 0, apiKey: 0 };

describe('postern vault', () => {
  let redis: RedisServer;
  let stores: RedisStores;
  let folder: string;
  let prefix = '';
  let round = 0;
  beforeAll(async () => {
    redis = await startRedis();
    folder = await mkdtemp(join(tmpdir(), 'postern-cli-'));
  });
  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  beforeEach(async () => {
    round += 1;
    prefix = `cli-${round}`;
    stores = await createRedisStores({ url: redis.url, prefix });
  });
  afterEach(() => stores.close());

  async function configWith(...kids: string[]): Promise<string> {
    const path = join(folder, `${prefix}-${kids.join('-')}.yaml`);
    const config = sampleConfig({ redis: { url: redis.url, prefix }, vault: { keys: kids.map(keyOf) } });
    await writeFile(path, JSON.stringify(config));
    return path;
  }

  async function connect(kid: string): Promise<ConnectionId> {
    const subject = somebody();
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(subject)), engage);
    const connection = connectionFor(subject, active.elicitationId);
    const sealedTokens = await vaultOf(kid).seal('canary-token-90d1', connectionContext(connection));
    await moved(stores.elicitations, active, { ...complete(active), putConnection: { ...connection, sealedTokens } });
    return connection.connectionId;
  }
  const connectMany = (kid: string, count: number) => Promise.all(Array.from({ length: count }, () => connect(kid)));

  async function run(
    args: readonly string[],
    p: { isTerminal?: boolean; signal?: AbortSignal; onErr?: () => void } = {},
  ) {
    const { code, out, err } = await runCommand(args, {
      isTerminal: p.isTerminal ?? false,
      ...(p.onErr && { err: p.onErr }),
      ...(p.signal && { signal: p.signal }),
    });
    expect(out + err).not.toContain('canary');
    for (const key of Object.values(keys)) expect(out + err).not.toContain(key);
    return { code, out, err };
  }

  test('status counts values by key, and exits with 0 if all keys are configured', async () => {
    await connectMany('old', 3);
    await connectMany('new', 2);
    const config = await configWith('new', 'old');
    const { code, out } = await run(['vault', 'status', '--json', '-c', config]);
    expect(code).toBe(0);
    expect(statusSchema.parse(JSON.parse(out))).toEqual({
      keys: [
        { kid: 'new', role: 'current', counts: { ...none, connection: 2 } },
        { kid: 'old', role: 'old', counts: { ...none, connection: 3 } },
      ],
      unreadable: [],
    });
    const table = (await run(['vault', 'status', '--config', config])).out.split('\n');
    expect(table[1]?.split(/\s+/)).toEqual(['new', 'current', '2', '0', '0', '0', '0', '0', '2']);
    expect(table[2]?.split(/\s+/)).toEqual(['old', 'old', '3', '0', '0', '0', '0', '0', '3']);
  });

  test('status names a lost key and exits with 1', async () => {
    await connectMany('gone', 2);
    const { code, err } = await run(['vault', 'status', '-c', await configWith('new')]);
    expect(code).toBe(1);
    expect(err).toMatch(/"gone": 2 /);
  });

  test('rewrap re-wraps every value under the current key, so that the old key can be removed', async () => {
    const connectionIds = await connectMany('old', 50);
    const { code, out } = await run([
      'vault',
      'rewrap',
      '--reason',
      'rotation',
      '--json',
      '-c',
      await configWith('new', 'old'),
    ]);
    expect(code).toBe(0);
    expect(rewrapSchema.parse(JSON.parse(out))).toMatchObject({ result: 'done', rewrapped: 50 });
    expect((await run(['vault', 'status', '-c', await configWith('new')])).code).toBe(0);
    for (const connectionId of connectionIds) {
      const connection = await stores.connections.read(connectionId);
      expect(connection && (await vaultOf('new').open(connection.sealedTokens, connectionContext(connection)))).toBe(
        'canary-token-90d1',
      );
    }
  });

  test('rewrap with nothing to do names the removable keys', async () => {
    await connectMany('new', 3);
    const { code, out } = await run(['vault', 'rewrap', '--reason', 'rotation', '-c', await configWith('new', 'old')]);
    expect(code).toBe(0);
    expect(out).toMatch(/"old".*: 0 values/);
  });

  test('rewrap keeps its progress when interrupted, and continues when run again', async () => {
    const connectionIds = await connectMany('old', 200);
    const config = await configWith('new', 'old');
    const stopping = new AbortController();
    const onErr = () => stopping.abort();
    const first = await run(['vault', 'rewrap', '--reason', 'rotation', '--json', '-c', config], {
      signal: stopping.signal,
      onErr,
    });
    expect(first.code).toBe(130);
    const { rewrapped, result } = rewrapSchema.parse(JSON.parse(first.out));
    expect(result).toBe('stopped');
    expect(rewrapped).toBeLessThan(200);
    const second = await run(['vault', 'rewrap', '--reason', 'rotation', '--json', '-c', config]);
    expect(second.code).toBe(0);
    expect(rewrapSchema.parse(JSON.parse(second.out)).rewrapped).toBe(200 - rewrapped);
    const kids = await Promise.all(
      connectionIds.map(async id => kidOf((await stores.connections.read(id))?.sealedTokens ?? '')),
    );
    expect(new Set(kids)).toEqual(new Set(['new']));
  });

  test('rewrap re-wraps the values that open, names the lost key and exits with 1', async () => {
    await connectMany('gone', 2);
    await connectMany('old', 3);
    const { code, out, err } = await run([
      'vault',
      'rewrap',
      '--reason',
      'rotation',
      '--json',
      '-c',
      await configWith('new', 'old'),
    ]);
    expect(code).toBe(1);
    expect(rewrapSchema.parse(JSON.parse(out))).toMatchObject({ result: 'incomplete', rewrapped: 3 });
    expect(err).toMatch(/"gone": 2 /);
  });

  test('rewrap shows a bar on a terminal, and lines elsewhere', async () => {
    await connectMany('old', 70);
    const config = await configWith('new', 'old');
    const watched = await run(['vault', 'rewrap', '--reason', 'rotation', '-c', config], { isTerminal: true });
    expect(watched.err).toMatch(/\r█+ 100 % {2}70 of 70\n/);
    const again = await run(['vault', 'rewrap', '--reason', 'rotation', '-c', config]);
    expect(again.err).not.toContain('\r');
    expect(again.err).toMatch(/^100 % {2}0 of 0$/m);
  });

  test('new-key writes a valid key readable only by its owner, and never overwrites a file', async () => {
    const path = join(folder, 'fresh.key');
    const { code, out } = await run(['vault', 'new-key', '--kid', 'key-2', '--out', path]);
    expect(code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const key = readFileSync(path, 'utf8').trim();
    expect(Buffer.from(key, 'base64')).toHaveLength(32);
    expect(out).not.toContain(key);
    expect((await run(['vault', 'new-key', '--out', path])).code).toBe(1);
    expect(readFileSync(path, 'utf8').trim()).toBe(key);
    const config = join(folder, 'fresh.yaml');
    const vault = { keys: [{ kid: 'key-2', key: `\${file:${path}}` }] };
    await writeFile(config, JSON.stringify(sampleConfig({ redis: { url: redis.url, prefix }, vault })));
    expect((await run(['vault', 'status', '-c', config])).code).toBe(0);
  });

  test.each(['a b', '', '../x', 'x'.repeat(65)])('new-key refuses the name %j', async kid => {
    const path = join(folder, 'never.key');
    expect((await run(['vault', 'new-key', `--kid=${kid}`, '--out', path])).code).toBe(1);
    expect(existsSync(path)).toBe(false);
  });

  test.each([[['vault']], [['vault', 'open']], [['--force']], [['vault', 'status', '--config']]])(
    'exits with 2 for %j',
    async args => {
      expect((await run(args)).code).toBe(2);
    },
  );

  test.each([[[]], [['--help']], [['vault', '-h']]])('prints help for %j', async args => {
    const { code, out } = await run(args);
    expect(code).toBe(0);
    for (const name of ['status', 'rewrap', 'new-key']) expect(out).toContain(`postern vault ${name}`);
  });

  test('explains a bad configuration and an unreachable Redis', async () => {
    expect(await run(['vault', 'status', '-c', join(folder, 'none.yaml')])).toMatchObject({ code: 1, out: '' });
    const config = join(folder, 'nowhere.yaml');
    await writeFile(config, JSON.stringify(sampleConfig({ redis: { url: 'redis://127.0.0.1:1' } })));
    const { code, err } = await run(['vault', 'status', '-c', config]);
    expect(code).toBe(1);
    expect(err).not.toContain('Unexpected');
  });

  test('the process passes arguments, streams and the exit code', async () => {
    await connectMany('gone', 1);
    const config = await configWith('new');
    const args = [fileURLToPath(new URL('postern.ts', import.meta.url)), 'vault', 'status', '--json'];
    const env = { ...process.env, POSTERN_CONFIG: config };
    const failed: unknown = await promisify(execFile)(process.execPath, args, { env }).catch((error: unknown) => error);
    const { code, stdout, stderr } = z.object({ code: z.int(), stdout: z.string(), stderr: z.string() }).parse(failed);
    expect(code).toBe(1);
    expect(statusSchema.parse(JSON.parse(stdout)).keys).toHaveLength(2);
    expect(stderr).toContain('"gone"');
  });
});
