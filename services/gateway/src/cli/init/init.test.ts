import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startGateway } from '../../gateway.ts';
import { loadConfig } from '../../platform/config/load-config.ts';
import { createLogger } from '../../platform/logger.ts';
import { runCommand } from '../../testing/run-command.ts';

let redis: RedisServer;
let folder: string;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis?.[Symbol.asyncDispose]());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-init-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the command. @param answers of the operator at a terminal; the input then ends */
async function init(args: readonly string[], answers?: readonly string[]) {
  const asked: string[] = [];
  const rest = [...(answers ?? [])];
  const ask = async (question: string) => {
    asked.push(question);
    return rest.shift();
  };
  const ran = await runCommand(['init', '--folder', folder, ...args], answers && { ask });
  return { ...ran, asked };
}

const company = ['--public-url', 'https://postern.example.com', '--issuer', 'https://id.example.com'];
const tracker = ['--mcp-server', 'tracker', '--mcp-url', 'https://mcp.example.com/mcp'];
const login = ['--mode', 'login', ...company, '--client-id', 'postern', ...tracker];
const variants = [
  ['loopback', ['--mode', 'loopback'], 'local'],
  ['loopback with a provider', ['--mode', 'loopback', '--provider', 'github'], 'local'],
  ['login', [...login, '--provider', 'github', '--provider', 'slack'], 'tracker'],
  ['login with a secret in a file', [...login, '--client-secret-file', 'secret'], 'tracker'],
  [
    'external',
    ['--mode', 'external', ...company, '--verify-url', 'https://app.example.com/postern', ...tracker],
    'tracker',
  ],
  ['nothing but what cannot be guessed', [...company, '--mcp-url', 'https://mcp.example.com/mcp'], 'mcp-example-com'],
  ['nothing at all', [], 'local'],
  ['texts that are special in YAML', [...login, '--name', 'Tracker: "it\'s" # 1 \\ {x}'], 'tracker'],
] as const;
const configPath = () => join(folder, 'postern.config.yaml');
const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8');
const modeOf = (...path: string[]) => statSync(join(folder, ...path)).mode & 0o777;

