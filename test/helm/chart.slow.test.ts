/** The Helm chart as its users run it: by the helm program, and by the gateway that it configures. */
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { GatewayConfigInput } from '@postern/gateway';
import { startFakeKms, startFakeTransit } from '@postern/testkit/key-services';
import { freePort } from '@postern/testkit/processes';
import { startRedis } from '@postern/testkit/redis';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../../scripts/child.ts';
import { needRestart } from '../../services/gateway/src/platform/config/config-changes.ts';
import { configSchema as gatewayConfigSchema } from '../../services/gateway/src/platform/config/config-schema.ts';
import { stopConfigSchema } from '../../services/gateway/src/platform/config/overload-config.ts';
import { shellCommands } from '../docs/support/shell-commands.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { chart, helm, installTools, type Manifest, runCommand, template, unknownFields, validate } from './helm.ts';

const company = ['-f', join(chart, 'examples/company.yaml')];
const everything = [...company, '-f', join(chart, 'examples/everything.yaml')];
/** Each replaces the key of company.yaml. */
const openbao = ['-f', join(chart, 'examples/openbao.yaml')];
const openshift = ['-f', join(chart, 'examples/openshift.yaml')];
const awsKms = ['-f', join(chart, 'examples/aws-kms.yaml')];
const releases = [
  { name: 'company.yaml', args: company },
  { name: 'everything.yaml', args: everything },
  { name: 'openbao.yaml and aws-kms.yaml', args: [...company, ...openbao, ...awsKms] },
  { name: 'openshift.yaml', args: [...company, ...openshift] },
  { name: 'the oldest Kubernetes', args: [...everything, '--kube-version', '1.29.0'] },
  {
    name: 'nothing optional',
    args: [
      ...company,
      ...['ingress', 'networkPolicy', 'podDisruptionBudget'].flatMap(part => ['--set', `${part}.enabled=false`]),
    ],
  },
];

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const deploymentSchema = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.looseObject({}),
        containers: z.tuple([
          z.object({
            image: z.string(),
            securityContext: z.looseObject({}),
            env: z.array(z.looseObject({ name: z.string() })).optional(),
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            startupProbe: probe,
            readinessProbe: probe,
            livenessProbe: probe,
          }),
        ]),
      }),
    }),
  }),
});
const configMapSchema = z.object({ data: z.object({ 'postern.config.yaml': z.string() }) });
const configSchema = z.custom<GatewayConfigInput & { listen: { port: number }; metrics: { port: number } }>(
  value => typeof value === 'object',
);

const one = (manifests: readonly Manifest[], kind: string) => manifests.find(manifest => manifest.kind === kind);

beforeAll(installTools);

describe.each(releases)('with $name', ({ args }) => {
  test('helm lint finds nothing', async () => {
    await helm('lint', '--strict', chart, ...args);
  });

  test('Kubernetes accepts every value', async () => {
    const manifests = await template(...args);
    for (const manifest of manifests) await validate(manifest);
    expect(manifests.length).toBeGreaterThan(0);
  });
});

test('Kubernetes knows every field of every release', async () => {
  const manifests = await Promise.all(releases.map(({ args }) => template(...args)));
  // In one program: the compiler reads the types of Kubernetes once. Releases share most manifests.
  const different = new Map(manifests.flat().map(manifest => [JSON.stringify(manifest), manifest]));
  expect(await unknownFields([...different.values()])).toBe('');
});

test('the checks find a wrong value and an unknown field', async () => {
  const [manifest] = await template(...company, '--show-only', 'templates/service.yaml');
  if (manifest === undefined) throw new Error('no service');
  const ports = [{ name: 'http', port: 'eighty' }];
  await expect(validate({ ...manifest, spec: { ports } })).rejects.toThrow();
  expect(await unknownFields([{ ...manifest, spec: { prots: [] } }])).toContain('"prots"');
});

test('a gateway starts with the rendered configuration, and its probes pass', async () => {
  await using started = await startRendered(company);
  const { container, config } = started;
  expect(Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))).toEqual({
    http: config.listen.port,
    metrics: config.metrics.port,
  });
  expect(container.env?.map(({ name }) => name)).toEqual(['REDIS_URL']);
  for (const { httpGet } of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
    expect(httpGet.port).toBe('metrics');
    expect(await started.statusOf(httpGet.path), httpGet.path).toBe(200);
  }
});

