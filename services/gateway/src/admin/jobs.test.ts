import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Connection, SHARDS, StoreUnavailableError, type Subject, shardOf } from '@postern/elicitation';
import { createRedisStores, openQueueRedis, type RedisStores } from '@postern/store-redis';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type RegisteredMcpServer, registerMcpServers } from '../mcp-servers/registered-mcp-server.ts';
import { pseudonymsOf } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { loadConfig, parseConfig } from '../platform/config/load-config.ts';
import { createLogger } from '../platform/logger.ts';
import { openVault } from '../sealing/open-vault.ts';
import { hashOf, sampleConfig, sampleMcpServer } from '../testing/sample-config.ts';
import { newSecret, startReceiver, webhookStage } from '../testing/webhook-stage.ts';
import { quickPace, webhooksConfig } from '../testing/webhooks-config.ts';
import { type Actor, commandProcess } from './admin-audit.ts';
import { type AdminService, type AdminServiceDeps, createAdminService } from './admin-service.ts';
import type { DisconnectTarget } from './connection-search.ts';
import { createJobWorker, type JobRunnerDeps, startJobRunner } from './job-runner.ts';

const { ask, complete, connectionIdFor, created, engage, from, moved, operation, somebody } = samples;
const { approve, askFor } = kindSamples;

const actor: Actor = { who: 'olga', door: 'console', reason: 'ticket 7' };
const signal = new AbortController().signal;
const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 100_000, interval: 20 });

let redis: RedisServer;
let folder: string;
let configPath: string;
let config: GatewayConfig;
let mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
let pseudonym: ReturnType<typeof pseudonymsOf>;
let stores: RedisStores;
let admin: AdminService;
let runnerDeps: JobRunnerDeps;
let shared: Omit<AdminServiceDeps, 'config' | 'vault'>;
let round = 0;
beforeAll(async () => {
  redis = await startRedis();
  folder = await mkdtemp(join(tmpdir(), 'postern-jobs-'));
  configPath = join(folder, 'config.yaml');
});
afterAll(async () => {
  await stores?.close();
  await redis?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await stores?.close();
  round += 1;
  const prefix = `admin-jobs-${round}`;
  const others = ['issue-tracker', 'wiki'].map(id => ({
    ...sampleMcpServer,
    id,
    name: id,
    apiKeys: [{ hash: hashOf(id) }],
  }));
  const providers = ['forge', 'github'].map(name => ({
    name,
    displayName: name,
    issuer: `https://${name}.example`,
    clientId: 'postern',
  }));
  const input = sampleConfig({
    redis: { url: redis.url, prefix },
    providers,
    mcpServers: [sampleMcpServer, ...others],
  });
  await writeFile(configPath, JSON.stringify(input));
  config = loadConfig(configPath, {});
  mcpServers = registerMcpServers(config);
  pseudonym = pseudonymsOf(config);
  stores = await createRedisStores({ url: redis.url, prefix });
  const { vault } = await openVault(config);
  const of = { stores, pseudonym, now: Date.now };
  shared = { ...of, network: undefined, mcpServers, adminProcess: commandProcess({ ...of, print: () => {} }) };
  admin = createAdminService({ ...shared, config, vault });
  runnerDeps = { ...shared, config, leaseMs: 1_000 };
});

async function connect(subject: Subject = somebody()): Promise<Connection> {
  const made = await created(
    stores.elicitations,
    from('issue-tracker', ask(subject, { coalescingDigest: operation() })),
  );
  const active = await moved(stores.elicitations, made, engage);
  await moved(stores.elicitations, active, complete(active));
  const connection = await stores.connections.read(connectionIdFor(subject));
  if (connection === undefined) throw new Error('no connection');
  return connection;
}
const many = (count: number) => Promise.all(Array.from({ length: count }, () => connect()));
const exists = async ({ connectionId }: Connection) => (await stores.connections.read(connectionId)) !== undefined;
async function left(connections: readonly Connection[]): Promise<number> {
  return (await Promise.all(connections.map(exists))).filter(Boolean).length;
}
async function revocations(): Promise<number> {
  const claimed = await Promise.all(
    SHARDS.map(shard => stores.revocations.claim(shard, { limit: 10_000, leaseMs: 60_000 })),
  );
  return claimed.flat().length;
}
async function disconnected(target: DisconnectTarget) {
  const { jobId } = await admin.startDisconnect(actor, target);
  return admin.completeJob(jobId, { signal, onProgress: () => {} });
}
const auditLines = async (event: string) =>
  (await admin.audit(actor, { limit: 50, event })).items.map(({ line }) => line);

