/** Compares the files with each other and with the programs they start. Needs no container engine. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../scripts/child.ts';
import { redisFaults } from '../services/gateway/src/platform/config/cross-faults.ts';
import { parseConfig } from '../services/gateway/src/platform/config/load-config.ts';
import { redisConfigSchema } from '../services/gateway/src/platform/config/redis-config.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const readYaml = (path: string): unknown => parse(read(path), { merge: true, uniqueKeys: true });

const serviceSchema = z.object({
  image: z.string().optional(),
  build: z.object({ context: z.string(), dockerfile: z.string(), target: z.string() }).optional(),
  command: z.array(z.string()).optional(),
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  cap_add: z.array(z.string()).optional(),
  privileged: z.boolean().optional(),
  security_opt: z.array(z.string()).optional(),
  tmpfs: z.array(z.string()).optional(),
  mem_limit: z.string().optional(),
  ulimits: z.object({ core: z.number() }).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
});
const compose = z.object({ services: z.record(z.string(), serviceSchema) }).parse(readYaml('docker-compose.yml'));
const services = Object.entries(compose.services);

/** `FROM image AS stage` and the instructions below it. */
const stages = read('infra/Dockerfile')
  .split(/^(?=FROM )/m)
  .filter(text => text.startsWith('FROM '))
  .map(text => {
    const [, base = '', name = ''] = /^FROM (\S+) AS (\S+)$/m.exec(text) ?? [];
    return { base, name, text };
  });

/** Returns a stage with the instructions that it inherits from earlier stages. */
function instructionsOf(name: string): string {
  const stage = stages.find(candidate => candidate.name === name);
  return stage === undefined ? '' : `${instructionsOf(stage.base)}\n${stage.text}`;
}

