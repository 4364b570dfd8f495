import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Elicitation, EventCarrier, SHARDS, StoreUnavailableError, type Subject } from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { createKeyRing, createVault } from '@postern/vault';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { pseudonymsOf } from '../platform/audit/pseudonyms.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { isLocalKey } from '../platform/config/vault-config.ts';
import { hashOf, sampleConfig, sampleMcpServer } from '../testing/sample-config.ts';
import type { Actor } from './admin-audit.ts';
import { type AdminService, createAdminService } from './admin-service.ts';
import type { Page } from './shard-lists.ts';

const { ask, cancel, complete, created, engage, from, moved, operation, somebody } = samples;
const { answer, askFor } = kindSamples;

const actor: Actor = { who: 'olga', door: 'console', reason: 'ticket 7' };
let redis: RedisServer;
let stores: RedisStores;
let folder: string;
let configPath: string;
let admin: AdminService;
let pseudonym: ReturnType<typeof pseudonymsOf>;
beforeAll(async () => {
  redis = await startRedis();
  stores = await createRedisStores({ url: redis.url, prefix: 'admin' });
  folder = await mkdtemp(join(tmpdir(), 'postern-admin-'));
  configPath = join(folder, 'config.yaml');
  const mcpServers = [
    sampleMcpServer,
    { ...sampleMcpServer, id: 'issue-tracker', name: 'Bugs', apiKeys: [{ hash: hashOf('other') }] },
  ];
  const input = sampleConfig({ redis: { url: redis.url, prefix: 'admin' }, mcpServers });
  await writeFile(configPath, JSON.stringify(input));
  const config = loadConfig(configPath, {});
  pseudonym = pseudonymsOf(config);
  const vault = createVault(createKeyRing(config.vault.keys.filter(isLocalKey)));
  const openQueueRedis = () => {
    throw new Error('no webhooks are configured');
  };
  admin = createAdminService({ config, stores, vault, pseudonym, now: Date.now, openQueueRedis });
});
afterAll(async () => {
  await stores?.close();
  await redis?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const make = (subject: Subject, mcpServerId = 'tracker') =>
  created(stores.elicitations, from(mcpServerId, ask(subject, { coalescingDigest: operation() })));

async function connect(subject: Subject): Promise<Elicitation> {
  const active = await moved(stores.elicitations, await make(subject, 'issue-tracker'), engage);
  return moved(stores.elicitations, active, complete(active));
}

async function allPages<Item>(read: (cursor: string | undefined) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    items.push(...page.items);
    if (page.next === undefined) return items;
    cursor = page.next;
  }
}
const at = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

const lastLine = async () => JSON.parse((await stores.audits.readBack({ limit: 1 }))[0]?.line ?? '{}');

async function cli(...args: string[]) {
  let out = '';
  let err = '';
  const io = {
    ...{ env: {}, isTerminal: false, signal: new AbortController().signal },
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
  };
  return { code: await runCli([...args, '-c', configPath], io), out, err };
}

describe('lists over all shards', () => {
  test('S123: pages contain every elicitation once, newest first, without the person', async () => {
    const people = Array.from({ length: 40 }, somebody);
    const made = await Promise.all(people.map(person => make(person)));
    const items = await allPages(cursor => admin.elicitations(actor, { phase: 'open', limit: 7, ...at(cursor) }));
    const ids = items.map(({ elicitationId }) => elicitationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(made.map(({ elicitationId }) => elicitationId)));
    expect(items.map(({ expiresAt }) => expiresAt)).toEqual(
      items
        .map(({ expiresAt }) => expiresAt)
        .sort()
        .reverse(),
    );
    const text = JSON.stringify(items);
    for (const { subject } of people) expect(text).not.toContain(subject);
  });

  test('filters by MCP server, kind, status and person', async () => {
    const person = somebody();
    const [ended, other] = [await moved(stores.elicitations, await make(person), cancel), await make(somebody())];
    const form = await created(stores.elicitations, askFor('form', person));
    const list = async (q: object) =>
      (await allPages(cursor => admin.elicitations(actor, { phase: 'open', limit: 100, ...q, ...at(cursor) }))).map(
        ({ elicitationId }) => elicitationId,
      );
    expect(await list({ phase: 'ended', subject: person })).toEqual([ended.elicitationId]);
    expect(await list({ subject: person })).toEqual([form.elicitationId]);
    expect(await list({ kind: 'form' })).toEqual([form.elicitationId]);
    expect(await list({ mcpServerId: other.mcpServerId })).not.toContain(form.elicitationId);
    expect(await list({ phase: 'ended', status: 'expired' })).toEqual([]);
    expect(await list({ provider: 'nowhere' })).toEqual([]);
  });

  test('lists connections and credentials without tokens, values and persons, until they are removed', async () => {
    const person = somebody();
    const { elicitationId } = await connect(person);
    const form = await created(stores.elicitations, askFor('lasting', person));
    await moved(stores.elicitations, form, answer(form));
    const connections = await admin.connections(actor, { limit: 200, provider: 'github' });
    const credentials = await admin.credentials(actor, { limit: 200 });
    const connection = connections.items.find(item => item.elicitationId === elicitationId);
    expect(connection).toMatchObject({ provider: 'github', subject: pseudonym(person) });
    expect(credentials.items.map(item => item.elicitationId)).toContain(form.elicitationId);
    expect(JSON.stringify([connections, credentials])).not.toMatch(/sealed/i);
    expect(JSON.stringify([connections, credentials])).not.toContain(person.subject);
    expect((await admin.connections(actor, { limit: 200, provider: 'other' })).items).toEqual([]);
    expect((await admin.connections(actor, { limit: 200, since: new Date(Date.now() + 60_000) })).items).toEqual([]);
    expect((await admin.connections(actor, { limit: 200, isLost: true })).items).toEqual([]);
  });

  test.each(['', 'x', '1.', `1.${'a'.repeat(65)}`, "1.a' OR"])('refuses a forged cursor: %j', async cursor => {
    await expect(admin.elicitations(actor, { phase: 'open', limit: 1, cursor })).rejects.toThrow('cursor');
    await expect(admin.audit(actor, { limit: 1, cursor })).rejects.toThrow('cursor');
  });
});

describe('views of a person', () => {
  test('S124: a view of a person is recorded under the pseudonym, with operator, door and reason, before it answers', async () => {
    const person = somebody();
    await make(person);
    const report = await admin.person(actor, person);
    expect(report.open).toHaveLength(1);
    const line = await lastLine();
    expect(line).toMatchObject({
      ...{ event: 'admin.person_viewed', audit: true, subject: pseudonym(person) },
      ...{ by: 'operator', operator: 'olga', door: 'console', reason: 'ticket 7' },
    });
    expect(JSON.stringify(line)).not.toContain(person.subject);
  });

  test('S124: without a stored audit line, a view shows nothing', async () => {
    const person = somebody();
    const { elicitationId } = await make(person);
    const audits = Object.assign(Object.create(stores.audits), {
      append: () => Promise.reject(new StoreUnavailableError()),
    });
    const config = loadConfig(configPath, {});
    const deaf = createAdminService({
      ...{ config, pseudonym, now: Date.now, vault: createVault(createKeyRing(config.vault.keys.filter(isLocalKey))) },
      stores: { ...stores, audits },
      openQueueRedis: () => {
        throw new Error('not used');
      },
    });
    const page = { limit: 10, subject: person };
    await expect(deaf.person(actor, person)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.elicitation(actor, elicitationId)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.elicitations(actor, { phase: 'open', ...page })).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.payments(actor, { phase: 'open', ...page })).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.connections(actor, page)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.credentials(actor, page)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.audit(actor, page)).rejects.toThrow(StoreUnavailableError);
  });

  test('shows an elicitation as a timeline, with its person and the request ids of the audit trail', async () => {
    const person = somebody();
    const { elicitationId } = await moved(stores.elicitations, await make(person), engage);
    const time = new Date().toISOString();
    const line = { time, event: 'elicitation.accepted', requestId: 'rq_1', elicitationId, subject: pseudonym(person) };
    await stores.audits.append(JSON.stringify(line));
    const detail = await admin.elicitation(actor, elicitationId);
    expect(detail?.person).toEqual(person);
    expect(detail?.timeline.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'elicitation.pending',
        'elicitation.active',
        'elicitation.accepted',
        'admin.person_viewed',
      ]),
    );
    expect(detail?.timeline).toContainEqual(expect.objectContaining({ source: 'audit', requestId: 'rq_1' }));
    expect(await admin.elicitation(actor, `el_7f${'A'.repeat(43)}`)).toBeUndefined();
  });

  test('finds the audit lines of a person by the pseudonym, newest first, within a period', async () => {
    const person = somebody();
    await admin.person(actor, person);
    await admin.person({ ...actor, who: 'otto' }, somebody());
    const found = await allPages(cursor => admin.audit(actor, { limit: 1, subject: person, ...at(cursor) }));
    expect(found.every(({ line }) => line['subject'] === pseudonym(person))).toBe(true);
    expect(found.length).toBeGreaterThan(1);
    const later = { since: new Date(Date.now() + 60_000) };
    expect((await admin.audit(actor, { limit: 10, ...later })).items).toEqual([]);
    expect((await admin.audit(actor, { limit: 10, event: 'admin' })).items).not.toEqual([]);
    expect((await admin.audit(actor, { limit: 10, event: 'adm' })).items).toEqual([]);
  });
});

