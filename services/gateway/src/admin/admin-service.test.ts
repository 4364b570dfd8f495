import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Elicitation, EventCarrier, SHARDS, StoreUnavailableError, type Subject } from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import { createApiKeyUses } from '../mcp-servers/caller-auth.ts';
import { registerMcpServers } from '../mcp-servers/registered-mcp-server.ts';
import { pseudonymsOf } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { openVault } from '../sealing/open-vault.ts';
import { runCommand } from '../testing/run-command.ts';
import { hashOf, sampleConfig, sampleMcpServer } from '../testing/sample-config.ts';
import { type Actor, commandProcess } from './admin-audit.ts';
import { type AdminService, type AdminServiceDeps, createAdminService } from './admin-service.ts';
import { noteKeysOf } from './key-report.ts';
import type { Page } from './shard-lists.ts';

const { ask, cancel, complete, created, engage, from, moved, operation, somebody } = samples;
const { answer, approve, askFor } = kindSamples;

const actor: Actor = { who: 'olga', door: 'console', reason: 'ticket 7' };
let redis: RedisServer;
let stores: RedisStores;
let folder: string;
let configPath: string;
let admin: AdminService;
let config: GatewayConfig;
let newAdmin: () => AdminService;
let pseudonym: ReturnType<typeof pseudonymsOf>;
beforeAll(async () => {
  redis = await startRedis();
  stores = await createRedisStores({ url: redis.url, prefix: 'admin' });
  folder = await mkdtemp(join(tmpdir(), 'postern-admin-'));
  configPath = join(folder, 'config.yaml');
  const mcpServers = [
    sampleMcpServer,
    { ...sampleMcpServer, id: 'issue-tracker', name: 'Bugs', apiKeys: [{ hash: hashOf('other') }] },
    {
      ...sampleMcpServer,
      id: 'vouching',
      name: 'Vouching',
      apiKeys: [{ hash: hashOf('vouching') }],
      identity: { mode: 'external' as const, verifyUrl: 'https://vouching.example/verify' },
    },
  ];
  const input = sampleConfig({ redis: { url: redis.url, prefix: 'admin' }, mcpServers });
  await writeFile(configPath, JSON.stringify(input));
  config = loadConfig(configPath, {});
  pseudonym = pseudonymsOf(config);
  const { vault } = await openVault(config);
  newAdmin = () => adminOver({ vault });
  admin = newAdmin();
});
afterAll(async () => {
  await stores?.close();
  await redis?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const adminOver = (p: Pick<AdminServiceDeps, 'vault'> & { readonly audits?: RedisStores['audits'] }) => {
  const of = { stores: { ...stores, audits: p.audits ?? stores.audits }, pseudonym, now: Date.now };
  const adminProcess = commandProcess({ ...of, print: () => {} });
  return createAdminService({
    ...of,
    config,
    mcpServers: registerMcpServers(config),
    network: undefined,
    vault: p.vault,
    adminProcess,
  });
};
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

const cli = (...args: string[]) => runCommand([...args, '-c', configPath]);

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
      event: 'admin.person_viewed',
      audit: true,
      subject: pseudonym(person),
      by: 'operator',
      operator: 'olga',
      door: 'console',
      reason: 'ticket 7',
    });
    expect(JSON.stringify(line)).not.toContain(person.subject);
  });

  test('S124: without a stored audit line, a view shows nothing', async () => {
    const person = somebody();
    const { elicitationId } = await make(person);
    const audits = Object.assign(Object.create(stores.audits), {
      append: () => Promise.reject(new StoreUnavailableError()),
    });
    const deaf = adminOver({ vault: (await openVault(config)).vault, audits });
    const page = { limit: 10, subject: person };
    await expect(deaf.person(actor, person)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.elicitation(actor, elicitationId)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.elicitations(actor, { phase: 'open', ...page })).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.payments(actor, { phase: 'open', ...page })).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.connections(actor, page)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.credentials(actor, page)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.audit(actor, page)).rejects.toThrow(StoreUnavailableError);
    await expect(deaf.erasePerson(actor, person, { dryRun: false })).rejects.toThrow(StoreUnavailableError);
    expect(await stores.elicitations.read(elicitationId)).toMatchObject({ status: 'pending' });
  });

  test('shows an elicitation as a timeline, with its person and the request ids of the audit trail', async () => {
    const person = somebody();
    const { elicitationId } = await moved(stores.elicitations, await make(person), engage);
    const time = new Date().toISOString();
    const line = { time, event: 'elicitation.accepted', requestId: 'rq_1', elicitationId, subject: pseudonym(person) };
    await stores.audits.append('people', JSON.stringify(line));
    const detail = await admin.elicitation(actor, elicitationId);
    expect(detail).toMatchObject({ person, isTimelineComplete: true });
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
    for (let more = 0; more < 200; more += 1) await stores.audits.append('people', JSON.stringify(line));
    expect(await admin.elicitation(actor, elicitationId)).toMatchObject({ isTimelineComplete: false });
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

  test('S205: pages of the audit trail have each line of users and operators once, in the order of time', async () => {
    await admin.person(actor, somebody());
    expect(await stores.audits.readBack({ limit: 1 })).toMatchObject([{ stream: 'operators' }]);
    const line = (n: number) => JSON.stringify({ time: new Date().toISOString(), event: 'paged.line', n });
    // Many in one millisecond: both streams then have the same ids.
    const order = Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? ('operators' as const) : ('people' as const)));
    await Promise.all(order.map((stream, n) => stores.audits.append(stream, line(n))));
    const found = await allPages(cursor => admin.audit(actor, { limit: 7, event: 'paged', ...at(cursor) }));
    expect(found.map(({ line }) => line['n']).toSorted((one, other) => Number(one) - Number(other))).toEqual(
      order.map((_, n) => n),
    );
    const times = found.map(({ position }) => Number.parseInt(position, 10));
    expect(times).toEqual(times.toSorted((one, other) => other - one));
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
  const tracker = health.storage?.find(({ mcpServerId }) => mcpServerId === 'tracker');
  expect(tracker).toMatchObject({ recordsQuota: 250_000, isRefusing: false });
  expect(tracker?.records).toBeGreaterThan(40);
  expect(tracker?.fullestShard).toBeGreaterThan(0);
});

