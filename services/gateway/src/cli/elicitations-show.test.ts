import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CreateElicitation, type Elicitation, shardOf } from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pseudonymsOf } from '../platform/audit/audit-log.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { runCommand } from '../testing/run-command.ts';
import { sampleConfig } from '../testing/sample-config.ts';

const { ask, cancel, complete, created, engage, moved, retry, somebody } = samples;
const digest = 'd'.repeat(43);

let redis: RedisServer;
let stores: RedisStores;
let folder: string;
let configPath: string;
beforeAll(async () => {
  redis = await startRedis();
  stores = await createRedisStores({ url: redis.url, prefix: 'show' });
  folder = await mkdtemp(join(tmpdir(), 'postern-show-'));
  configPath = join(folder, 'config.yaml');
  await writeFile(configPath, JSON.stringify(sampleConfig({ redis: { url: redis.url, prefix: 'show' } })));
});
afterAll(async () => {
  await stores?.close();
  await redis?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const show = (...args: string[]) => runCommand(['elicitations', 'show', ...args, '-c', configPath]);
const reportOf = async (elicitationId: string) => JSON.parse((await show(elicitationId, '--json')).out);

function askFor(request: CreateElicitation['elicitation']['request'], more: Partial<Elicitation> = {}) {
  const asked = ask(somebody());
  return { ...asked, elicitation: { ...asked.elicitation, request, message: 'canary-message', ...more } };
}

describe('postern elicitations show', () => {
  test('prints status, request, pseudonym and only the events of the elicitation', async () => {
    const subject = somebody();
    const start = await created(stores.elicitations, ask(subject));
    const other = ask(somebody());
    await created(stores.elicitations, { ...other, coalescingDigest: `${other.coalescingDigest}x` });
    const active = await moved(stores.elicitations, start, engage, retry, engage);
    const done = await moved(stores.elicitations, active, complete(active));
    const report = await reportOf(start.elicitationId);
    expect(report).toEqual({
      elicitationId: start.elicitationId,
      matchCode: expect.stringMatching(/^[A-Z0-9-]{4,}$/),
      kind: 'authorization',
      status: 'completed',
      outcome: { connectionId: expect.stringMatching(`^cn_${shardOf(subject)}`), scopes: ['repo'] },
      mcpServerId: 'issue-tracker',
      subject: pseudonymsOf(loadConfig(configPath, {}))(subject),
      identityMode: 'login',
      createdAt: new Date(start.createdAt).toISOString(),
      expiresAt: new Date(done.expiresAt).toISOString(),
      endedAt: expect.any(String),
      version: 5,
      asked: { provider: 'github', scopes: ['repo'], insistsOnAccount: false },
      events: ['pending', 'active', 'pending', 'active', 'completed'].map((status, at) => ({
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        type: `elicitation.${status}`,
        eventId: `ev_${start.elicitationId.slice(3)}.${at + 1}`,
      })),
    });
  });

  test('S179: a look is in the audit trail, with the operator and the reason', async () => {
    const { elicitationId } = await created(stores.elicitations, ask(somebody()));
    expect((await show(elicitationId, '--by', 'olga', '--reason', 'ticket 7')).code).toBe(0);
    const [line] = await stores.audits.readBack({ limit: 1 });
    expect(JSON.parse(line?.line ?? '{}')).toMatchObject({
      event: 'admin.person_viewed',
      what: 'elicitation',
      elicitationId,
      operator: 'olga',
      door: 'command_line',
      reason: 'ticket 7',
    });
  });

  test('prints text, and accepts the URL of the page', async () => {
    const start = await created(stores.elicitations, ask(somebody()));
    await moved(stores.elicitations, start, cancel);
    const { code, out } = await show(`https://gate.example/e/${start.elicitationId}/leaving?x=1`);
    expect(code).toBe(0);
    expect(out).toMatch(/^status +cancelled$/m);
    expect(out).toMatch(/^asked\.scopes +repo$/m);
    expect(out).toMatch(/Z +elicitation\.cancelled +ev_/);
  });

  test('postern elicitations show never prints user input, sealed values, messages or values of facts', async () => {
    const requests: CreateElicitation['elicitation']['request'][] = [
      { kind: 'authorization', provider: 'github', scopes: ['repo'], expectedAccount: 'canary-account' },
      {
        kind: 'confirmation',
        digest,
        terms: {
          title: 'Delete a branch',
          danger: 'destructive',
          facts: [{ label: 'Branch', type: 'text', value: 'canary-fact' }],
        },
      },
      {
        kind: 'form',
        digest,
        secretFields: ['pin'],
        requestedSchema: { properties: { pin: { type: 'string', default: 'canary-default' } } },
      },
      {
        kind: 'credential',
        digest,
        name: 'acme-api',
        title: 'Acme',
        retention: 'once',
        fields: [{ name: 'key', label: 'Key', secret: true, maxLength: 9, example: 'canary-example' }],
      },
    ];
    for (const request of requests) {
      const start = await created(stores.elicitations, askFor(request, { returnUrl: 'https://app.example/canary' }));
      const active = await moved(stores.elicitations, start, {
        ...engage,
        next: { status: 'active', attempt: 'canary-attempt' },
      });
      for (const elicitation of [start, active]) {
        const { code, out, err } = await show(elicitation.elicitationId);
        const { out: json } = await show(elicitation.elicitationId, '--json');
        expect(code).toBe(0);
        expect(JSON.parse(err)).toMatchObject({ event: 'admin.person_viewed', by: 'operator' });
        expect(err).not.toContain('canary');
        expect(out + json).not.toMatch(/canary|user-/);
        expect(out + json).not.toContain(digest);
        expect(out).toMatch(new RegExp(`^kind +${request.kind}$`, 'm'));
      }
    }
  });

  test('escapes control characters', async () => {
    const title = 'A\u001b[2Jb\u202ec\u2028d';
    const request = {
      kind: 'confirmation',
      digest,
      terms: { title, action: title, danger: 'normal', facts: [] },
    } as const;
    const { elicitationId } = await created(stores.elicitations, askFor(request));
    const { out } = await show(elicitationId);
    expect(out).toContain('A\\u001b[2Jb\\u202ec\\u2028d');
    for (const character of ['\u001b', '\u202e', '\u2028']) expect(out).not.toContain(character);
    expect((await reportOf(elicitationId)).asked).toMatchObject({ title, action: title });
  });

  test('exits with 1 for an unknown or malformed id', async () => {
    const { elicitation } = ask(somebody());
    for (const id of [elicitation.elicitationId, 'el_', 'toString']) {
      const { code, out, err } = await show(id);
      expect([code, out]).toEqual([1, '']);
      expect(err).not.toBe('');
    }
    expect((await show()).code).toBe(2);
    expect((await show('el_1', 'el_2')).code).toBe(2);
  });
});
