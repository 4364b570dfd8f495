import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ElicitationId, parseElicitationId } from '@postern/elicitation';
import { type Gateway, parseConfig } from '@postern/gateway';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { runCommand as runCommandLine } from '../../services/gateway/src/testing/run-command.ts';
import { documents, readDocument } from './support/doc-blocks.ts';
import { shellCommands, wordsOf } from './support/shell-commands.ts';
import { startDocumentedGateway } from './support/start-documented-gateway.ts';

const root = join(import.meta.dirname, '../..');
const scriptsOf = (folder: string) =>
  z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))).scripts;

/** Commands that this test does not run, each with the reason. The script or folder that they name must exist. */
const provenElsewhere: readonly (readonly [command: RegExp, because: string])[] = [
  [/^git clone … && cd postern$/, 'the address depends on the reader'],
  [/^npx -y pnpm@12 test( packages\/vault)?$/, 'this test belongs to that run'],
  [/^npx -y pnpm@12 demo( --unattended)?$/, '`verify` runs the unattended demo'],
  [/^npx -y pnpm@12 demo:host( --era 2025-11-25)?$/, 'the unattended demo uses the same host, in both eras'],
  [
    /^npx -y pnpm@12 faults( --(long|record|only=[A-Z0-9,]+|seeds?=\d+))*$/,
    'takes minutes; the short scenarios are tests',
  ],
  [/^(kubectl create secret|helm template|helm install) /, 'test/helm runs them without a cluster'],
  [
    /^npm install @postern\/(mcp|host|gateway)( @?[a-z/]+)*$/,
    'published-packages.slow.test.ts reads these lines and installs what they name',
  ],
  [/^node server\.mjs$/, 'published-packages.slow.test.ts follows the quick start'],
  [
    /^npx @postern\/demo( host( --url \S+)?)?$/,
    'published-packages.slow.test.ts starts the demo, and runs the host with the MCP server of the quick start',
  ],
  [
    /^node verify-receipt\.mjs receipt\.json https:\/\/\S+ bookshop$/,
    'test/e2e/receipts.test.ts runs it with a downloaded file',
  ],
  [/^npx @postern\/gateway check( --token-file token\.txt)?$/, 'test/check runs it'],
  [/^npx @postern\/gateway payments refund (?!.*--dry-run)/, 'test/admin-api runs it with a processor'],
  [/^npx @postern\/gateway pages preview( --out preview)?$/, 'test/preview runs it'],
  [
    /^npx @postern\/conformance (http|client --command )/,
    'test/conformance/any-server runs the program, tools/conformance its options, and test/packages the tarball',
  ],
  [/^npx @postern\/gateway start$/, 'published-packages.slow.test.ts runs the program'],
  [/^npx @postern\/proxy /, 'test/proxy runs the program, and the rules of its README'],
  [
    /^(GITHUB_CLIENT_SECRET_FILE=\S+ )?npx @postern\/gateway dev( --(port|issuer|provider) \S+)*$/,
    'test/quick-start/dev-gateway.slow.test.ts and dev-options.test.ts start the gateway with these options',
  ],
  [/^pnpm --filter @postern\/vault wycheproof <testvectors_v1>$/, 'needs vectors that users must download themselves'],
  [/^pnpm --filter @postern\/vault measure$/, 'a measurement, which is never a test'],
];

const apiKey = 'pk_documented';
const issuer = 'https://id.example.com';
const configOf = (redisUrl: string) => ({
  publicUrl: 'https://gate.example.com',
  listen: { host: '127.0.0.1', port: 0 },
  redis: { url: redisUrl },
  audit: { stream: true },
  // Sheds no requests, however busy this machine is.
  overload: { eventLoopDelayMs: 10_000 },
  vault: { keys: [{ kid: '2026-11', key: randomBytes(32).toString('base64') }] },
  identityProviders: [{ name: 'company', issuer, clientId: 'postern' }],
  processors: [{ type: 'stripe' as const, name: 'stripe', secretKey: 'sk_live_1', webhookSecrets: ['whsec_dGVzdA=='] }],
  mcpServers: [
    {
      id: 'tracker',
      name: 'Tracker',
      url: 'https://tracker.example.com/mcp',
      apiKeys: [{ hash: `sha256:${createHash('sha256').update(apiKey).digest('hex')}` }],
      issuers: [issuer],
      webhooks: [
        {
          id: 'orders',
          url: 'https://tracker.example/hooks',
          secrets: [`whsec_${randomBytes(32).toString('base64')}`],
          // No example causes such an event, so that none of the commands finds an endpoint that fails.
          statuses: ['expired' as const],
          payments: [],
        },
      ],
    },
  ],
});