test('S171: health has the ages of keys as a gateway noted them, and no key', async () => {
  const keysOf = async (service: AdminService) => {
    const { vaultKeys, receiptKeys, apiKeys } = await service.health();
    return { vaultKeys, receiptKeys, apiKeys };
  };
  const before = await keysOf(newAdmin());
  expect(before.vaultKeys).toEqual([{ kid: 'first', seals: true }]);
  expect(before.apiKeys?.valid).toBe(3);
  await noteKeysOf(config, { stores, logger: { warn: () => {} } });
  const [{ apiKeyId = '' } = {}] = before.apiKeys?.oldest ?? [];
  const note = createApiKeyUses({ keyAges: stores.keyAges, now: () => Date.parse('2026-11-23T09:30:00Z') });
  const [mcpServer] = registerMcpServers(config).values();
  if (mcpServer === undefined) throw new Error('no MCP server is configured');
  note({ mcpServer, apiKey: { apiKeyId, source: 'file', digest: 'unused' } });
  await expect
    .poll(async () => (await keysOf(newAdmin())).apiKeys?.oldest)
    .toContainEqual(expect.objectContaining({ apiKeyId, lastUsedAt: '2026-11-23T09:00:00.000Z', isOrEarlier: true }));
  const after = await keysOf(newAdmin());
  expect(after.vaultKeys).toEqual([{ kid: 'first', seals: true, since: expect.any(String), isOrEarlier: true }]);
  expect(after.receiptKeys).toEqual([expect.objectContaining({ signs: true, isOrEarlier: true })]);
  expect(JSON.stringify(after)).not.toContain(hashOf('other').slice(-32));
});