describe('postern init', () => {
  test.each(variants)(
    '%s: the gateway starts with the file as it is, and accepts the new API key',
    async (_, args, id) => {
      const secretFile = join(folder, 'client-secret');
      writeFileSync(secretFile, 'secret');
      const { code, out, err } = await init(args.map(each => (each === 'secret' ? secretFile : each)));
      expect([code, err]).toEqual([0, '']);
      expect([modeOf('postern.config.yaml'), modeOf('secrets'), modeOf('secrets/vault.key')]).toEqual([
        0o600, 0o700, 0o600,
      ]);
      const apiKey = read('secrets', `${id}.api-key`).trim();
      expect(`${out}${read('postern.config.yaml')}`).not.toContain(apiKey);
      expect(`${out}${read('postern.config.yaml')}`).not.toContain(read('secrets/vault.key').trim());

      const names = ['IDENTITY_PROVIDER', 'GITHUB', 'SLACK'].flatMap(name => [
        `${name}_CLIENT_ID`,
        `${name}_CLIENT_SECRET`,
      ]);
      const env = { REDIS_URL: redis.url, ...Object.fromEntries(names.map(name => [name, 'set'])) };
      const config = loadConfig(configPath(), env);
      const destination = new Writable({ write: (_chunk, _encoding, done) => done() });
      await using gateway = await startGateway(
        { ...config, listen: { host: '127.0.0.1', port: 0 } },
        { logger: createLogger({ level: 'error', destination }) },
      );
      const statusWith = async (key: string) =>
        (await fetch(`${gateway.address}/v1/elicitations/el_none`, { headers: { authorization: `Bearer ${key}` } }))
          .status;
      expect([await statusWith(apiKey), await statusWith(`${apiKey}x`)]).toEqual([404, 401]);
    },
  );

  test('names the first missing flag if standard input is not a terminal, and writes nothing', async () => {
    const missing = [
      [['--mode', 'login'], '--public-url'],
      [['--issuer', 'https://id.example.com'], '--public-url'],
      [['--mode', 'external', ...company], '--verify-url'],
      [['--mode', 'external', ...company, '--verify-url', 'https://app.example.com/'], '--mcp-url'],
    ] as const;
    for (const [args, flag] of missing) {
      const { code, err } = await init(args);
      expect([code, err.includes(flag)]).toEqual([2, true]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ['an unknown mode', ['--mode', 'open']],
    ['a flag of another mode', ['--mode', 'loopback', '--verify-url', 'https://app.example.com/']],
    ['a flag of another mode than the implied one', ['--client-id', 'postern']],
    ['a URL of the MCP server that is none', ['--mcp-url', 'mcp']],
    ['an unknown flag', ['--mode', 'loopback', '--colour']],
    ['a public URL that is none', ['--mode', 'loopback', '--public-url', 'gate']],
    ['a public URL with mode loopback', ['--mode', 'loopback', '--public-url', 'https://postern.example.com']],
    ['an unknown preset', ['--mode', 'loopback', '--provider', 'none']],
    ['a preset that needs more', ['--mode', 'loopback', '--provider', 'okta']],
    ['an id that is a path', ['--mode', 'loopback', '--mcp-server', '../other']],
  ])('refuses %s and writes nothing', async (_, args) => {
    const { code, err } = await init(args);
    expect(code).not.toBe(0);
    expect(err).not.toMatch(/Unexpected/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('asks for what is missing, offers defaults, and repeats a question without an answer', async () => {
    const { code, asked } = await init(['--mode', 'loopback'], ['', '', '', 'notes']);
    expect([code, asked.length]).toEqual([0, 4]);
    expect(loadConfig(configPath(), {}).mcpServers[0]).toMatchObject({ id: 'notes', issuers: ['http://localhost'] });
    const again = await init(
      ['--force', '--mode', 'login', ...company.slice(2), '--mcp-url', 'https://mcp.example.com/'],
      ['', company[1] ?? '', 'postern-id', ' '],
    );
    expect([again.code, again.asked.length]).toEqual([0, 4]);
    expect(loadConfig(configPath(), { IDENTITY_PROVIDER_CLIENT_SECRET: 's' })).toMatchObject({
      identityProviders: [{ clientId: 'postern-id' }],
      mcpServers: [{ id: 'mcp-example-com' }],
    });
  });

  test.each([
    [[], 'loopback'],
    [['--issuer', 'https://id.example.com'], 'login'],
    [['--issuer', 'https://id.example.com', '--verify-url', 'https://app.example.com/postern'], 'external'],
  ])('implies the identity mode by %j, and says what the MCP server and the gateway need', async (args, mode) => {
    const others = mode === 'loopback' ? [] : ['--public-url', 'https://postern.example.com', ...tracker];
    const { code, out } = await init([...args, ...others]);
    const [server] = loadConfig(configPath(), { IDENTITY_PROVIDER_CLIENT_SECRET: 's' }).mcpServers;
    expect([code, server?.identity.mode, /redis/i.test(out)]).toEqual([0, mode, mode !== 'loopback']);
    for (const text of [server?.id ?? '', 'POSTERN_URL=', 'POSTERN_API_KEY', 'gateway check', 'gateway start'])
      expect(out).toContain(text);
  });

  test('asks for the identity mode at a terminal, if nothing implies it', async () => {
    expect((await init([], [])).asked).toHaveLength(1);
    expect((await init(['--issuer', 'https://id.example.com'], [])).asked[0]).toContain('URL');
  });

  test('writes nothing if the operator interrupts the questions', async () => {
    expect((await init([], ['loopback'])).code).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(['postern.config.yaml', 'secrets/vault.key', 'secrets/local.api-key'])(
    'leaves everything as it was if %s exists',
    async existing => {
      mkdirSync(join(folder, 'secrets'), { mode: 0o700 });
      writeFileSync(join(folder, existing), 'precious');
      const before = readdirSync(folder, { recursive: true }).sort();
      expect((await init(['--mode', 'loopback'])).code).toBe(1);
      expect(readdirSync(folder, { recursive: true }).sort()).toEqual(before);
      expect(read(existing)).toBe('precious');
    },
  );

  test('keeps what --force replaces, and never loses an older key', async () => {
    await init(['--mode', 'loopback']);
    const first = read('secrets/vault.key');
    expect((await init(['--mode', 'loopback', '--force'])).code).toBe(0);
    const second = read('secrets/vault.key');
    expect([read('secrets/vault.key.bak'), second === first]).toEqual([first, false]);
    expect((await init(['--mode', 'loopback', '--force'])).code).toBe(1);
    expect([read('secrets/vault.key.bak'), read('secrets/vault.key')]).toEqual([first, second]);
    // One file without an older copy does not lose it when another one fails.
    rmSync(join(folder, 'secrets/vault.key.bak'));
    expect((await init(['--mode', 'loopback', '--force'])).code).toBe(1);
    expect(read('secrets/vault.key')).toBe(second);
    expect(existsSync(join(folder, 'secrets/vault.key.bak'))).toBe(false);
  });

  test('refuses a folder for secrets that others may open', async () => {
    mkdirSync(join(folder, 'secrets'), { mode: 0o755 });
    expect((await init(['--mode', 'loopback'])).code).toBe(1);
    expect(readdirSync(folder, { recursive: true })).toEqual(['secrets']);
  });
});