let folder: string;
let redis: RedisServer;
let gateway: Gateway;
let elicitationId: string;
let apiKeyId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-commands-'));
  redis = await startRedis();
  const config = configOf(redis.url);
  await writeFile(join(folder, 'postern.config.yaml'), JSON.stringify(config));
  gateway = await startDocumentedGateway(parseConfig(config));
  // Transforming the modules has kept this process busy for longer than Redis may take to respond.
  await vi.waitFor(async () => expect(await issue()).toBe(201), { timeout: 300_000 });
  // What a processor has taken for the elicitation of the examples of `payments`.
  await gateway.deps.stores.payments.put({
    payment: {
      elicitationId: parsedId(),
      version: 0,
      paidAt: 0,
      mcpServerId: 'tracker',
      completes: false,
      processor: 'stripe',
      processorReference: 'pi_documented',
      amount: { currency: 'EUR', minorUnits: 2490 },
      refunds: [],
      disputes: [],
    },
  });
  // The API keys of the examples of `api-keys revoke`.
  const key = ['api-keys', 'add', 'tracker', 'example', '--reason', 'example'];
  expect((await postern([...key, '--out', join(folder, 'leaked')])).code).toBe(0);
  apiKeyId = z.object({ apiKeyId: z.string() }).parse(JSON.parse((await postern([...key, '--json'])).out)).apiKeyId;
  // A second replica, which the example of `drain` takes out of service.
  const replica = { instance: 'gate-2:1', version: '1', startedAt: 1, status: 'drained', requests: 0 } as const;
  await gateway.deps.stores.replicas.announce('rp_documented', replica, 3_600_000);
  // A passkey of the user in the example of `passkeys reset`.
  const subject = { issuer, subject: '248289761001' };
  const passkey = { passkeyId: 'lost', subject, publicKey: 'pQECAyYgASFYIA', signCount: 0, transports: [] };
  await gateway.deps.stores.passkeys.add({ ...passkey, backedUp: false, label: 'Lost phone' }, 1);
});
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Issues the elicitation that examples name. Returns the status. */
async function issue(): Promise<number> {
  const answer = await fetch(`${gateway.address}/v1/elicitations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      kind: 'confirmation',
      subject: { issuer, subject: 'alice' },
      message: 'Sure?',
      confirmation: { title: 'Delete it', facts: [] },
    }),
  });
  const body: unknown = await answer.json();
  if (answer.status === 201) elicitationId = z.object({ elicitationId: z.string() }).parse(body).elicitationId;
  return answer.status;
}

function parsedId(): ElicitationId {
  const parsed = parseElicitationId(elicitationId);
  if (parsed === undefined) throw new Error('not issued');
  return parsed;
}

/** Runs `postern` in the folder of the configuration. With `--follow` it ends after the first output. */
async function postern(args: readonly string[]) {
  const stopping = new AbortController();
  return runCommandLine(args, {
    env: { POSTERN_CONFIG: join(folder, 'postern.config.yaml') },
    signal: stopping.signal,
    out() {
      if (args.includes('--follow')) stopping.abort();
    },
  });
}

/** Replaces names in an example by those of the prepared folder. */
const inThisFolder = (word: string) =>
  word
    .replace(/el_…/, elicitationId)
    .replace(/ak_…/, apiKeyId)
    .replace(/rp_…/, 'rp_documented')
    .replace(/^\/run\/secrets\//, `${folder}/`);

const columns = (line = '') => line.trim().split(/ {2,}/);

async function runPostern(args: readonly string[], shown: string): Promise<void> {
  const { code, out, err } = await postern(args.map(inThisFolder));
  // The event of the example is not a dead delivery, and only Ctrl-C ends `--follow`.
  const expected = args.includes('redeliver') && !args.includes('--all') ? 1 : args.includes('--follow') ? 130 : 0;
  expect({ code, err: code === expected ? '' : err }).toEqual({ code: expected, err: '' });
  const [head = ''] = shown.split('\n');
  // The command prints the header of a documented table.
  if (/ {2,}/.test(head)) expect(columns(head)).toEqual(columns(out.split('\n')[0]));
}

const node = promisify(execFile);

async function runCommand(command: string, shown: string): Promise<void> {
  const [program, ...args] = wordsOf(command);
  if (program === 'npx' && args[0] === '@postern/gateway') {
    const inFolder = args[1] === 'init' ? ['--folder', await mkdtemp(join(folder, 'init-'))] : [];
    return runPostern([...args.slice(1), ...inFolder], shown);
  }
  if (program === 'curl') return runCurl(args);
  if (program === 'grep') {
    await writeFile(join(folder, args.at(-1) ?? ''), '{"what":"fault","id":"el_7fVn3J…"}\n');
    expect((await node('grep', args, { cwd: folder })).stdout).not.toBe('');
    return;
  }
  if (program === 'node' && args[0] === '-e') {
    const { stdout } = await node(process.execPath, args, { cwd: folder });
    expect(JSON.parse(stdout)).toMatchObject({ kty: 'EC', crv: 'P-256' });
    expect(JSON.parse(readFileSync(join(folder, 'decryption-key.json'), 'utf8'))).toHaveProperty('d');
    return;
  }
  const [, workspace = '', name = ''] = /^pnpm --filter @postern\/(\S+) (\S+)$/.exec(command) ?? [];
  const workspaceFolder = ['packages', 'services', 'tools']
    .map(parent => join(parent, workspace))
    .find(path => existsSync(join(root, path)));
  const file =
    workspaceFolder === undefined ? undefined : /node (\S+)$/.exec(scriptsOf(workspaceFolder)[name] ?? '')?.[1];
  if (workspaceFolder === undefined || file === undefined) throw new Error(`not a known command: ${command}`);
  expect((await node(process.execPath, [file], { cwd: join(root, workspaceFolder) })).stdout).not.toBe('');
}

/** Sends the request of curl, and reads the first bytes of the response. */
async function runCurl(args: readonly string[]): Promise<void> {
  const header = args[args.indexOf('-H') + 1]?.replace('$KEY', apiKey) ?? '';
  const url = new URL(args.at(-1) ?? '');
  const [name = '', value = ''] = header.split(': ');
  const stop = new AbortController();
  const answer = await fetch(`${gateway.address}${url.pathname}${url.search}`, {
    headers: { [name]: value },
    signal: stop.signal,
  });
  expect(answer.status).toBe(200);
  stop.abort();
}

describe('commands of the documents', () => {
  test.each(shellCommands.map(({ title, command, output }) => [title, command, output] as const))(
    '%s: %s',
    async (_, command, output) => {
      const isElsewhere = provenElsewhere.some(([pattern]) => pattern.test(command));
      if (!isElsewhere) return runCommand(command, output);
      const script = /^npx -y pnpm@12 (\S+)/.exec(command)?.[1];
      if (script !== undefined) expect(Object.keys(scriptsOf('.'))).toContain(script);
      const [, workspace = '', name = ''] = /^pnpm --filter @postern\/(\S+) (\S+)/.exec(command) ?? [];
      if (workspace !== '') expect(Object.keys(scriptsOf(`packages/${workspace}`))).toContain(name);
    },
  );

  test('every exception names a documented command', () => {
    const idle = provenElsewhere.filter(([pattern]) => !shellCommands.some(({ command }) => pattern.test(command)));
    expect(idle).toEqual([]);
  });
});

test('every command of postern is documented, and every documented command exists', async () => {
  const { out: help } = await postern(['--help']);
  const existing = new Set([...help.matchAll(/^ {2}postern ([a-z-]+(?: [a-z-]+)?)/gm)].map(([, name]) => name));
  const text = documents.map(readDocument).join('\n');
  const nouns = [...new Set([...existing].map(name => name?.split(' ')[0]))].join('|');
  const documented = new Set(
    [...text.matchAll(new RegExp(`\\bpostern ((?:${nouns})(?: [a-z][a-z-]+\\b)?)`, 'g'))].map(([, name]) => name),
  );
  expect([...existing].filter(name => !documented.has(name))).toEqual([]);
  const isNoun = (name: string | undefined) => [...existing].some(each => each?.startsWith(`${name} `));
  expect([...documented].filter(name => !existing.has(name) && !isNoun(name))).toEqual([]);
});
