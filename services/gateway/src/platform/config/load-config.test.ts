import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultyConfigs, groupOf, publicEcKey, withServer } from '../../testing/faulty-configs.ts';
import { sampleConfig, sampleMcpServer } from '../../testing/sample-config.ts';
import { ConfigError } from './config-error.ts';
import { loadConfig, parseConfig } from './load-config.ts';

function faultsOf(run: () => unknown): ConfigError['faults'] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}
const pathsOf = (document: unknown): string[] => [
  ...new Set(faultsOf(() => parseConfig(document)).map(fault => fault.path)),
];

it('accepts the sample, so that every refusal below has its own reason', () => {
  const config = parseConfig(sampleConfig());
  expect(config.publicUrl).toBe('https://gate.example');
  expect(config.vault.keys[0]?.key).toHaveLength(32);
  expect(config.listen).toEqual({ host: '127.0.0.1', port: 8080 });
});

it('names an MCP server by its id, unless it has a name', () => {
  const { name: _, apiKeys: __, ...unnamed } = sampleMcpServer;
  const config = parseConfig({ ...sampleConfig(), mcpServers: [unnamed, { ...sampleMcpServer, id: 'other' }] });
  expect(config.mcpServers.map(({ name }) => name)).toEqual([sampleMcpServer.id, sampleMcpServer.name]);
});

describe('S217: issuers of an MCP server that names none', () => {
  const { issuers: _, ...unnamed } = sampleMcpServer;
  const company = { name: 'company', issuer: 'https://id.example', clientId: 'postern' };
  const several = {
    name: 'entra',
    issuer: 'https://login.example/{tenantid}/v2.0',
    clientId: 'postern',
    metadataUrl: 'https://login.example/organizations/metadata',
  };
  const tenants = ['11111111-2222-4333-8444-555555555555', '11111111-2222-4333-8444-666666666666'];
  const issuersWith = (changes: object) => {
    const document = { ...sampleConfig(), mcpServers: [unnamed], ...changes };
    return pathsOf(document).length > 0 ? pathsOf(document) : parseConfig(document).mcpServers[0]?.issuers;
  };
  const refused = ['mcpServers[0].issuers'];

  it.each([
    ['the only identity provider', {}, ['https://id.example']],
    [
      'its only tenant',
      { identityProviders: [{ ...several, tenants: tenants.slice(1) }] },
      [`https://login.example/${tenants[1]}/v2.0`],
    ],
    ['two tenants', { identityProviders: [{ ...several, tenants }] }, refused],
    ['two identity providers', { identityProviders: [company, { ...several, tenants: tenants.slice(1) }] }, refused],
    ['no identity provider', { identityProviders: [] }, refused],
    [
      'an application that identifies users',
      { mcpServers: [{ ...unnamed, identity: { mode: 'external', verifyUrl: 'https://app.example/' } }] },
      refused,
    ],
    [
      'a loopback gateway',
      { publicUrl: 'http://localhost', mcpServers: [{ ...unnamed, identity: { mode: 'loopback' } }] },
      refused,
    ],
  ])('%s', (_, changes, expected) => {
    expect(issuersWith(changes)).toEqual(expected);
  });
});

it('normalises the public URL to its origin', () => {
  expect(parseConfig(sampleConfig({ publicUrl: 'https://Gate.example:443/' })).publicUrl).toBe('https://gate.example');
});

describe('S57, S62: faults, each named by its path', () => {
  it.each(faultyConfigs)('refuses %s', (_, document, paths) => {
    expect(pathsOf(document)).toEqual(paths);
  });

  it('names every fault at once', () => {
    const document = { ...sampleConfig({ publicUrl: 'http://gate.example' }), mcpServers: [], extra: 1 };
    expect(pathsOf(document).sort()).toEqual(['', 'mcpServers', 'publicUrl']);
  });

  it('accepts a group in which everybody is recognised in one way', () => {
    const verifyAt = (path: string) => ({ mode: 'external', verifyUrl: `https://app.example${path}` });
    expect(pathsOf(groupOf({ mode: 'login' }, { mode: 'login' }))).toEqual([]);
    expect(pathsOf(groupOf(verifyAt('/a'), verifyAt('/b')))).toEqual([]);
  });

  it('accepts a usable public key', () => {
    expect(pathsOf(withServer({ jwks: { keys: [{ ...publicEcKey, kid: 'a' }] } }))).toEqual([]);
  });
});

