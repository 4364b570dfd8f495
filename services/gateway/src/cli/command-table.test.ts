import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SHARDS, type Subject } from '@postern/elicitation';
import { createRedisStores, keyRowOf, type RedisStores } from '@postern/store-redis';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { isShortRun } from '@postern/testkit/run-size';
import { createKeyRing, createVault } from '@postern/vault';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { adminHandlers } from '../admin-api/admin-handlers.ts';
import { startLocalServer } from '../local/local-server.ts';
import type { AuditEventName } from '../platform/audit/audit-events.ts';
import { connectionContext } from '../sealing/seal-contexts.ts';
import { runCommand } from '../testing/run-command.ts';
import { sampleConfig, sampleMcpServer } from '../testing/sample-config.ts';
import { newSecret, startReceiver, webhookStage } from '../testing/webhook-stage.ts';
import { quickPace } from '../testing/webhooks-config.ts';
import { throughUrl } from './admin-door.ts';
import { type Command, cliOptions } from './command.ts';
import { commandTable } from './run-cli.ts';

const { answer, approve, askFor, charge } = kindSamples;
const { ask, complete, connectionFor, created, engage, from, moved, operation, somebody } = samples;

/** How one command is called, so that all rules of docs/commands.md can be checked of it. */
interface Scenario {
  /** Arguments with which it exits with 0. */
  readonly done: () => readonly string[];
  /** Arguments with which it exits with 1. Default: those of `done` with a configuration that does not exist. */
  readonly failed?: () => readonly string[];
  /** Configuration of its own. */
  readonly config?: () => string;
  /** The act in the audit trail. Absent for a command that neither changes anything nor shows one person. */
  readonly act?: AuditEventName;
  /** The act of `--dry-run`, which shows the counts of one person. */
  readonly planned?: AuditEventName;
}