test('S170: counts have the refreshes of configured providers, by day', async () => {
  const day = new Date().toISOString().slice(0, 10);
  const at = Date.parse(`${day}T00:00:00Z`);
  const counts = [at, at + 3_600_000].map(hour => ({ at: hour, outcome: 'refreshed' as const, count: 2 }));
  for (const provider of ['forge', 'removed'])
    await stores.refreshCounts.add('a', { provider, day, operationId: operation(), counts });
  const { refreshes } = await admin.counts({ since: new Date(at), until: new Date(at + 86_400_000), by: 'day' });
  expect(refreshes).toEqual([{ at: `${day}T00:00:00.000Z`, provider: 'forge', outcome: 'refreshed', count: 4 }]);
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

const asOlga = ['--by', 'olga', '--reason', 'ticket 9'];
const nameOf = ({ issuer, subject }: Subject) => [issuer, subject];

describe('commands that change what is stored about a person', () => {
  test.each(['disconnect', 'sign-out', 'export', 'erase'])('postern people %s needs a reason', async verb => {
    expect((await cli('people', verb, ...nameOf(somebody()))).code).toBe(2);
  });

  test('S125: disconnect removes the connections of one person, and leaves their revocation to the gateway', async () => {
    const [person, other] = [somebody(), somebody()];
    await connect(person);
    await connect(other);
    const command = ['people', 'disconnect', ...nameOf(person), ...asOlga, '--json'];
    const planned = JSON.parse((await cli(...command, '--dry-run')).out);
    expect(planned).toMatchObject({ dryRun: true, connections: 1, people: 1 });
    expect(await stores.connections.list(person)).toHaveLength(1);
    const { code, out } = await cli(...command);
    const job = JSON.parse(out);
    expect(code).toBe(0);
    expect(job).toMatchObject({ dryRun: false, status: 'done', done: 1, by: 'olga', reason: 'ticket 9' });
    expect(await stores.connections.list(person)).toEqual([]);
    expect(await stores.connections.list(other)).toHaveLength(1);
    expect(await lastLine()).toMatchObject({ event: 'admin.job_ended', jobId: job.jobId, operator: 'olga' });
    expect(JSON.parse((await cli('jobs', 'show', job.jobId, '--json')).out)).toMatchObject({ status: 'done' });
    const listed = await cli('jobs', 'list');
    expect(listed).toMatchObject({ code: 0, out: expect.stringContaining(job.jobId) });
    expect(listed.out).not.toContain(person.subject);
    expect((await cli('jobs', 'show', 'jb_unknown')).code).toBe(1);
    expect((await cli('jobs', 'cancel', job.jobId, ...asOlga)).code).toBe(1);
  });

  test('elicitations cancel ends an open elicitation once', async () => {
    const { elicitationId } = await make(somebody());
    const command = ['elicitations', 'cancel', elicitationId, ...asOlga];
    expect((await cli('elicitations', 'cancel', elicitationId)).code).toBe(2);
    expect((await cli(...command)).code).toBe(0);
    expect(await stores.elicitations.read(elicitationId)).toMatchObject({ status: 'cancelled' });
    expect(await cli(...command, '--json')).toMatchObject({ code: 1, out: '' });
    expect((await cli('elicitations', 'cancel', 'x', ...asOlga)).code).toBe(1);
  });

  test('S125: sign-out ends every browser session of the person', async () => {
    const person = somebody();
    const session = { subject: person, displayName: 'Alice' };
    const lifetime = { idleMs: 60_000, absoluteMs: 60_000 };
    const origins = [{ identityProvider: 'example-id' }, { vouchedBy: 'tracker' }];
    const ids = await Promise.all(
      origins.map(async origin => {
        const id = samples.browserSessionIdOf(person);
        await stores.browserSessions.create(
          { ...session, id, origin },
          lifetime,
          'vouchedBy' in origin ? samples.AMPLE : undefined,
        );
        return id;
      }),
    );
    expect((await cli('people', 'sign-out', ...nameOf(person), ...asOlga, '--dry-run')).code).toBe(0);
    // S124: the counts of one person are data of the person.
    expect(await lastLine()).toMatchObject({ event: 'admin.person_viewed', what: 'sign_out', reason: 'ticket 9' });
    for (const id of ids) expect(await stores.browserSessions.read(id)).toBeDefined();
    expect((await cli('people', 'sign-out', ...nameOf(person), ...asOlga)).code).toBe(0);
    for (const id of ids) expect(await stores.browserSessions.read(id)).toBeUndefined();
  });

  test('S126: export prints what is stored about the person, without secrets', async () => {
    const person = somebody();
    await connect(person);
    const form = await created(stores.elicitations, askFor('lasting', person));
    await moved(stores.elicitations, form, answer(form));
    // An application that vouches for its users has a list of its own.
    const vouched = { ...from('tracker', askFor('confirmation', person)), identityMode: 'external' as const };
    await moved(stores.elicitations, await created(stores.elicitations, vouched), samples.declineAtOnce);
    const { code, out } = await cli('people', 'export', ...nameOf(person), ...asOlga);
    expect(code).toBe(0);
    const document = JSON.parse(out);
    expect(document).toMatchObject({ person, connections: [{ provider: 'github' }], credentials: [{}] });
    expect(document.answers).toHaveLength(3);
    expect(out).not.toMatch(/sealed/i);
    expect(await lastLine()).toMatchObject({ event: 'admin.person_exported' });
  });

  test('S126: show, export and erase include the passkeys that an application keeps for its users', async () => {
    const person = somebody();
    const vouched = passkeyOwnerOf({ identityMode: 'external', mcpServerId: 'vouching', subject: person });
    for (const [label, owner] of [
      ['own', person],
      ['of the application', vouched],
    ] as const) {
      await stores.passkeys.add(samples.passkeyFor(owner, { label }), 10);
    }
    const names = (passkeys: readonly { readonly name: string }[]) => passkeys.map(({ name }) => name).sort();
    expect(names((await admin.person(actor, person)).passkeys)).toEqual(['of the application', 'own']);
    const document = JSON.parse((await cli('people', 'export', ...nameOf(person), ...asOlga)).out);
    expect(names(document.passkeys)).toEqual(['of the application', 'own']);
    const erased = JSON.parse((await cli('people', 'erase', ...nameOf(person), ...asOlga, '--json')).out);
    expect(erased).toMatchObject({ passkeys: 2 });
    expect((await admin.person(actor, person)).passkeys).toEqual([]);
  });

  test('S126: erase deletes everything but what it names, and repeating it changes nothing', async () => {
    const person = somebody();
    await connect(person);
    const form = await created(stores.elicitations, askFor('lasting', person));
    await moved(stores.elicitations, form, answer(form));
    const open = await created(stores.elicitations, from('tracker', askFor('confirmation', person)));
    await stores.mutes.mute(person, 'tracker');
    const command = ['people', 'erase', ...nameOf(person), ...asOlga, '--json'];
    const planned = JSON.parse((await cli(...command, '--dry-run')).out);
    expect(planned).toMatchObject({ dryRun: true, open: 1, connections: 1, credentials: 1, mutedMcpServers: 1 });
    expect(await lastLine()).toMatchObject({ event: 'admin.person_viewed', what: 'erase', operator: 'olga' });
    expect(await stores.elicitations.read(open.elicitationId)).toMatchObject({ status: 'pending' });
    const done = JSON.parse((await cli(...command)).out);
    expect(done).toMatchObject({
      open: 1,
      connections: 1,
      stillDeciding: 0,
      left: { endedElicitations: 2, payments: 0 },
    });
    expect(await stores.elicitations.read(open.elicitationId)).toMatchObject({ status: 'cancelled' });
    const report = await admin.person(actor, person);
    expect(report).toMatchObject({
      connections: [],
      credentials: [],
      open: [],
      mutedMcpServers: [],
      browserSessions: [],
    });
    expect(JSON.parse((await cli(...command)).out)).toMatchObject({ open: 0, connections: 0, credentials: 0 });
  });

  test('S126: erase exits with 1 while a payment is being decided', async () => {
    const person = somebody();
    await moved(
      stores.elicitations,
      await created(stores.elicitations, from('tracker', askFor('payment', person))),
      approve,
    );
    const { code, out } = await cli('people', 'erase', ...nameOf(person), ...asOlga);
    expect(code).toBe(1);
    expect(out).toContain('Repeat');
  });
});

test.each([
  ['providers', 'github'],
  ['mcp-servers', 'issue-tracker'],
])('S127: postern %s disconnect removes the connections of all people since a time', async (noun, name) => {
  const people = Array.from({ length: 5 }, somebody);
  await Promise.all(people.map(connect));
  const command = [noun, 'disconnect', name, ...asOlga, '--json'];
  expect(JSON.parse((await cli(...command, '--since', '2999-01-01')).out)).toMatchObject({ found: 0, done: 0 });
  const planned = JSON.parse((await cli(...command, '--dry-run')).out);
  expect(planned).toMatchObject({ dryRun: true, isComplete: true });
  expect(planned.connections).toBeGreaterThanOrEqual(people.length);
  const { code, out } = await cli(...command);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ status: 'done', found: planned.connections, done: planned.connections });
  for (const person of people) expect(await stores.connections.list(person)).toEqual([]);
  expect((await cli(noun, 'disconnect', name, '--since', 'tomorrow', ...asOlga)).code).toBe(2);
  expect((await cli(noun, 'disconnect', name)).code).toBe(2);
});