describe('the file', () => {
  let directory = '';
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'postern-config-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  const write = (text: string): string => {
    const path = join(directory, `${randomBytes(4).toString('hex')}.yaml`);
    writeFileSync(path, text);
    return path;
  };
  const messageOf = (path: string, env = {}) => faultsOf(() => loadConfig(path, env)).map(fault => fault.message);

  it('the configuration file may be missing, which is a fault', () => {
    expect(messageOf(join(directory, 'none.yaml'))).toHaveLength(1);
  });

  it.each([
    ['a tab', 'publicUrl:\n\t- x'],
    ['a key twice', 'publicUrl: a\npublicUrl: b'],
    ['an open quote', 'publicUrl: "SECRET'],
  ])('the configuration file is refused with its line for %s', (_, text) => {
    const [message, ...more] = messageOf(write(text));
    expect(message).toMatch(/line \d/);
    expect(message).not.toContain('SECRET');
    expect(more).toEqual([]);
  });

  it('takes secrets from the environment and from files', () => {
    const secretFile = write('  from-a-file\n');
    const path = write(
      JSON.stringify({
        ...sampleConfig(),
        identityProviders: [
          {
            name: 'a',
            issuer: 'https://id.example',
            clientId: '${env:CLIENT}',
            clientSecret: `\${file:${secretFile}}`,
          },
        ],
      }),
    );
    expect(loadConfig(path, { CLIENT: 'from-env' }).identityProviders[0]).toMatchObject({
      clientId: 'from-env',
      clientSecret: 'from-a-file',
    });
  });

  it('S79: takes numbers from the environment where numbers are wanted, and texts elsewhere', () => {
    const document = {
      ...sampleConfig(),
      listen: { port: '${env:PORT}' },
      telemetry: { otlpEndpoint: 'http://collector', sampleRatio: '${env:RATIO}' },
      identityProviders: [{ name: 'a', issuer: 'https://id.example', clientId: '${env:CLIENT}' }],
    };
    const env = { PORT: '8080', RATIO: '0.25', CLIENT: '12345' };
    expect(loadConfig(write(JSON.stringify(document)), env)).toMatchObject({
      listen: { port: 8080 },
      telemetry: { sampleRatio: 0.25 },
      identityProviders: [{ clientId: '12345' }],
    });
    const pathsOf = (changes: object, changed = env) =>
      faultsOf(() => loadConfig(write(JSON.stringify({ ...document, ...changes })), changed)).map(({ path }) => path);
    expect(pathsOf({}, { ...env, PORT: '0x1F90', RATIO: '2' })).toEqual(['listen.port', 'telemetry.sampleRatio']);
    expect(pathsOf({ listen: { port: '8080' } })).toEqual(['listen.port']);
  });

  it('lets REDIS_URL replace the address, checked like any other', () => {
    const path = write(JSON.stringify(sampleConfig({ redis: { url: 'redis://one', prefix: 'mine' } })));
    expect(loadConfig(path, { REDIS_URL: 'redis://two' }).redis).toMatchObject({ url: 'redis://two', prefix: 'mine' });
    expect(loadConfig(path, { REDIS_URL: '' }).redis.url).toBe('redis://one');
    expect(faultsOf(() => loadConfig(path, { REDIS_URL: 'two:6379' })).map(fault => fault.path)).toEqual(['redis.url']);
    const cluster = write(JSON.stringify(sampleConfig({ redis: { cluster: ['redis://one'] } })));
    expect(faultsOf(() => loadConfig(cluster, { REDIS_URL: 'redis://two' })).map(fault => fault.path)).toEqual([
      'redis',
    ]);
  });
});

it('a relative store.file begins at the folder of the configuration file, whatever the working directory is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-config-'));
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
  const path = join(folder, 'postern.config.yaml');
  const fileOf = (store?: object) => {
    writeFileSync(path, JSON.stringify(sampleConfig({ ...(store && { store }) })));
    return loadConfig(path, {}).store.file;
  };
  expect(fileOf()).toBe(join(folder, '.postern/postern.sqlite'));
  expect(fileOf({ file: 'a.sqlite' })).toBe(join(folder, 'a.sqlite'));
  expect(fileOf({ file: '/state/a.sqlite' })).toBe('/state/a.sqlite');
  expect(parseConfig(sampleConfig()).store.file).toBe(join(process.cwd(), '.postern/postern.sqlite'));
});
