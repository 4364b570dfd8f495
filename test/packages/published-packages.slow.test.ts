/** The packages as others meet them: packed, published to a registry, and installed into empty projects outside the workspace. */
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startFakeKms } from '@postern/testkit/key-services';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { startTerminalProcess } from '../support/terminal-process.ts';
import { emptyProject, install, runIn } from './consumer.ts';
import { type InstalledGateway, startInstalledGateway } from './installed-gateway.ts';
import { installQuickStart, playQuickStart, quickStart } from './quick-start.ts';
import { type LoopbackRegistry, startRegistry } from './registry.ts';

const root = join(import.meta.dirname, '../..');
const home = mkdtempSync(join(tmpdir(), 'postern-packages-'));
const resolve = createRequire(import.meta.url).resolve;

const versionsSchema = z.record(z.string(), z.string());
const { catalog } = z
  .object({ catalog: versionsSchema })
  .parse(parse(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')));
const peersOf = (folder: string) =>
  z
    .object({ peerDependencies: versionsSchema })
    .parse(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))).peerDependencies;
const peers = { ...peersOf('packages/host'), ...peersOf('packages/mcp') };

/** The newest version is the one that this repository uses. */
const newest = (name: string) => catalog[name] ?? '';
/** The oldest version that a peer range allows. */
const oldest = (name: string) => /^\^(\S+)/.exec(peers[name] ?? '')?.[1] ?? '';

/** The oldest zod that SDK v2 itself allows; SDK v1 allows older ones than this package. */
const OLDEST_ZOD_OF_V2 = '4.2.0';

/** The oldest Node.js of the libraries is 22, and 24.15 of the gateway. */
const binaries = { 22: '22.23.3', 24: '24.15.0' } as const;
const majors: readonly (22 | 24 | 26)[] = [22, 24, 26];
const nodeOf = (major: 22 | 24 | 26) =>
  major === 26 ? process.execPath : join(home, 'nodes/node_modules', `node-${major}`, 'bin/node');

interface Consumer {
  readonly title: string;
  readonly fixture: 'v1-server.ts' | 'v2-server.ts';
  readonly manager: 'npm' | 'pnpm';
  readonly versions: Readonly<Record<string, string>>;
  /** Limit of type instantiations, a tenth above what they are. Most are of the SDK itself. */
  readonly instantiations: number;
  /** Whether to use each compiler and Node.js, and to check the declarations themselves. */
  readonly isThorough: boolean;
}

const v2 = (zod: string, version: typeof newest) => ({
  '@modelcontextprotocol/server': version('@modelcontextprotocol/server'),
  '@modelcontextprotocol/client': version('@modelcontextprotocol/client'),
  zod,
});
const v1 = (version: typeof newest) => ({
  '@modelcontextprotocol/sdk': version('@modelcontextprotocol/sdk'),
  zod: version('zod'),
});

const consumers: readonly Consumer[] = [
  {
    title: 'newest SDK v2',
    fixture: 'v2-server.ts',
    manager: 'npm',
    versions: v2(newest('zod'), newest),
    instantiations: 66_000,
    isThorough: true,
  },
  {
    title: 'newest SDK v2 through pnpm',
    fixture: 'v2-server.ts',
    manager: 'pnpm',
    versions: v2(newest('zod'), newest),
    instantiations: 66_000,
    isThorough: false,
  },
  {
    title: 'oldest SDK v2',
    fixture: 'v2-server.ts',
    manager: 'npm',
    versions: v2(OLDEST_ZOD_OF_V2, oldest),
    instantiations: 66_000,
    isThorough: false,
  },
  {
    title: 'newest SDK v1',
    fixture: 'v1-server.ts',
    manager: 'npm',
    versions: v1(newest),
    instantiations: 39_000,
    isThorough: false,
  },
  {
    title: 'oldest SDK v1',
    fixture: 'v1-server.ts',
    manager: 'npm',
    versions: v1(oldest),
    instantiations: 62_000,
    isThorough: true,
  },
];
const folderOf = ({ title }: Consumer) => join(home, title.replaceAll(' ', '-'));