test('S123: counts add up by day, of configured MCP servers only', async () => {
  await make(somebody());
  await make(somebody(), 'unknown-server');
  const carrier = new EventCarrier(stores.outbox);
  for (let more: readonly (typeof SHARDS)[number][] = SHARDS; more.length > 0; ) ({ more } = await carrier.carry(more));
  const day = 24 * 3_600_000;
  const period = { since: new Date(Date.now() - day), until: new Date(Date.now() + day) };
  const { steps } = await admin.counts({ ...period, by: 'day' });
  const hourly = await admin.counts({ ...period, by: 'hour' });
  const issued = (rows: typeof steps) =>
    rows.filter(({ step, mcpServerId }) => step === 'issued' && mcpServerId === 'tracker').map(({ count }) => count);
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  expect(sum(issued(steps))).toBeGreaterThan(40);
  expect(sum(issued(steps))).toBe(sum(issued(hourly.steps)));
  expect(steps.every(({ at: start }) => start.endsWith('T00:00:00.000Z'))).toBe(true);
  expect(JSON.stringify(steps)).not.toContain('unknown-server');
});

test('health tells how much there is, and that Redis is away', async () => {
  const health = await admin.health();
  expect(health.records?.open).toBeGreaterThan(40);
  expect(health).toMatchObject({ redis: { isReachable: true, refusals: [] }, webhooks: [] });
  expect(health.vaultKeys).toEqual([{ kid: 'first', seals: true }]);
});

describe('postern people show', () => {
  test('lists what is stored about a person, and records who looked and why', async () => {
    const person = somebody();
    const { elicitationId } = await connect(person);
    const args = ['people', 'show', person.issuer, person.subject, '--by', 'olga', '--reason', 'ticket 8'];
    const { code, out } = await cli(...args);
    expect(code).toBe(0);
    expect(out).toContain(elicitationId);
    expect(out).toContain(pseudonym(person));
    expect(await lastLine()).toMatchObject({ door: 'command_line', operator: 'olga', reason: 'ticket 8' });
    const json = JSON.parse((await cli(...args, '--json')).out);
    expect(json).toMatchObject({ person: { ...person, pseudonym: pseudonym(person) } });
    expect(json.connections).toHaveLength(1);
  });

  test('exits with 1 for a person without records', async () => {
    const { code, err } = await cli('people', 'show', 'https://id.example', operation());
    expect(code).toBe(1);
    expect(err).toContain('issuer');
  });
});