const why = ['--reason', 'ticket 7', '--by', 'olga'];
const people = { leaver: somebody(), erased: somebody(), kept: somebody(), keyless: somebody() };
const viewed = 'admin.person_viewed';
const named = ({ issuer, subject }: Subject) => [issuer, subject];
const scenarios: Readonly<Record<string, Scenario>> = {
  check: { done: () => [], config: () => configs.local, failed: () => [configs.lostKey] },
  'pages preview': { done: () => ['--out', fresh()], failed: () => ['--out', folder] },
  'vault status': { done: () => [], failed: () => ['-c', configs.lostKey] },
  'vault rewrap': {
    done: () => why,
    failed: () => [...why, '-c', configs.lostKey],
    config: () => configs.rotated,
    act: 'admin.rewrap_started',
  },
  'vault new-key': { done: () => ['--out', fresh()], failed: () => ['--out', configs.sound] },
  'receipts new-key': { done: () => ['--out', fresh()], failed: () => ['--out', configs.sound] },
  'new-api-key': { done: () => [], failed: () => ['--out', configs.sound] },
  'mcp-servers add': {
    done: () => ['wiki', '--url', 'https://wiki.example/mcp'],
    failed: () => ['tracker', '--url', 'https://wiki.example/mcp'],
    config: () => {
      const path = `${fresh()}.yaml`;
      writeFileSync(path, JSON.stringify(sampleConfig({ listen: { port: 0 } })));
      return path;
    },
  },
  status: { done: () => [], config: () => configs.onFile, failed: () => ['-c', configs.local] },
  stop: { done: () => [], config: () => configs.onFile, failed: () => ['-c', configs.exposed] },
  'redis status': { done: () => [], failed: () => ['-c', configs.foreign] },
  'redis accept-loss': {
    done: () => ['--all', '--yes', ...why],
    failed: () => ['--all', ...why],
    config: () => configs.other,
    act: 'redis.loss_accepted',
  },
  replicas: { done: () => [], failed: () => ['-c', configs.other] },
  drain: {
    done: () => ['host-a', ...why],
    failed: () => ['host-z', ...why],
    act: 'replica.drain_ordered',
  },
  'api-keys list': { done: () => [] },
  'api-keys add': {
    done: () => ['tracker', 'second', ...why],
    failed: () => ['nowhere', 'second', ...why],
    act: 'api_key.added',
  },
  'api-keys revoke': {
    done: () => [apiKeyId, ...why],
    failed: () => ['ak_unknown', ...why],
    act: 'api_key.revoked',
  },
  'admin-credentials list': { done: () => [] },
  'admin-credentials add': {
    done: () => ['dashboard', 'read,act', ...why],
    failed: () => ['dashboard', 'all', ...why],
    act: 'admin.credential_added',
  },
  'admin-credentials revoke': {
    done: () => [credentialId, ...why],
    failed: () => ['unknown', ...why],
    act: 'admin.credential_revoked',
  },
  audit: { done: () => ['--issuer', people.kept.issuer, '--subject', people.kept.subject, ...why], act: viewed },
  'audit pseudonym': { done: () => named(people.kept) },
  find: { done: () => [elicitationId], failed: () => ['order-unknown'] },
  'elicitations show': {
    done: () => [elicitationId, ...why],
    failed: () => [`${elicitationId.slice(0, -4)}AAAA`],
    act: viewed,
  },
  'elicitations cancel': {
    done: () => [elicitationId, ...why],
    failed: () => [`el_7f${'A'.repeat(43)}`, ...why],
    act: 'admin.elicitation_cancelled',
  },
  'jobs list': { done: () => [], config: () => configs.local, failed: () => ['-c', configs.broken] },
  'jobs show': { done: () => [jobId], failed: () => ['jb_unknown'] },
  'jobs cancel': {
    done: () => [jobId, ...why],
    failed: () => ['jb_unknown', ...why],
    act: 'admin.job_cancelled',
  },
  'payments show': { done: () => [paidId], failed: () => [elicitationId] },
  'payments refund': {
    done: () => [paidId, '--minor-units', '50', ...why],
    failed: () => [paidId, '--minor-units', '1051', ...why],
    act: 'admin.refund_started',
  },
  'people show': { done: () => [...named(people.kept), ...why], failed: () => named(somebody()), act: viewed },
  'people disconnect': {
    done: () => [...named(people.leaver), ...why],
    failed: () => [...named(people.kept), ...why, '-c', configs.broken],
    act: 'admin.disconnect_started',
    planned: viewed,
  },
  'people sign-out': {
    done: () => [...named(people.leaver), ...why],
    act: 'admin.person_signed_out',
    planned: viewed,
  },
  'people export': { done: () => [...named(people.kept), ...why], act: 'admin.person_exported' },
  'people erase': {
    done: () => [...named(people.erased), ...why],
    act: 'admin.person_erased',
    planned: viewed,
  },
  'providers disconnect': {
    done: () => ['github', ...why],
    failed: () => ['github', ...why, '-c', configs.broken],
    act: 'admin.disconnect_started',
  },
  'mcp-servers disconnect': {
    done: () => ['tracker', ...why],
    failed: () => ['tracker', ...why, '-c', configs.broken],
    act: 'admin.disconnect_started',
  },
  'passkeys reset': {
    done: () => [...named(people.kept), ...why],
    failed: () => [...named(people.keyless), ...why],
    act: 'passkey.reset',
    planned: viewed,
  },
  'webhooks list': { done: () => [], config: () => configs.local, failed: () => [] },
  'webhooks dead': { done: () => [], config: () => configs.local, failed: () => [] },
  'webhooks retrying': { done: () => [], config: () => configs.local, failed: () => [] },
  'webhooks redeliver': {
    done: () => ['--all', ...why],
    failed: () => ['ev_unknown', ...why],
    act: 'admin.redelivery_started',
  },
  'webhooks enable': {
    done: () => ['tracker.quiet', ...why],
    failed: () => ['tracker.nowhere', ...why],
    act: 'admin.webhook_enabled',
  },
};