/** The packages that a document tells a consumer to install: the rest of its line that starts so. */
function documented(document: string, line: string): readonly string[] {
  const found = readFileSync(join(root, document), 'utf8')
    .split('\n')
    .find(each => each.startsWith(line));
  if (found === undefined) throw new Error(`${document} has no line "${line}"`);
  return found.replace(/#.*/, '').trim().split(/ +/).slice(2);
}

/** What the READMEs say, in the versions of this case. */
function packagesOf({ fixture, versions }: Consumer): readonly string[] {
  const sdk = fixture === 'v1-server.ts' ? ['sdk', 'sdk'] : ['server', 'client'];
  const names = new Set([
    ...documented('packages/mcp/README.md', `npm install @postern/mcp @modelcontextprotocol/${sdk[0]} `),
    ...documented('packages/host/README.md', `npm install @postern/host @modelcontextprotocol/${sdk[1]} `),
  ]);
  return [...names].map(name => (versions[name] === undefined ? name : `${name}@${versions[name]}`));
}

let registry: LoopbackRegistry;
let gateway: InstalledGateway;
/** A project with the installed gateway and nothing else: a copy takes a tenth of the time of an installation. */
function copyOfGateway(name: string): string {
  const folder = join(home, name);
  for (const part of ['.npmrc', 'package.json', 'package-lock.json', 'node_modules'])
    cpSync(join(home, 'gateway', part), join(folder, part), { recursive: true, verbatimSymlinks: true });
  return folder;
}
const tarballs = () => globSync(join(home, 'tarballs/*.tgz')).sort();

beforeAll(async () => {
  const tools = emptyProject(join(home, 'nodes'), '');
  const programs = Object.entries(binaries).map(([major, version]) => `node-${major}@npm:node@${version}`);
  const [started] = await Promise.all([
    startRegistry(join(home, 'registry')),
    runIn(root, process.execPath, ['scripts/packages.ts', join(home, 'tarballs')]),
    install(tools, 'npm', programs),
  ]);
  registry = started;
  const publisher = emptyProject(join(home, 'publisher'), registry.npmrc);
  await Promise.all(tarballs().map(tarball => runIn(publisher, 'npm', ['publish', tarball, '--access', 'public'])));
  const folder = emptyProject(join(home, 'gateway'), registry.npmrc);
  await install(folder, 'npm', documented('services/gateway/README.md', 'npm install @postern/gateway'));
  gateway = await startInstalledGateway(folder, nodeOf(24));
});
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

test.concurrent.for(['api', 'host', 'mcp', 'conformance', 'gateway', 'demo'])(
  'publint and attw find no fault in @postern/%s, which has its licence and no tests',
  async (name, { expect }) => {
    const tarball = tarballs().find(path => path.includes(`postern-${name}-`)) ?? '';
    const publint = join(dirname(resolve('publint')), 'cli.js');
    await runIn(home, process.execPath, [publint, 'run', tarball, '--strict']);
    // The others are programs without an API.
    const attw = join(dirname(resolve('@arethetypeswrong/cli/package.json')), 'dist/index.js');
    if (name !== 'gateway' && name !== 'demo')
      await runIn(home, process.execPath, [attw, tarball, '--profile', 'esm-only']);
    const files = await runIn(home, 'tar', ['tzf', tarball]);
    expect(files).toContain('package/LICENSE');
    expect(files).toContain('package/README.md');
    expect(files).not.toMatch(/\.test\.|\/testing\//);
  },
);

describe('an installed package', () => {
  test.concurrent.for(consumers)('works with the $title', async (consumer, { expect }) => {
    const folder = emptyProject(folderOf(consumer), registry.npmrc);
    await install(folder, consumer.manager, [...packagesOf(consumer), `@types/node@${newest('@types/node')}`]);
    cpSync(join(import.meta.dirname, 'fixtures', consumer.fixture), join(folder, 'server.ts'));
    const entry = consumer.fixture === 'v1-server.ts' ? '/v1' : '';
    // pnpm shows a project only what it has asked for itself.
    const names = [`mcp${entry}`, `host${entry}`, ...(consumer.manager === 'npm' ? ['api', 'api/form'] : [])];
    writeFileSync(
      join(folder, 'required.cjs'),
      `for (const name of ${JSON.stringify(names)}) if (Object.keys(require('@postern/' + name)).length === 0) process.exit(1);`,
    );
    const [instantiations, faults] = await Promise.all([
      typeCheck(folder, consumer),
      consumer.isThorough ? declarationFaults(folder) : [],
      ...(consumer.isThorough ? majors : [22 as const]).map(async major => {
        await runIn(folder, nodeOf(major), ['required.cjs']);
        const printed = await runIn(folder, nodeOf(major), ['server.ts', gateway.url, gateway.apiKey]);
        expect(printed).toContain(`${gateway.url}/e/`);
      }),
    ]);
    expect(faults).toEqual([]);
    expect(instantiations).toBeGreaterThan(0);
    expect(instantiations).toBeLessThan(consumer.instantiations);
  });
});

test('the installed gateway keeps its state in a file without a warning, on the oldest and the newest Node.js', async () => {
  await using newest = await startInstalledGateway(join(home, 'gateway'), nodeOf(26), join(home, 'gateway-on-26'));
  expect(existsSync(join(home, 'gateway-on-26/.postern/postern.sqlite'))).toBe(true);
  expect([gateway.errors(), newest.errors()]).toEqual(['', '']);
});

test('S197: the installed gateway compiles patterns on a thread', async () => {
  const issue = (pattern: string) =>
    fetch(`${gateway.url}/v1/elicitations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        kind: 'form',
        subject: { issuer: 'http://127.0.0.1:3000', subject: 'alice' },
        form: { requestedSchema: { type: 'object', properties: { code: { type: 'string', pattern, maxLength: 9 } } } },
      }),
    });
  expect((await issue('^a+$')).status).toBe(201);
  expect((await issue('(')).status).toBe(400);
});

test('the installed gateway previews its pages', async () => {
  await using preview = startTerminalProcess(
    [nodeOf(24), 'node_modules/.bin/postern', 'pages', 'preview'],
    join(home, 'gateway'),
  );
  await preview.waitFor('Ctrl-C');
  const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(preview.printed())?.[0] ?? '';
  const page = await (await fetch(`${origin}/general/light/en/connect.html`)).text();
  const assets = [...page.matchAll(/ (?:href|src)="((?:\.\.\/)+[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(assets.length).toBeGreaterThan(1);
  for (const path of assets) {
    const answer = await fetch(new URL(path, `${origin}/general/light/en/connect.html`));
    expect([path, answer.status]).toEqual([path, 200]);
  }
});

test('the installed gateway uses keys in AWS KMS after npm install of its optional dependency, and says so before', async () => {
  const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
  await using kms = await startFakeKms({ keys: [arn] });
  const key = randomBytes(32).toString('base64');
  const configuration = {
    ...z.record(z.string(), z.unknown()).parse(parse(readFileSync(join(home, 'gateway/postern.config.yaml'), 'utf8'))),
    vault: {
      transactionKey: key,
      keys: [
        { kid: 'aws-1', service: 'aws-kms', key: arn },
        { kid: 'key-1', key },
      ],
    },
  };
  const folder = copyOfGateway('aws-kms');
  writeFileSync(join(folder, 'postern.config.yaml'), JSON.stringify(configuration), { mode: 0o600 });
  const environment = [
    ...[`AWS_ENDPOINT_URL_KMS=${kms.url}`, 'AWS_EC2_METADATA_DISABLED=true'],
    ...[`AWS_ACCESS_KEY_ID=${kms.credentials.accessKeyId}`, `AWS_SECRET_ACCESS_KEY=${kms.credentials.secretAccessKey}`],
  ];
  // The gateway of this configuration is running, so its file is in use.
  const check = () =>
    runIn(folder, 'sh', ['-c', `env ${environment.join(' ')} ${nodeOf(24)} node_modules/.bin/postern check || true`]);
  const [documentedInstall = ''] =
    /npm install @postern\/gateway (@aws-sdk\/client-kms)(?=`)/.exec(
      readFileSync(join(root, 'docs/key-services.md'), 'utf8'),
    ) ?? [];
  expect(await check()).toContain('@aws-sdk/client-kms is not installed');
  await install(folder, 'npm', documentedInstall.split(' ').slice(3));
  expect(await check()).toMatch(/vault\.keys\.aws-1 .*encrypts and decrypts/);
});

test.each([
  {
    document: 'payments.md',
    part: {
      processors: [
        {
          type: 'stripe',
          name: 'stripe-main',
          secretKey: 'sk_test_example',
          webhookSecrets: ['whsec_example'],
          apiUrl: 'http://127.0.0.1:1',
        },
      ],
    },
    missing: 'The package stripe is not installed',
    installed: /processor\.stripe-main .*does not respond/,
  },
  {
    document: 'observability.md',
    part: { telemetry: { otlpEndpoint: 'http://127.0.0.1:1' } },
    missing: 'The package @opentelemetry/',
    installed: /telemetry .*are installed/,
  },
  {
    document: 'webhooks.md',
    part: {
      redis: { url: 'redis://127.0.0.1:1' },
      operatorWebhooks: [
        { id: 'on-call', url: 'https://127.0.0.1:1/hook', secrets: [`whsec_${randomBytes(32).toString('base64')}`] },
      ],
    },
    missing: 'The package bullmq is not installed',
    installed: /webhooks .*are installed/,
  },
])('check names the package that $document says how to install', async ({ document, part, missing, installed }) => {
  const configuration = {
    ...z.record(z.string(), z.unknown()).parse(parse(readFileSync(join(home, 'gateway/postern.config.yaml'), 'utf8'))),
    ...part,
  };
  const folder = copyOfGateway(document);
  writeFileSync(join(folder, 'postern.config.yaml'), JSON.stringify(configuration), { mode: 0o600 });
  const check = () => runIn(folder, 'sh', ['-c', `${nodeOf(24)} node_modules/.bin/postern check || true`]);
  const [, packages = ''] =
    /`npm install @postern\/gateway ([^`]+)`/.exec(readFileSync(join(root, 'docs', document), 'utf8')) ?? [];
  expect(await check()).toContain(missing);
  await install(folder, 'npm', packages.split(' '));
  expect(await check()).toMatch(installed);
});

test('docs/authors.md tests a tool with an installed gateway', async ({ expect }) => {
  const document = readFileSync(join(root, 'docs/authors.md'), 'utf8');
  const code = /```ts\n\/\/ example: integration test\n(.+?)```\n/s.exec(document)?.[1] ?? '';
  const folder = emptyProject(join(home, 'integration-test'), registry.npmrc);
  const sdk = ['@modelcontextprotocol/server', '@modelcontextprotocol/client', 'zod'].map(
    name => `${name}@${newest(name)}`,
  );
  await install(folder, 'npm', ['@postern/mcp', '@postern/gateway', ...sdk]);
  writeFileSync(join(folder, 'gateway.test.ts'), code);
  const printed = await runIn(folder, nodeOf(24), ['--test-reporter=tap', 'gateway.test.ts']);
  expect(printed).toMatch(/^# pass 1\n# fail 0$/m);
});

test('npx runs the installed @postern/conformance on every Node.js that it declares', async ({ expect }) => {
  const folder = emptyProject(join(home, 'conformance'), registry.npmrc);
  await install(folder, 'npm', ['@postern/conformance']);
  expect(await runIn(folder, 'npx', ['--no-install', '@postern/conformance', 'list'])).toContain(
    'url-elicitation-asking',
  );
  const program = join(folder, 'node_modules/@postern/conformance/dist/conformance.js');
  for (const major of majors) {
    const results = `results-${major}`;
    const args = [program, `${gateway.url}/nothing`, '--tool', 'connect', '-o', results];
    // Nothing answers there like an MCP server: every check fails, and none is lost.
    await expect(runIn(folder, nodeOf(major), args)).rejects.toThrow('0 passed');
    expect(globSync('*/checks.json', { cwd: join(folder, results) })).toHaveLength(5);
  }
});

test('npx runs the installed @postern/proxy in front of an installed server', async () => {
  const folder = emptyProject(join(home, 'proxy'), registry.npmrc);
  await install(folder, 'npm', ['@postern/proxy', '@modelcontextprotocol/server-memory@2026.8.31']);
  const server = ['--', 'node', 'node_modules/@modelcontextprotocol/server-memory/dist/index.js'];
  const table = await runIn(folder, 'npx', ['--no-install', '@postern/proxy', 'check', ...server]);
  expect(table).toMatch(/^read_graph +pass +annotations$/m);
  expect(table).toMatch(/^delete_entities +confirm +default$/m);
  // The gateway that it starts when it asks is installed beside it.
  expect(existsSync(join(folder, 'node_modules/@postern/gateway/package.json'))).toBe(true);
});

test('the quick start of README works: a tool asks for access to an account, gets a token, and asks once', async () => {
  const folder = emptyProject(join(home, 'quick-start'), registry.npmrc);
  rmSync(join(folder, 'package.json'));
  expect(quickStart.program.trim().split('\n').length).toBeLessThanOrEqual(22);
  await installQuickStart(folder);
  const { terminal, others } = await playQuickStart(folder, nodeOf(24));
  expect(others).not.toContain('Warning');
  const results = terminal.match(/The tool returned:\n.*Water the plants/g);
  expect([results?.length, terminal.match(/Open it in your browser/g)?.length]).toEqual([2, 1]);
  const { apiKey } = z
    .object({ apiKey: z.string() })
    .parse(JSON.parse(readFileSync(join(folder, '.postern/mcp-server.json'), 'utf8')));
  expect(terminal + others).not.toContain(apiKey);
});

test('@postern/demo starts all its parts from its tarball', async () => {
  const folder = join(home, 'quick-start');
  await using demo = startTerminalProcess([nodeOf(24), 'node_modules/.bin/postern-demo'], folder);
  await demo.waitFor('Ctrl-C stops the demo');
  const urls = new Set(demo.printed().match(/http:\/\/localhost:\d+[/\w]*(?=\s)/g));
  // Five parts, and the page to try them all, which the MCP server has at its root.
  expect(urls.size).toBe(6);
  expect(new Set([...urls].map(url => new URL(url).origin)).size).toBe(5);
  const answers = await Promise.all([...urls].map(url => fetch(url)));
  expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
  const tryItUrl = /^Open (\S+) in a browser/m.exec(demo.printed())?.[1] ?? '';
  const page = await (await fetch(tryItUrl)).text();
  expect(page).toContain('<title>Try Postern</title>');
  const script = /<script src="([^"]+)"/.exec(page)?.[1] ?? '';
  const answer = await fetch(new URL(script, tryItUrl));
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('javascript')]);
});

describe('attach()', () => {
  test.concurrent.for([
    ['v2', '@modelcontextprotocol/server', 'other-sdk', "const { postern: gate } = await import('@postern/mcp')"],
    [
      'v1',
      '@modelcontextprotocol/sdk',
      'other-sdk/server/mcp.js',
      "const { postern: gate } = await import('@postern/mcp/v1')",
    ],
  ] as const)(
    'refuses an McpServer of a second installed copy of SDK %s',
    async ([era, sdk, other, importGate], { expect }) => {
      const folder = emptyProject(join(home, `copies-${era}`), registry.npmrc);
      const copy = `other-sdk@npm:${sdk}@${newest(sdk)}`;
      await install(folder, 'npm', ['@postern/mcp', `${sdk}@${newest(sdk)}`, copy, `zod@${newest('zod')}`]);
      writeFileSync(
        join(folder, 'attach.js'),
        `${importGate};
      for (const path of ['${other.replace('other-sdk', sdk)}', '${other}']) {
        const { McpServer } = await import(path);
        try {
          gate({ url: 'https://gate.example.com', apiKey: 'k'.repeat(32) }).attach(new McpServer({ name: 'a', version: '1' }));
          console.log('attached');
        } catch (error) {
          console.log(error.code);
        }
      }`,
      );
      expect(await runIn(folder, process.execPath, ['attach.js'])).toBe('attached\nother_sdk_copy\n');
    },
  );
});

/**
 * Checks in one gigabyte of memory: with each compiler under one resolution, or with TypeScript 5.9 under nodenext. Returns the type
 * instantiations of TypeScript 5.9.
 */
async function typeCheck(folder: string, { isThorough }: Consumer): Promise<number> {
  const text = await compile(folder, 'typescript-5', { moduleResolution: 'nodenext', skipLibCheck: true });
  if (isThorough) await compile(folder, 'typescript', { moduleResolution: 'bundler', skipLibCheck: true });
  return Number(/^Instantiations: +(\d+)$/m.exec(text)?.[1]);
}

/** Faults of our declarations, which a compiler that skips them takes for `any`. Those of other packages are not ours. */
async function declarationFaults(folder: string): Promise<readonly string[]> {
  const text = await compile(folder, 'typescript', { moduleResolution: 'nodenext', skipLibCheck: false }).catch(String);
  return text.split('\n').filter(line => /^(?:node_modules\/@postern\/|server\.ts).*error TS/.test(line));
}

interface Resolution {
  readonly moduleResolution: 'nodenext' | 'bundler';
  readonly skipLibCheck: boolean;
}

/** @throws with the faults */
async function compile(folder: string, compiler: string, resolution: Resolution): Promise<string> {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: 'es2022',
    types: ['node'],
    module: resolution.moduleResolution === 'bundler' ? 'esnext' : 'nodenext',
    ...resolution,
  };
  const project = `tsconfig.${compiler}.${resolution.moduleResolution}.${resolution.skipLibCheck}.json`;
  writeFileSync(join(folder, project), JSON.stringify({ compilerOptions, files: ['server.ts'] }));
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
  const args = ['--max-old-space-size=1024', tsc, '--project', project, '--extendedDiagnostics'];
  return await runIn(folder, process.execPath, compiler === 'typescript' ? [...args, '--singleThreaded'] : args);
}