describe('plans', () => {
  test('S146: a plan counts what the job would remove, by provider and owner, and changes nothing', async () => {
    const connections = await many(5);
    const plan = await admin.planDisconnect(actor, { provider: 'github' });
    expect(plan).toEqual({
      connections: 5,
      people: 5,
      notRevocable: 0,
      isComplete: true,
      providers: [{ provider: 'github', connections: 5 }],
      owners: [{ owner: 'issue-tracker', connections: 5 }],
    });
    expect(await left(connections)).toBe(5);
    expect((await admin.planDisconnect(actor, { provider: 'forge' })).connections).toBe(0);
    expect(await stores.jobs.unfinished()).toEqual([]);
    const { vault } = await openVault(config);
    const without = createAdminService({ ...shared, config: { ...config, providers: [] }, vault });
    expect(await without.planDisconnect(actor, { provider: 'github' })).toMatchObject({ notRevocable: 5 });
  });

  test('a plan for a person, or for one connection, is recorded as a view of that person', async () => {
    const connection = await connect();
    await admin.planDisconnect(actor, { subject: connection.subject });
    await admin.planDisconnect(actor, { connectionId: connection.connectionId });
    const lines = await auditLines('admin.person_viewed');
    expect(lines.map(line => line['subject'])).toEqual(Array(2).fill(pseudonym(connection.subject)));
  });

  test('a target that names nothing is refused, also with a time', async () => {
    await expect(admin.planDisconnect(actor, { since: new Date(0) })).rejects.toThrow(TypeError);
    await expect(admin.startDisconnect(actor, {})).rejects.toThrow(TypeError);
    expect(await stores.jobs.unfinished()).toEqual([]);
  });
});

describe('disconnect', () => {
  test.each<[string, (of: Connection) => DisconnectTarget]>([
    ['one connection', ({ connectionId }) => ({ connectionId })],
    ['a person', ({ subject }) => ({ subject })],
    ['a person at one provider', ({ subject }) => ({ subject, provider: 'github' })],
  ])('S125: removes the connections of %s and no others, and leaves their revocation', async (_, targetOf) => {
    const [connection, other] = [await connect(), await connect()];
    const job = await disconnected(targetOf(connection));
    expect(job).toMatchObject({ status: 'done', found: 1, done: 1, by: 'olga', door: 'console', share: 1 });
    expect(await left([connection])).toBe(0);
    expect(await left([other])).toBe(1);
    expect(JSON.stringify(job)).not.toContain(connection.subject.subject);
  });

  test('S127: removes those of all people at a provider since a time, also those in no list, and no others', async () => {
    const connections = await many(7);
    const listed = connections.slice(0, 3).map(({ connectionId }) => connectionId);
    // Of a release without lists.
    for (const id of listed) await redis.ask('ZREM', `admin-jobs-${round}:{${id.slice(3, 5)}}:connected`, id);
    expect(await disconnected({ provider: 'other' })).toMatchObject({ status: 'done', found: 0 });
    const later = new Date(Date.now() + 60_000);
    expect(await disconnected({ provider: 'github', since: later })).toMatchObject({ found: 0 });
    expect(await left(connections)).toBe(7);
    expect((await admin.planDisconnect(actor, { provider: 'github' })).connections).toBe(7);
    const before = new Date(Date.now() - 60_000);
    expect(await disconnected({ provider: 'github', since: before })).toMatchObject({
      status: 'done',
      found: 7,
      done: 7,
    });
    expect(await left(connections)).toBe(0);
  });

  test('removes those that one MCP server may use', async () => {
    const connections = await many(2);
    expect(await disconnected({ mcpServerId: 'wiki' })).toMatchObject({ found: 0 });
    expect(await disconnected({ mcpServerId: 'issue-tracker' })).toMatchObject({ found: 2 });
    expect(await left(connections)).toBe(0);
  });

  test('S146: spares a connection that its user makes after the start of the job', async () => {
    const connection = await connect();
    const { jobId } = await admin.startDisconnect(actor, { provider: 'github' });
    await stores.connections.remove(connection);
    const second = await connect(connection.subject);
    expect(await admin.completeJob(jobId, { signal, onProgress: () => {} })).toMatchObject({ status: 'done' });
    expect(await exists(second)).toBe(true);
  });

  test('without a stored audit line, no job starts', async () => {
    const audits = Object.assign(Object.create(stores.audits), {
      append: () => Promise.reject(new StoreUnavailableError()),
    });
    const { vault } = await openVault(config);
    const of = { ...shared, stores: { ...stores, audits } };
    const adminProcess = commandProcess({ ...of, print: () => {} });
    const deaf = createAdminService({ ...of, config, vault, adminProcess });
    const connection = await connect();
    await expect(deaf.startDisconnect(actor, { provider: 'github' })).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.planDisconnect(actor, { subject: connection.subject })).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.cancelElicitation(actor, connection.elicitationId)).resolves.toBe('already_ended');
    expect(await stores.jobs.unfinished()).toEqual([]);
  });

  test('start and end are in the audit trail, with who and why, and the person only under the pseudonym', async () => {
    const { subject } = await connect();
    const job = await disconnected({ subject });
    for (const event of ['admin.disconnect_started', 'admin.job_ended'])
      expect(await auditLines(event)).toEqual([
        expect.objectContaining({ jobId: job?.jobId, operator: 'olga', door: 'console', reason: 'ticket 7' }),
      ]);
    expect((await auditLines('admin.disconnect_started'))[0]).toMatchObject({ subject: pseudonym(subject) });
    expect(JSON.stringify(await auditLines('admin'))).not.toContain(subject.subject);
  });
});