const keys = Object.fromEntries(
  ['first', 'second', 'gone'].map(kid => [kid, { kid, key: randomBytes(32).toString('base64') }]),
);
const keyOf = (kid: string) => keys[kid] ?? { kid, key: '' };
const endpoint = { url: 'http://127.0.0.1:9/hooks', secrets: [newSecret()] };
const endpoints = [
  { ...endpoint, id: 'hook' },
  { ...endpoint, id: 'quiet', statuses: ['pending' as const] },
];

const processor = {
  type: 'stripe' as const,
  name: 'stripe',
  secretKey: 'sk_live_1',
  webhookSecrets: ['whsec_dGVzdA=='],
};

const DEPLOYMENT = `dp_${'A'.repeat(22)}`;
let redis: RedisServer;
let stores: RedisStores;
let other: RedisStores;
let folder = '';
let elicitationId = '';
let paidId = '';
let apiKeyId = '';
let credentialId = '';
const jobId = `jb_${operation()}`;
const configs = {
  sound: '',
  rotated: '',
  lostKey: '',
  foreign: '',
  other: '',
  local: '',
  broken: '',
  onFile: '',
  exposed: '',
};
let localServer: AsyncDisposable;
const fresh = () => join(folder, operation());

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postern-commands-'));
  redis = await startRedis();
  // The compression of Redis gives the same value different bytes.
  await redis.ask('config', 'set', 'rdbcompression', 'no');
  stores = await createRedisStores({ url: redis.url, prefix: 'commands' });
  for (const [name, prefix, kids, more] of [
    ['sound', 'commands', ['first', 'second'], {}],
    ['rotated', 'commands', ['second', 'first'], {}],
    ['lostKey', 'commands', ['gone'], {}],
    ['foreign', 'commands', ['first'], { deployment: `dp_${'B'.repeat(22)}` }],
    ['other', 'other', ['first'], {}],
    ['local', 'local', ['first'], {}],
    ['broken', 'broken', ['first'], {}],
  ] as const) {
    const isLocal = name === 'local';
    const identity = { mode: 'loopback' as const };
    const loopback = { listen: { port: 9 }, identityProviders: [], providers: [] };
    const config = sampleConfig({
      publicUrl: 'http://127.0.0.1:9',
      redis: { url: redis.url, prefix, ...more },
      vault: { keys: kids.map(keyOf) },
      audit: { stream: true },
      ...(name === 'sound' ? { processors: [processor] } : {}),
      ...(isLocal ? loopback : {}),
      mcpServers: [{ ...sampleMcpServer, ...(isLocal ? { identity, providers: [] } : {}), webhooks: endpoints }],
    });
    configs[name] = join(folder, `${name}.yaml`);
    writeFileSync(configs[name], JSON.stringify(config));
  }
  for (const name of ['onFile', 'exposed'] as const) {
    configs[name] = join(folder, `${name}.yaml`);
    writeFileSync(configs[name], JSON.stringify({ store: { file: join(folder, name) } }));
  }
  writeFileSync(join(folder, 'exposed.local'), '{}', { mode: 0o644 });
  localServer = await startLocalServer({
    storeFile: join(folder, 'onFile'),
    version: '1.0.0',
    logger: { info() {}, warn() {} },
    stores: { ping: async () => {}, refusals: () => [] },
    onStoreGone() {},
    async serve({ operation }, line) {
      const status = { version: '1.0.0', pid: 1, url: 'u', config: 'c', store: 's', openAsks: 0, idleSince: 'i' };
      line.send({ answer: operation === 'status' ? { ...status, mcpServers: [] } : { stopped: true } });
    },
  });
  other = await createRedisStores({ url: redis.url, prefix: 'other' });
  for (const { epochs } of [stores, other])
    await epochs.begin({ deployment: DEPLOYMENT, epoch: Date.now() }, SHARDS, { replaces: false });
  await seedBroken();
  const asked = await created(stores.elicitations, askFor('payment', somebody()));
  const charging = await moved(stores.elicitations, asked, approve, charge);
  paidId = (await moved(stores.elicitations, charging, answer(charging))).elicitationId;
  for (const person of [people.leaver, people.erased, people.kept, somebody()]) await seed(person);
  const added = await run('api-keys add', ['tracker', 'first', ...why, '--json']);
  apiKeyId = z.object({ apiKeyId: z.string() }).parse(JSON.parse(added.out)).apiKeyId;
  const credential = await run('admin-credentials add', ['first', 'read', ...why, '--json']);
  credentialId = z.object({ credentialId: z.string() }).parse(JSON.parse(credential.out)).credentialId;
  for (const host of ['host-a', 'host-b'])
    await stores.replicas.announce(
      `rp_${host}`,
      { instance: `${host}:7`, version: '1', startedAt: 1, status: 'drained', requests: 0 },
      3_600_000,
    );
  await seedDeliveries();
  await stores.jobs.start({ jobId, about });
});
afterAll(async () => {
  await localServer?.[Symbol.asyncDispose]();
  await stores?.close();
  await other?.close();
  await redis?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** A connection under the old key, an open elicitation, a passkey and a browser session of one user. */
async function seed(subject: Subject): Promise<void> {
  const open = await created(stores.elicitations, from('tracker', ask(subject)));
  elicitationId = open.elicitationId;
  const other = from('tracker', ask(subject, { coalescingDigest: operation() }));
  const active = await moved(stores.elicitations, await created(stores.elicitations, other), engage);
  const connection = connectionFor(subject, active.elicitationId, 'tracker');
  const vault = createVault(createKeyRing([{ kid: 'first', key: Buffer.from(keyOf('first').key, 'base64') }]));
  const sealedTokens = await vault.seal('token', connectionContext(connection));
  const outcome = complete(active);
  await moved(stores.elicitations, active, { ...outcome, putConnection: { ...connection, sealedTokens } });
  await stores.passkeys.add(samples.passkeyFor(subject), 10);
  await stores.browserSessions.create(
    {
      id: samples.browserSessionIdOf(subject),
      subject,
      displayName: 'A',
      origin: { identityProvider: 'example-id' },
    },
    { idleMs: 3_600_000, absoluteMs: 3_600_000 },
  );
}

const about = { verb: 'disconnect', target: { provider: 'github' }, by: 'olga', door: 'console' } as const;

/** A connection of a release that this one cannot read, and a job that failed. */
async function seedBroken(): Promise<void> {
  const broken = await createRedisStores({ url: redis.url, prefix: 'broken' });
  const open = await created(broken.elicitations, from('tracker', ask(people.kept)));
  const active = await moved(broken.elicitations, open, engage);
  await moved(broken.elicitations, active, complete(active));
  const [connection] = await broken.connections.list(people.kept);
  const { connectionId = '' } = connection ?? {};
  const key = `broken:{${connectionId.slice(3, 5)}}:cn:${connectionId.slice(5)}`;
  await redis.ask('hset', key, 'record', '{"layout":99}');
  await broken.jobs.start({ jobId, about });
  await broken.jobs.end({ jobId, status: 'failed' });
  await broken.close();
}

/** A dead and a retrying delivery at one endpoint, and another endpoint that is disabled. */
async function seedDeliveries(): Promise<void> {
  let failures = 0;
  await using receiver = await startReceiver(() => 500);
  await using stage = await webhookStage({ address: { url: redis.url }, prefix: 'commands' });
  const webhooks = await stage.start([{ id: 'hook', url: receiver.url, secrets: endpoint.secrets }], {
    pace: {
      ...quickPace,
      retryDelay() {
        failures += 1;
        return failures === 1 ? undefined : 3_600_000;
      },
    },
  });
  await stage.publish(2);
  await vi.waitFor(async () => expect(await stage.counts('tracker.hook')).toMatchObject({ dead: 1, delayed: 1 }), {
    timeout: 100_000,
  });
  await webhooks.stop();
  await stores.webhookEndpoints.disable('tracker.quiet', { reason: 'gone', now: Date.now() });
  // Opens the queues of both endpoints.
  await run('webhooks list', []);
}

const run = (name: string, args: readonly string[], config = configs.sound) =>
  runCommand([...name.split(' '), ...args], { env: { POSTERN_CONFIG: config } });

function scenarioOf({ name }: Command): Scenario {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`add a scenario for postern ${name}`);
  return scenario;
}

/** Everything in Redis except the audit trail, and what passes by itself. The order of a hash says nothing. */
const contents = () =>
  redis.ask(
    'eval',
    `local passing, all = { audit = 1, oaudit = 1, probe = 1, limiter = 1, ['stalled-check'] = 1 }, {}
     local function valueOf(key)
       if redis.call('type', key).ok ~= 'hash' then return redis.call('dump', key) end
       local flat, pairs = redis.call('hgetall', key), {}
       for at = 1, #flat, 2 do pairs[#pairs + 1] = flat[at] .. '=' .. flat[at + 1] end
       table.sort(pairs)
       return table.concat(pairs, ' ')
     end
     for _, key in ipairs(redis.call('keys', '*')) do
       if not passing[key:match('[^:]*$')] then all[#all + 1] = key .. ' ' .. redis.sha1hex(valueOf(key)) end
     end
     table.sort(all)
     return table.concat(all, string.char(10))`,
    '0',
  );

/** The acts that were recorded while `work` ran, except the end of a job, which a crash may repeat. */
async function actsOf<T>(work: () => Promise<T>) {
  const lines = async () => {
    const texts = await Promise.all(
      [stores, other].map(async ({ audits }) => (await audits.readBack({ limit: 1000 })).map(({ line }) => line)),
    );
    return texts.flat();
  };
  const before = new Set(await lines());
  const done = await work();
  const added = (await lines()).filter(line => !before.has(line)).map(line => recorded.parse(JSON.parse(line)));
  return { done, acts: added.filter(({ event }) => event !== 'admin.job_ended') };
}
const recorded = z.object({
  event: z.string(),
  operator: z.string().optional(),
  door: z.string().optional(),
  reason: z.string().optional(),
});
const actOf = (event: AuditEventName | undefined) =>
  event === undefined ? [] : [{ event, operator: 'olga', door: 'command_line', reason: 'ticket 7' }];

const each = commandTable.map(command => [command.name, command] as const);
const changing = each.filter(([, { changes }]) => changes);
/** An option of another command. */
const foreignTo = (command: Command) =>
  (['kid', 'deployment'] as const).find(option => command.options?.[option] === undefined) ?? 'follow';

test('S207: every key of a gateway with webhooks, jobs and people has a row that says who pays for it', async () => {
  const keys = (await redis.ask('keys', '*')).split('\n').filter(key => key !== '');
  const unknown = keys.filter(key => keyRowOf(key.slice(0, key.indexOf(':')), key) === undefined);
  expect({ unknown, isFilled: keys.length > 20 }).toEqual({ unknown: [], isFilled: true });
});

describe('S151: every command of the table', () => {
  test('has a scenario here', () => {
    expect(commandTable.map(({ name }) => name).sort()).toEqual(Object.keys(scenarios).sort());
  });

  test.each(each)('postern %s exits with 2 for a wrong usage, and prints and changes nothing', async (_, command) => {
    const args = scenarioOf(command).done();
    const before = await contents();
    const foreign = `--${foreignTo(command)}=x`;
    const tooMany = [...args, 'one', 'more', 'many'];
    const wrong = [[...args, '--unknown'], [...args, foreign], tooMany];
    if (!command.changes) wrong.push([...args, '--dry-run']);
    if (command.parameters?.[0]?.startsWith('<') === true) wrong.push([]);
    // All commands read their arguments alike: the short run makes one mistake with each, another with the next.
    const made = isShortRun ? wrong.filter((_, at) => at === command.name.length % wrong.length) : wrong;
    for (const arguments_ of made) {
      const { code, out } = await run(command.name, arguments_);
      expect({ arguments_, code, out }).toEqual({ arguments_, code: 2, out: '' });
    }
    expect(await contents()).toBe(before);
  });

  test.each(each)('postern %s exits with 1 if it fails, and says why on standard error', async (_, command) => {
    const scenario = scenarioOf(command);
    const none = join(folder, 'none.yaml');
    const needsConfig = !/\bnew-(?:api-)?key$/.test(command.name);
    if (needsConfig) {
      const { code, out, err } = await run(command.name, scenario.done(), none);
      expect(code).toBe(1);
      // `check` reports the file as a finding.
      expect(command.name === 'check' ? out : err).toContain(none);
    }
    if (scenario.failed === undefined)
      return expect(command.failure === undefined || command.name === 'people erase').toBe(true);
    const config = command.name.startsWith('webhooks') ? configs.sound : scenario.config?.();
    expect(await run(command.name, scenario.failed(), config)).toMatchObject({ code: 1 });
  });

  test.each(each.filter(([, { options }]) => options?.by !== undefined))(
    'S179: postern %s refuses an operator or a reason that is not one line of text',
    async (name, command) => {
      const lines = async () => (await stores.audits.readBack({ limit: 1000 })).length;
      const before = await lines();
      for (const [at, text] of ['two\nlines', 'x'.repeat(201)].entries())
        for (const option of isShortRun ? [['--by', '--reason'][at] ?? ''] : ['--by', '--reason']) {
          const args = [...scenarioOf(command).done(), option, text];
          expect(await run(name, args, scenarioOf(command).config?.())).toMatchObject({ code: 2, out: '' });
        }
      expect(await lines()).toBe(before);
    },
  );

  test.each(changing)('S179: postern %s needs a reason', async (name, command) => {
    const args = scenarioOf(command).done();
    const unexplained = args.filter((_, at) => args[at] !== '--reason' && args[at - 1] !== '--reason');
    expect(unexplained).toHaveLength(args.length - 2);
    const before = await contents();
    expect(await run(name, unexplained, scenarioOf(command).config?.())).toMatchObject({ code: 2, out: '' });
    expect(await contents()).toBe(before);
  });

  test.each(changing)(
    'S179: postern %s changes nothing with --dry-run, and something without, and says who and why',
    async (_, command) => {
      const scenario = scenarioOf(command);
      const args = scenario.done();
      const before = await contents();
      const { done: planned, acts: looked } = await actsOf(() =>
        run(command.name, [...args, '--dry-run', '--json'], scenario.config?.()),
      );
      expect(looked).toEqual(actOf(scenario.planned));
      expect({ code: planned.code, err: planned.err }).toMatchObject({ code: 0 });
      expect(JSON.parse(planned.out)).toMatchObject({ dryRun: true });
      const inWords = await run(command.name, [...args, '--dry-run'], scenario.config?.());
      expect(inWords).toMatchObject({ code: 0, out: expect.stringMatching(/Would/) });
      expect(await contents()).toBe(before);

      if (scenario.act === undefined) throw new Error('name the act that the audit trail has');
      const { done, acts } = await actsOf(() => run(command.name, [...args, '--json'], scenario.config?.()));
      // The log of the container or the shell has the act as well (S205).
      expect(done.err).toContain(`"event":"${scenario.act}"`);
      expect(acts.filter(({ event }) => event !== 'admin.connection_removed')).toEqual(actOf(scenario.act));
      expect({ code: done.code, err: done.err }).toMatchObject({ code: 0 });
      expect(JSON.parse(done.out)).not.toMatchObject({ dryRun: true });
      expect(await contents()).not.toBe(before);
    },
  );

  test.each(each.filter(([, { changes }]) => !changes))(
    'S179: postern %s exits with 0, and says who looked at a person and why',
    async (_, command) => {
      const scenario = scenarioOf(command);
      const { done, acts } = await actsOf(() => run(command.name, scenario.done(), scenario.config?.()));
      const { code, out } = done;
      expect(code).toBe(0);
      expect(acts).toEqual(actOf(scenario.act));
      expect(() => jsonIn(command, out)).toSatisfy(parses =>
        command.json === 'always' || command.json === 'lines' ? succeeds(parses) : !succeeds(parses),
      );
      if (command.json === 'never') return;
      const asJson = await run(command.name, [...scenario.done(), '--json'], scenario.config?.());
      expect(asJson.code).toBe(0);
      expect(jsonIn(command, asJson.out)).toBeTypeOf('object');
    },
  );

  test('postern <command> --help names its options', async () => {
    for (const command of commandTable) {
      const { code, out } = await run(command.name, ['--help']);
      expect(code).toBe(0);
      for (const option of Object.keys(command.options ?? {})) expect(out).toContain(`--${option}`);
      expect(out.includes('--dry-run')).toBe(command.changes);
    }
  });
});

function jsonIn(command: Command, out: string): unknown {
  return command.json === 'lines'
    ? out
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line))
    : JSON.parse(out);
}