const exampleNames = [...read('infra/.env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);

describe('docker-compose.yml', () => {
  test.each(services)('%s is hardened', (_name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], tmpfs: ['/tmp'] });
    expect(service.security_opt).toContain('no-new-privileges:true');
    expect(service.cap_add).toBeUndefined();
    expect(service.privileged).toBeUndefined();
    expect(service.user).toMatch(/^(?!root|0)/);
  });

  test.each(services)('%s has a health check', (_name, service) => {
    const ofImage = service.build === undefined ? '' : instructionsOf(service.build.target);
    expect(service.healthcheck !== undefined || /^HEALTHCHECK /m.test(ofImage)).toBe(true);
  });

  test.each(services)('%s publishes ports on the loopback address only', (_name, { ports }) => {
    expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test.each(services)('%s uses only existing files', (_name, { build, command = [], volumes }) => {
    const scripts = command.filter(word => word.endsWith('.ts'));
    const mounted = volumes.map(volume => volume.split(':')[0] ?? '').filter(path => path.startsWith('.'));
    const files = [...scripts, ...mounted, ...(build === undefined ? [] : [build.dockerfile])];
    expect(files.filter(file => !existsSync(join(root, file)))).toEqual([]);
    if (build !== undefined) expect(stages.map(({ name }) => name)).toContain(build.target);
  });

  test('Redis persists all writes, has a memory limit, and gets no password as argument', () => {
    const { command, mem_limit } = compose.services['redis'] ?? {};
    expect(command).toEqual(['/etc/postern/start.sh', 'single']);
    const [single = ''] = read('infra/redis/start.sh').split(/^node\)$/m);
    for (const setting of ['appendonly yes', 'maxmemory 512mb', 'maxmemory-policy noeviction'])
      expect(single).toMatch(new RegExp(`^${setting}$`, 'm'));
    expect(mem_limit).toBe('1100m');
    expect(services.flatMap(([, each]) => each.command ?? []).join(' ')).not.toContain('PASSWORD');
  });

  test.each(services)('%s has a memory limit and writes no core dump', (_name, { mem_limit, ulimits }) => {
    expect(mem_limit).toMatch(/^\d+[mg]$/);
    expect(ulimits).toEqual({ core: 0 });
  });

  test('trusts only the host as proxy', () => {
    const { networks } = z
      .looseObject({
        networks: z.looseObject({
          outside: z.object({ ipam: z.object({ config: z.array(z.object({ gateway: z.string() })) }) }),
        }),
      })
      .parse(readYaml('docker-compose.yml'));
    const { trustProxy } = z
      .looseObject({ trustProxy: z.array(z.string()) })
      .parse(readYaml('infra/postern.config.yaml'));
    expect(trustProxy).toEqual(['127.0.0.1', networks.outside.ipam.config[0]?.gateway]);
  });

  test('demo.env has a value for every name, so the demo needs no other values', () => {
    const given = [...read('infra/demo.env').matchAll(/^([A-Z_]+)=\S/gm)].map(([, name]) => name);
    expect(new Set(given)).toEqual(new Set(exampleNames));
  });

  test('uses only names from .env.example, and contains no secret', () => {
    const used = [...read('docker-compose.yml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);
    expect(new Set(used)).toEqual(new Set(exampleNames));
  });
});

describe('infra/compose.ha.yml', () => {
  /** The other content of the file: `!override` and `!reset` are for the merge with docker-compose.yml. */
  const customTags = ['!override', '!reset'].map(tag => ({ tag, resolve: () => undefined }));
  const ha = z
    .object({ services: z.record(z.string(), z.unknown()) })
    .parse(parse(read('infra/compose.ha.yml'), { merge: true, uniqueKeys: true, customTags, logLevel: 'error' }));
  const added = Object.entries(ha.services).filter(([name]) => /^(redis|sentinel)-/.test(name));
  const nodes = added.map(([name, service]) => [name, serviceSchema.parse(service)] as const);

  test('has three Redis and three Sentinels', () => {
    expect(nodes.map(([name]) => name)).toEqual(
      ['redis', 'sentinel'].flatMap(kind => [1, 2, 3].map(n => `${kind}-${n}`)),
    );
  });

  test.each(nodes)('%s is hardened, has a health check and publishes nothing', (name, service) => {
    expect(service).toMatchObject({ user: 'redis', read_only: true, cap_drop: ['ALL'], tmpfs: ['/tmp'] });
    expect(service.security_opt).toContain('no-new-privileges:true');
    expect(service).toMatchObject({ mem_limit: '1100m', ulimits: { core: 0 } });
    expect(service.privileged ?? service.cap_add).toBeUndefined();
    expect(service.healthcheck).toBeDefined();
    expect(service.ports).toEqual([]);
    expect(service.environment['REDIS_NAME']).toBe(name);
    expect(service.volumes).toContain(`${name}:/data`);
  });

  test('uses only existing files and names from the examples', () => {
    const text = read('infra/compose.ha.yml');
    const mounted = [...text.matchAll(/- (\.\/[^:]+):/g)].map(([, path = '']) => path);
    expect(mounted.filter(path => !existsSync(join(root, path)))).toEqual([]);
    expect(existsSync(join(root, 'infra/redis/start.sh'))).toBe(true);
    const further = [...read('infra/.env.ha.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    const used = [text, read('infra/redis/users.acl')].flatMap(file => [...file.matchAll(/\$\{([A-Z_]+)/g)]);
    expect([...exampleNames, ...further]).toEqual(expect.arrayContaining([...new Set(used.map(([, name]) => name))]));
  });

  test('each Redis persists all writes, and refuses writes without a replica', () => {
    const script = read('infra/redis/start.sh');
    for (const setting of [
      'appendonly yes',
      'appendfsync always',
      'maxmemory 512mb',
      'maxmemory-policy noeviction',
      'min-replicas-to-write 1',
    ])
      expect(script).toMatch(new RegExp(`^${setting}$`, 'm'));
  });

  test('the gateway user has exactly the permissions that KEYSPACE.md lists', () => {
    const keyspace = read('packages/store-redis/KEYSPACE.md');
    const listed = keyspace.slice(keyspace.indexOf('## What the Redis user needs'));
    const needed = [...listed.matchAll(/`([A-Z|]+)`/g)].map(([, command = '']) => `+${command.toLowerCase()}`);
    const line = read('infra/redis/users.acl')
      .split('\n')
      .find(text => text.startsWith('user postern '));
    const allowed = [...(line ?? '').matchAll(/ (\+\S+)/g)].map(([, rule]) => rule);
    expect(new Set(allowed)).toEqual(new Set(needed));
    expect(line).toContain(' ~postern:* &postern:wake -@all ');
  });

  test('its configuration equals that of the single Redis except for redis', () => {
    const { redis: single, ...rest } = z
      .looseObject({ redis: z.unknown() })
      .parse(readYaml('infra/postern.config.yaml'));
    const { redis, ...same } = z.looseObject({ redis: z.unknown() }).parse(readYaml('infra/postern.ha.config.yaml'));
    expect(same).toEqual(rest);
    expect(redisConfigSchema.parse(single).durability.profile).toBe('single');
    const config = redisConfigSchema.parse(redis);
    expect(config.durability).toMatchObject({ profile: 'ha', replicas: 1 });
    expect(redisFaults(config)).toEqual([]);
  });
});

type Members = Readonly<Record<string, unknown>>;

describe('infra/compose.openbao.yml', () => {
  const text = read('infra/compose.openbao.yml');

  test('uses only existing files and names from the examples', () => {
    const mounted = [...text.matchAll(/- (\.\/[^:]+):/g)].map(([, path = '']) => path);
    expect(mounted.map(path => existsSync(join(root, path)))).toEqual([true]);
    const further = [...read('infra/.env.openbao.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(new Set([...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name))).toEqual(new Set(further));
  });

  test('its configuration equals that of docker-compose.yml except for vault and outbound', () => {
    const [{ vault: _, ...rest }, { vault: __, outbound: ___, ...same }] = [
      'infra/postern.config.yaml',
      'infra/postern.openbao.config.yaml',
    ].map(path => z.record(z.string(), z.unknown()).parse(readYaml(path))) as [Members, Members];
    expect(same).toEqual(rest);
  });
});

describe('postern.config.yaml', () => {
  const text = read('infra/postern.config.yaml');

  test('refers only to variables that the gateway gets', () => {
    const used = [...text.matchAll(/\$\{env:([A-Z_]+)\}/g)].map(([, name]) => name);
    expect(used.length).toBeGreaterThan(0);
    expect(Object.keys(compose.services['gateway']?.environment ?? {})).toEqual(expect.arrayContaining(used));
  });

  test('is a valid configuration once the values are set', () => {
    const values: Readonly<Record<string, string>> = {
      POSTERN_PUBLIC_URL: 'http://localhost:8080',
      POSTERN_VAULT_KEY: Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64'),
      IDENTITY_PROVIDER_ISSUER: 'https://login.example.com',
      ISSUE_TRACKER_API_KEY_HASH: `sha256:${'0a'.repeat(32)}`,
    };
    const filled = text.replace(
      /\$\{env:([A-Z_]+)\}/g,
      (_reference, name: string) => values[name] ?? `a value of ${name}`,
    );
    const { redis, ...document } = parse(filled, { uniqueKeys: true }) as { readonly redis: object };
    // As REDIS_URL does.
    const config = parseConfig({ ...document, redis: { ...redis, url: 'redis://redis:6379' } });
    expect(config.listen).toEqual({ host: '0.0.0.0', port: 8080 });
    expect(redis).not.toHaveProperty('url');
  });
});

describe('infra/Dockerfile', () => {
  const targets = services.flatMap(([, { build }]) => (build === undefined ? [] : [build.target]));

  test.each(targets)('%s does not run as root', target => {
    expect([...instructionsOf(target).matchAll(/^USER (\S+)$/gm)].at(-1)?.[1]).toBe('node');
  });

  test.each(targets)('%s starts an existing file', target => {
    const command = z.array(z.string()).parse(JSON.parse(/^CMD (\[.*\])$/m.exec(instructionsOf(target))?.[1] ?? '[]'));
    expect(command.length).toBeGreaterThan(1);
    expect(command.filter(word => word.endsWith('.ts') && !existsSync(join(root, word)))).toEqual([]);
  });

  test('the gateway reads the configuration where docker-compose.yml puts it', () => {
    const path = /\bPOSTERN_CONFIG=(\S+)/.exec(instructionsOf('gateway'))?.[1];
    expect(compose.services['gateway']?.volumes).toContain(`./infra/postern.config.yaml:${path}:ro`);
  });

  test('copies from existing stages', () => {
    const named = [...read('infra/Dockerfile').matchAll(/--from=(\S+)/g)].map(([, name]) => name);
    expect(stages.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
  });

  test('installs with one exact release of pnpm, as CI does', () => {
    const files = ['infra/Dockerfile', '.ci/run', '.github/workflows/release.yml', 'test/packages/consumer.ts'];
    const releases = files.flatMap(path =>
      [...read(path).matchAll(/\bpnpm@([\d.]+\d)/g)].map(([, release]) => release),
    );
    expect(releases).toHaveLength(2 + 5 + 2 + 1);
    expect(new Set(releases).size).toBe(1);
    expect(releases[0]).toMatch(/^12\.\d+\.\d+$/);
  });

  test('uses the Node.js version of the workspace', () => {
    const { catalog, nodeVersion } = z
      .object({ catalog: z.record(z.string(), z.string()), nodeVersion: z.string() })
      .parse(readYaml('pnpm-workspace.yaml'));
    expect(nodeVersion).toBe(catalog['node']);
    const images = stages.map(({ base }) => base).filter(base => base.startsWith('node:'));
    expect(new Set(images)).toEqual(new Set([`node:${nodeVersion.split('.')[0]}-slim`]));
  });
});