test('an interrupted disconnect leaves its job to the gateway', async () => {
  const stopping = new AbortController();
  stopping.abort();
  const args = ['providers', 'disconnect', 'other', ...asOlga, '-c', configPath];
  expect(await runCommand(args, { signal: stopping.signal })).toMatchObject({ code: 130 });
  const [job] = await admin.jobs({ limit: 1 });
  expect(job).toMatchObject({ status: 'waiting', target: { provider: 'other' } });
  expect((await cli('jobs', 'cancel', job?.jobId ?? '', ...asOlga, '--json')).code).toBe(0);
});

test('postern audit filters by user, MCP server, event, elicitation and time, and names the user only by the pseudonym', async () => {
  const person = somebody();
  await admin.person(actor, person);
  const filter = ['--issuer', person.issuer, '--subject', person.subject];
  const { code, out, err } = await cli('audit', ...filter);
  expect(code).toBe(0);
  const lines = out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(lines.length).toBeGreaterThanOrEqual(2);
  expect(lines.every(({ subject }) => subject === pseudonym(person))).toBe(true);
  expect(out).not.toContain(person.subject);
  expect(err).toContain('audit.stream');
  expect((await cli('audit', '--since', '2999-01-01')).out).toBe('');
  expect((await cli('audit', '--mcp-server', 'nobody')).out).toBe('');
  expect((await cli('audit', '--subject', 'alice')).code).toBe(2);

  const viewed = { event: 'admin.person_viewed', elicitationId: 'el_looked_at' } as const;
  for (const line of [viewed, { ...viewed, event: 'elicitation.approved' }, { ...viewed, elicitationId: 'el_other' }])
    await stores.audits.append('people', JSON.stringify(line));
  const about = ['--elicitation', viewed.elicitationId];
  const found = async (...more: string[]) =>
    (await cli('audit', ...about, ...more)).out.split('\n').flatMap(text => (text === '' ? [] : [JSON.parse(text)]));
  expect(await found()).toEqual([viewed, { ...viewed, event: 'elicitation.approved' }]);
  expect(await found('--event', viewed.event)).toEqual([viewed]);
  expect(await found('--event', 'admin')).toEqual([viewed]);
  expect(await found('--event', 'adm')).toEqual([]);
});