test('a job of a command, which has no log, leaves a line for each removed connection in Redis', async () => {
  const connections = await many(3);
  await disconnected({ provider: 'github' });
  const lines = await auditLines('admin.connection_removed');
  expect(lines).toHaveLength(3);
  for (const { connectionId, subject } of connections)
    expect(lines).toContainEqual(
      expect.objectContaining({ connectionId, subject: pseudonym(subject), provider: 'github', reason: 'ticket 7' }),
    );
});

describe('the runner of a gateway', () => {
  const CONNECTIONS = 150;

  test('S146: a killed replica is followed by another, and every connection is removed and revoked once', async () => {
    const connections = await many(CONNECTIONS);
    const { jobId } = await admin.startDisconnect(actor, { provider: 'github' });
    const dying = spawn(process.execPath, [
      fileURLToPath(new URL('../testing/work-and-die.ts', import.meta.url)),
      ...[redis.url, configPath, '70'],
    ]);
    expect(await once(dying, 'exit')).toEqual([null, 'SIGKILL']);
    const stopped = await admin.job(jobId);
    expect(stopped).toMatchObject({ status: 'running' });
    expect(stopped?.done).toBeLessThan(CONNECTIONS);
    // The user of a removed connection connects again, before the next replica repeats the part in progress.
    const [removed] = await Promise.all(connections.map(async of => ((await exists(of)) ? undefined : of))).then(
      found => found.filter(of => of !== undefined),
    );
    if (removed === undefined) throw new Error('nothing was removed');
    const again = await connect(removed.subject);

    const runners = Array.from({ length: 2 }, () =>
      startJobRunner({ ...runnerDeps, logger: createLogger({ level: 'silent' }), pollMs: 10 }),
    );
    await until(async () => expect((await admin.job(jobId))?.endedAt).toBeDefined());
    await Promise.all(runners.map(runner => runner.stop()));
    expect(await admin.job(jobId)).toMatchObject({ status: 'done', done: CONNECTIONS, found: CONNECTIONS });
    expect(await left(connections)).toBe(1);
    expect(await exists(again)).toBe(true);
    expect(await revocations()).toBe(CONNECTIONS);
    expect(await auditLines('admin.job_ended')).toHaveLength(1);
  });

  test('S146: a stopped replica releases its job at once, and a cancelled job does no more', async () => {
    const connections = await many(3);
    const { jobId } = await admin.startDisconnect(actor, { provider: 'github' });
    const stopping = new AbortController();
    stopping.abort();
    const workOn = createJobWorker(runnerDeps);
    expect(await workOn(jobId, { signal: stopping.signal })).toBe('released');
    expect(await admin.job(jobId)).toMatchObject({ status: 'waiting' });
    expect(await admin.cancelJob(actor, jobId)).toMatchObject({ status: 'cancelled' });
    expect(await workOn(jobId, { signal })).toBe('elsewhere');
    expect(await admin.cancelJob(actor, jobId)).toMatchObject({ status: 'cancelled' });
    expect(await auditLines('admin.job_cancelled')).toHaveLength(1);
    expect(await left(connections)).toBe(3);
    expect(await admin.cancelJob(actor, `jb_${operation()}`)).toBeUndefined();
    expect(await admin.job('jb_}:audit')).toBeUndefined();
  });

  test('a job that fails again and again ends as failed, with the code', async () => {
    await connect();
    const { jobId } = await admin.startDisconnect(actor, { provider: 'github' });
    const lists = { ...stores.lists, page: () => Promise.reject(new Error('broken')), size: async () => 0 };
    const workOn = createJobWorker({ ...runnerDeps, stores: { ...stores, lists } });
    for (let at = 1; at < 10; at += 1) expect(await workOn(jobId, { signal })).toBe('released');
    expect(await admin.job(jobId)).toMatchObject({ status: 'waiting', error: 'internal_error' });
    expect(await workOn(jobId, { signal })).toBe('ended');
    expect(await admin.job(jobId)).toMatchObject({ status: 'failed', error: 'internal_error' });
  });

  test('a connection that this release cannot read fails the job, after all others are removed', async () => {
    const connections = await many(3);
    const [unreadable] = connections;
    if (unreadable === undefined) throw new Error('no connection');
    const { connectionId, subject } = unreadable;
    const key = `admin-jobs-${round}:{${shardOf(subject)}}:cn:${connectionId.slice(5)}`;
    await redis.ask('HSET', key, 'record', '{"layout":99}');
    const job = await disconnected({ provider: 'github' });
    expect(job).toMatchObject({ status: 'failed', error: 'unknown_record_layout', done: 2 });
    expect(job?.unreadable).toBeGreaterThan(0);
  });

  test('jobs lists unfinished ones first', async () => {
    const { subject } = await connect();
    const ended = await disconnected({ subject });
    const waiting = await admin.startDisconnect(actor, { provider: 'other' });
    const jobs = await admin.jobs({ limit: 10 });
    expect(jobs.map(({ jobId }) => jobId)).toEqual([waiting.jobId, ended?.jobId]);
    expect(jobs[1]).toMatchObject({ target: { subject: pseudonym(subject) } });
    expect(await admin.jobs({ limit: 1 })).toHaveLength(1);
    const key = (await redis.ask('KEYS', `*:jb:${waiting.jobId}`)).trim();
    expect(key).not.toBe('');
    await redis.ask('HSET', key, 'about', '{"layout":99}');
    expect((await admin.jobs({ limit: 10 })).map(({ jobId }) => jobId)).toEqual([ended?.jobId]);
  });
});