function succeeds(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

const jsonLetters = { document: '', always: 'A', lines: 'A', never: 'N' };

/** The line of docs/commands.md. */
function lineOf({ name, parameters = [], about, options, json, changes, failure, canBeInterrupted }: Command): string {
  const isRemote = options?.url === throughUrl.url;
  const letters = `${jsonLetters[json]}${changes ? 'D' : ''}${canBeInterrupted ? 'I' : ''}${isRemote ? 'U' : ''}`;
  const call = `\`${['postern', name, ...parameters].join(' ')}\` ${letters}`;
  return `- ${call.trim()}: ${about}${failure === undefined ? '' : ` (1: ${failure})`}`;
}

test('an operation whose result is not as described is named', async () => {
  using _ = vi.spyOn(adminHandlers, 'signOutPerson').mockResolvedValueOnce({ found: -1 });
  const { code, out, err } = await run('people sign-out', [...named(people.kept), ...why]);
  expect({ code, out, err }).toMatchObject({ code: 1, out: '', err: expect.stringContaining('signOutPerson') });
});

test('payments show does not take a missing report of the processor for "not paid"', async () => {
  const asked = await created(stores.elicitations, askFor('payment', somebody()));
  const shown = () => run('payments show', [asked.elicitationId]).then(({ out }) => out.trim().split('\n').at(-1));
  const pending = await shown();
  await moved(stores.elicitations, asked, approve, charge);
  expect(await shown()).not.toBe(pending);
});

test('payments show names the currency of a dispute, which may differ from that of the payment', async () => {
  const asked = await created(stores.elicitations, askFor('payment', somebody()));
  const charging = await moved(stores.elicitations, asked, approve, charge);
  const { elicitationId } = await moved(stores.elicitations, charging, answer(charging));
  const [payment] = await stores.payments.list(elicitationId);
  if (payment === undefined) throw new Error('no payment');
  const dispute = {
    processorReference: 'du_1',
    currency: 'JPY',
    minorUnits: 1234,
    status: 'open',
    createdAt: 1,
  } as const;
  await stores.payments.put({ payment: { ...payment, disputes: [dispute] } });
  expect((await run('payments show', [elicitationId])).out).toMatch(/dispute +du_1 +1234 +JPY +open/);
});

test('the list of commands separates every command from its text', async () => {
  const lines = (await run('--help', [])).out.split('\n');
  const rows = lines.filter(
    text => /^ {2}postern [a-z].*\S {2,}\S/.test(text) || /^ {2}postern [a-z -]+( [<[][^>\]]*[>\]])*$/.test(text),
  );
  expect(lines.filter(text => text.startsWith('  postern ') && !rows.includes(text))).toEqual([]);
});

test('docs/commands.md has exactly the commands of the table', () => {
  const text = readFileSync(new URL('../../../../docs/commands.md', import.meta.url), 'utf8');
  const lines = text.split('\n').filter(line => line.startsWith('- `postern '));
  const ours = lines.filter(line => !/^- `postern (start|dev|local|init)\b/.test(line));
  expect(ours).toEqual(commandTable.map(lineOf));
});

test('every option belongs to a command', () => {
  const used = new Set([
    'config',
    'json',
    'dry-run',
    'help',
    ...commandTable.flatMap(of => Object.keys(of.options ?? {})),
  ]);
  expect(Object.keys(cliOptions).filter(option => !used.has(option))).toEqual([]);
});