test('with openbao.yaml, the gateway seals in OpenBao with the token of the mounted Secret', async () => {
  await using transit = await startFakeTransit({ keys: ['postern'] });
  const folder = await mkdtemp(join(tmpdir(), 'postern-openbao-'));
  await writeFile(join(folder, 'token'), transit.token);
  await writeFile(join(folder, 'ca.pem'), rootCertificates[0] ?? '');
  try {
    await using _ = await startRendered([...company, ...openbao], {
      change: text =>
        text.replace('https://openbao.example.internal:8200', transit.url).replaceAll('/run/openbao', folder),
    });
    await expect.poll(() => transit.calls.map(({ verb }) => verb).slice(0, 2)).toEqual(['encrypt', 'decrypt']);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('with aws-kms.yaml, the gateway seals in AWS KMS', async () => {
  const [arn = ''] = /arn:aws:kms:\S+/.exec(await readFile(join(chart, 'examples/aws-kms.yaml'), 'utf8')) ?? [];
  await using kms = await startFakeKms({ keys: [arn] });
  await using _ = await startRendered([...company, ...awsKms], {
    env: {
      AWS_ENDPOINT_URL_KMS: kms.url,
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
    },
  });
  await expect.poll(() => kms.bodies.length).toBeGreaterThanOrEqual(2);
});

/** Starts a gateway with the configuration that the chart renders. */
async function startRendered(
  args: readonly string[],
  { change = text => text, env = {} }: { change?: (config: string) => string; env?: Record<string, string> } = {},
) {
  const manifests = await template(...args);
  const config = configSchema.parse(
    parse(change(configMapSchema.parse(one(manifests, 'ConfigMap')).data['postern.config.yaml'])),
  );
  const [container] = deploymentSchema.parse(one(manifests, 'Deployment')).spec.template.spec.containers;
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const metrics = { host: '127.0.0.1', port: await freePort() };
  const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64');
  stack.use(
    await startGatewayProcess(
      { ...config, metrics },
      {
        env: {
          REDIS_URL: redis.url,
          POSTERN_VAULT_KEY: key,
          POSTERN_TRANSACTION_KEY: key,
          IDENTITY_PROVIDER_CLIENT_SECRET: 'secret of the identity provider',
          GITHUB_CLIENT_ID: 'client',
          GITHUB_CLIENT_SECRET: 'secret of the provider',
          ISSUE_TRACKER_API_KEY_HASH: `sha256:${'0123456789abcdef'.repeat(4)}`,
          ...env,
        },
      },
    ),
  );
  const owned = stack.move();
  return {
    config,
    container,
    statusOf: async (path: string) => (await fetch(`http://127.0.0.1:${metrics.port}${path}`)).status,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test('S180: the admin API is off, and if it is on, only the named peers reach its own Service inside the cluster', async () => {
  expect(JSON.stringify(await template(...company))).not.toMatch(/admin-?api/i);
  const manifests = await template(...everything);
  const own = manifests.filter(of => of.kind === 'Service' && JSON.stringify(of).includes('-admin-api"'));
  expect(own).toMatchObject([
    { spec: { type: 'ClusterIP', ports: [{ name: 'admin-api', port: 80, targetPort: 'admin-api' }] } },
  ]);
  for (const ingress of manifests.filter(({ kind }) => kind === 'Ingress'))
    expect(JSON.stringify(ingress)).not.toContain('admin-api');
  expect(one(manifests, 'NetworkPolicy')).toMatchObject({
    spec: {
      ingress: expect.arrayContaining([
        {
          ports: [{ port: 'admin-api' }],
          from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'on-call' } } }],
        },
      ]),
    },
  });
  const config = configMapSchema.parse(one(manifests, 'ConfigMap')).data['postern.config.yaml'];
  expect(parse(config)).toMatchObject({ adminApi: { host: '0.0.0.0', port: 8091 } });
  const [container] = deploymentSchema.parse(one(manifests, 'Deployment')).spec.template.spec.containers;
  expect(container.ports).toContainEqual({ name: 'admin-api', containerPort: 8091 });
});

test('the kubelet waits longer than the gateway drains and finishes', async () => {
  const { spec } = deploymentSchema.parse(one(await template(...everything), 'Deployment')).spec.template;
  expect(spec.terminationGracePeriodSeconds).toBe(12 + 8 + 5);
  const { drainSeconds, finishSeconds } = stopConfigSchema.parse({});
  const defaults = deploymentSchema.parse(one(await template(...company), 'Deployment')).spec.template;
  expect(defaults.spec.terminationGracePeriodSeconds).toBe(drainSeconds + finishSeconds + 5);
});

test('the examples trust the forwarding headers of few senders, not of the pod network', async () => {
  const config = configMapSchema.parse(one(await template(...everything), 'ConfigMap')).data['postern.config.yaml'];
  const { trustProxy } = z.object({ trustProxy: z.array(z.string()).min(1) }).parse(parse(config));
  for (const sender of trustProxy) expect(Number(sender.split('/')[1] ?? 32), sender).toBeGreaterThanOrEqual(24);
});

test('on OpenShift the chart names no ids, and keeps every other restriction', async () => {
  const { spec } = deploymentSchema.parse(one(await template(...company, ...openshift), 'Deployment')).spec.template;
  expect(spec.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
  expect(spec.containers[0].securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
});

test('a changed section replaces the pods, unless a running gateway loads it anew', async () => {
  const sum = async (...more: string[]) =>
    /"checksum\/config":"(\w+)"/.exec(JSON.stringify(one(await template(...company, ...more), 'Deployment')))?.[1];
  const before = await sum();
  expect(before).toMatch(/^[0-9a-f]{64}$/);
  expect(await sum('--set', 'config.events.retained=999')).not.toBe(before);
  const restarted = new Set(needRestart.map(path => path.split('.')[0]));
  for (const section of Object.keys(gatewayConfigSchema.shape).filter(name => !restarted.has(name)))
    expect(await sum('--set', `config.${section}=null`), section).toBe(before);
});

test('an image digest takes precedence over a tag', async () => {
  const imageOf = async (args: string[]) =>
    deploymentSchema.parse(one(await template(...args), 'Deployment')).spec.template.spec.containers[0].image;
  expect(await imageOf(everything)).toMatch(/^registry\.example\.com\/postern@sha256:/);
  expect(await imageOf(company)).toBe('registry.example.com/postern:0.1.0');
});

test('the network policy refuses private addresses behind NAT64 too', async () => {
  const [, excepted = '', behind = ''] =
    /except: *\[(.*?)\].*?64:ff9b::.*?except: *\[(.*?)\]/s.exec(
      JSON.stringify(one(await template(...company), 'NetworkPolicy')).replaceAll('"except":', 'except: '),
    ) ?? [];
  const cidrs = (list: string) => list.split(',').map(cidr => cidr.replaceAll('"', '').trim());
  const twins = cidrs(excepted).map(cidr => {
    const [address, bits] = cidr.split('/');
    return `${new URL(`http://[64:ff9b::${address}]`).hostname.slice(1, -1)}/${96 + Number(bits)}`;
  });
  expect(twins).toContain('64:ff9b::a00:0/104');
  expect(cidrs(behind)).toEqual(twins);
});

test.each([
  ['an unknown value', ['--set', 'replicas=3']],
  ['no image', ['--set', 'image.repository=']],
  ['a public URL without TLS', ['--set', 'config.publicUrl=http://postern.example.com']],
  ['a port of the configuration that the chart decides', ['--set', 'config.listen.port=9090']],
  ['a port of the console, which the chart decides', ['--set', 'config.console.listen.port=9090']],
  ['a port of the admin API, which the chart decides', ['--set', 'config.adminApi.port=9091']],
  ['an Ingress for the admin API', ['--set', 'adminApi.ingress.enabled=true']],
  ['an admin API that every pod may reach', ['--set-json', 'config.adminApi={}']],
  ['an Ingress for a console that is not configured', ['--set', 'console.ingress.enabled=true']],
  [
    'a console that every pod may reach',
    ['--set', 'config.console.publicUrl=https://console.example.com,networkPolicy.consoleFrom=null'],
  ],
  ['a pod that runs as root', ['--set', 'podSecurityContext.runAsNonRoot=false']],
  [
    'a trusted pod network whose pods may all send requests',
    ['--set', 'config.trustProxy={10.42.0.0/16},networkPolicy.from=null'],
  ],
  [
    'a trusted pod network without a network policy',
    ['--set', 'config.trustProxy={10.42.0.0/16},networkPolicy.enabled=false'],
  ],
  ['a network policy that does not say where Redis is', ['--set', 'networkPolicy.redis.to=null']],
])('refuses %s', async (_name, args) => {
  await expect(template(...company, ...args)).rejects.toThrow();
});

test('the documented commands work, without a cluster', async () => {
  const commands = shellCommands
    .filter(({ title }) => title.startsWith('docs/kubernetes.md'))
    .map(({ command }) => command);
  expect(commands.map(command => command.split(' ')[0])).toEqual(['kubectl', 'kubectl', 'helm', 'helm']);
  const directory = await mkdtemp(join(tmpdir(), 'postern-kubernetes-'));
  try {
    await symlink(join(root, 'infra'), join(directory, 'infra'));
    await copyFile(join(chart, 'examples/company.yaml'), join(directory, 'company.yaml'));
    await writeFile(join(directory, 'postern.env'), 'POSTERN_VAULT_KEY=key\n');
    for (const command of commands) {
      const dry = command.startsWith('helm template') ? command : `${command} --dry-run=client`;
      await runCommand(dry, directory);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