describe('redelivery', () => {
  const secret = newSecret();

  test('S146, S209: restarts the deliveries of one endpoint that were dead at the start, and those only, and says how they ended', async () => {
    let status = 500;
    await using receiver = await startReceiver(() => status);
    const prefix = `admin-redelivery-${round}`;
    const address = { url: redis.url };
    await using stage = await webhookStage({ address, prefix });
    const webhooks = [{ id: 'hook', url: receiver.url, secrets: [secret] }];
    const { vault } = await openVault(config);
    const staged = parseConfig(webhooksConfig({ prefix }, webhooks));
    const of = { stores: stage.stores, pseudonym, now: Date.now };
    await using service = createAdminService({
      ...of,
      vault,
      config: staged,
      mcpServers: registerMcpServers(staged),
      adminProcess: commandProcess({ ...of, print: () => {} }),
      network: { ...stage.stores, openQueueRedis: () => openQueueRedis({ address, prefix }) },
    });
    const deliveries = await stage.start(webhooks, { pace: { ...quickPace, retryDelay: () => undefined } });
    const dead = async () => (await stage.counts('tracker.hook')).dead;
    await stage.publish(120);
    await until(async () => expect(await dead()).toBe(120));
    expect(await service.startRedelivery(actor, { endpoint: 'tracker.nowhere' })).toBeUndefined();

    // They fail once more: the job does not try them again.
    const again = await service.startRedelivery(actor, { endpoint: 'tracker.hook' });
    const job = await service.completeJob(again?.jobId ?? '', { signal, onProgress: () => {} });
    expect(job).toMatchObject({ status: 'done', verb: 'redeliver', found: 120, done: 120 });
    expect(job).toMatchObject({ deliveries: { delivered: 0, failedAgain: 120, waiting: 0 } });
    expect(receiver.received).toHaveLength(240);
    expect(await dead()).toBe(120);

    status = 204;
    const [{ eventId = '' } = {}] = await service.deadDeliveries({ limit: 1 });
    expect(await service.redeliver(actor, { eventId, endpoint: 'tracker.other' })).toEqual({ redelivered: 0 });
    expect(await service.redeliver(actor, { eventId })).toEqual({ redelivered: 1 });
    await until(async () => expect(await dead()).toBe(119));
    const last = await service.startRedelivery(actor, { endpoint: 'tracker.hook' });
    const delivered = await service.completeJob(last?.jobId ?? '', { signal, onProgress: () => {} });
    expect(delivered).toMatchObject({ done: 119, deliveries: { delivered: 119, failedAgain: 0, waiting: 0 } });
    expect(await dead()).toBe(0);

    // The queue of a disabled endpoint attempts nothing, and the job does not wait for it.
    status = 410;
    await stage.publish(1);
    await until(async () => expect(await dead()).toBe(1));
    expect(await service.enableWebhookEndpoint(actor, { endpoint: 'tracker.nowhere', dryRun: false })).toBeUndefined();
    const disabled = await service.startRedelivery(actor, { endpoint: 'tracker.hook' });
    expect(await service.completeJob(disabled?.jobId ?? '', { signal, onProgress: () => {} })).toMatchObject({
      status: 'done',
      done: 1,
      deliveries: { delivered: 0, failedAgain: 0, waiting: 1 },
    });
    expect((await service.webhookEndpoints())[0]).toMatchObject({ status: 'disabled', reason: 'gone', waiting: 1 });
    status = 204;
    const enable = (dryRun: boolean) => service.enableWebhookEndpoint(actor, { endpoint: 'tracker.hook', dryRun });
    expect(await enable(true)).toEqual({ endpoint: 'tracker.hook', wasDisabled: true });
    expect(await enable(false)).toEqual({ endpoint: 'tracker.hook', wasDisabled: true });
    expect(await enable(false)).toEqual({ endpoint: 'tracker.hook', wasDisabled: false });
    await until(async () => expect((await stage.counts('tracker.hook')).waiting).toBe(0));
    await deliveries.stop();
  });
});

describe('cancelElicitation', () => {
  test('cancels an open elicitation for its MCP server, and records who and why', async () => {
    const open = await created(stores.elicitations, from('tracker', askFor('confirmation', somebody())));
    expect(await admin.cancelElicitation(actor, open.elicitationId)).toBe('cancelled');
    expect(await stores.elicitations.read(open.elicitationId)).toMatchObject({ status: 'cancelled' });
    expect(await admin.cancelElicitation(actor, open.elicitationId)).toBe('already_ended');
    const { elicitationId, mcpServerId, subject } = open;
    expect(await auditLines('admin.elicitation_cancelled')).toEqual([
      expect.objectContaining({ elicitationId, mcpServerId, subject: pseudonym(subject), operator: 'olga' }),
    ]);
    expect(await admin.cancelElicitation(actor, `el_7f${'A'.repeat(43)}`)).toBeUndefined();
  });

  test('leaves a payment that is being paid to its processor', async () => {
    const payment = await created(stores.elicitations, from('tracker', askFor('payment', somebody())));
    await moved(stores.elicitations, payment, approve);
    expect(await admin.cancelElicitation(actor, payment.elicitationId)).toBe('being_decided');
    expect(await stores.elicitations.read(payment.elicitationId)).toMatchObject({ status: 'active' });
  });
});
