import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { problemSchema } from '@postern/api';
import { runCli } from '@postern/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { blocksIn } from '../docs/support/doc-blocks.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { startWorld, type World } from '../support/world.ts';

const SCOPES = ['read', 'act', 'people'] as const;
type Scope = (typeof SCOPES)[number];
const BASE = '/admin/v1';
const unknownElicitation = `el_00${'A'.repeat(43)}`;

let world: World;
let folder: string;
let config: string;
const tokens = new Map<string, string>();
beforeAll(async () => {
  world = await startWorld({ config: { adminApi: { port: 0 }, audit: { stream: true } } });
  folder = await mkdtemp(join(tmpdir(), 'postern-admin-api-'));
  config = join(folder, 'postern.config.yaml');
  await writeFile(config, JSON.stringify(world.config));
  for (const scopes of [...SCOPES, 'read,act,people']) tokens.set(scopes, await newToken(scopes));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await world[Symbol.asyncDispose]();
});

async function run(...args: readonly string[]) {
  let out = '';
  const code = await runCli([...args, '-c', config], {
    ...{ env: {}, isTerminal: false, signal: new AbortController().signal },
    out(text) {
      out += text;
    },
    err() {},
  });
  return { code, out };
}

async function newToken(scopes: string): Promise<string> {
  const { code, out } = await run('admin-credentials', 'add', 'tests', scopes, '--reason', 'tests', '--by', 'olga');
  expect(code).toBe(0);
  return out.trim();
}

/** The id of the credential that a token belongs to. */
const idIn = (token: string) => `ac_${token.slice(3, 25)}`;

const api = () => {
  const found = world.gateways[0]?.adminApi;
  if (found === undefined) throw new Error('no admin API');
  return found;
};

async function call(
  method: string,
  path: string,
  p: { token?: string | undefined; reason?: string | null; body?: unknown } = {},
) {
  const { token, reason = 'ticket 7', body } = p;
  const answer = await fetch(`${api().address}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(reason === null ? {} : { 'postern-reason': reason }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? undefined : JSON.parse(text) };
}
const all = () => tokens.get('read,act,people');

const alice = { issuer: 'https://id.example', subject: 'alice' };
/** A valid call of every operation, by its id in the OpenAPI document, with its scope and the status that a full credential gets. */
const calls: Readonly<Record<string, { scope: Scope; path?: string; body?: object; status?: number }>> = {
  getHealth: { scope: 'read' },
  getCounts: { scope: 'read', path: '/counts?since=2026-11-01T00:00:00Z&until=2026-11-24T00:00:00Z' },
  listElicitations: { scope: 'read' },
  getElicitation: { scope: 'people', path: `/elicitations/${unknownElicitation}`, status: 404 },
  cancelElicitation: { scope: 'act', path: `/elicitations/${unknownElicitation}/cancel`, body: {}, status: 404 },
  listConnections: { scope: 'read' },
  listCredentials: { scope: 'read' },
  listPayments: { scope: 'read' },
  listWebhookEndpoints: { scope: 'read' },
  listDeadDeliveries: { scope: 'read' },
  startRedelivery: { scope: 'act', body: { endpoint: 'tracker.nowhere' }, status: 404 },
  listAudit: { scope: 'read' },
  showPerson: { scope: 'people', body: alice },
  exportPerson: { scope: 'people', body: alice },
  signOutPerson: { scope: 'act', body: { ...alice, dryRun: true } },
  planDisconnect: { scope: 'people', body: { provider: 'nowhere' } },
  startDisconnect: { scope: 'act', body: { provider: 'nowhere' } },
  listJobs: { scope: 'read' },
  getJob: { scope: 'read', path: '/jobs/jb_unknown', status: 404 },
  cancelJob: { scope: 'act', path: '/jobs/jb_unknown/cancel', body: {}, status: 404 },
};

const documentSchema = z.object({
  openapi: z.literal('3.1.0'),
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ operationId: z.string(), description: z.string() })),
  ),
});
const operations = async () =>
  Object.entries(documentSchema.parse((await call('GET', `${BASE}/openapi.json`)).body).paths).flatMap(([path, of]) =>
    Object.entries(of).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );

describe('S147: each operation admits credentials with its scope, and no others', () => {
  it('knows every route, and the OpenAPI document lists it with its scope', async () => {
    const documented = await operations();
    expect(documented.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(calls).sort());
    for (const { operationId, description } of documented)
      expect(description).toContain(`\`${calls[operationId]?.scope}\``);
    const routes = registeredRoutes(api().app).map(({ method, path }) => `${method} ${path}`);
    const paths = documented.map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`);
    expect(routes.sort()).toEqual([...paths, `GET ${BASE}/openapi.json`].sort());
  });

  it.each(['none', 'another', ...SCOPES, 'read,act,people'])('%s', async who => {
    const forged = `pa_${'A'.repeat(65)}`;
    const token = who === 'none' ? undefined : who === 'another' ? forged : tokens.get(who);
    for (const { operationId, method, path } of await operations()) {
      const { scope, body, status: expected = 200, path: given } = calls[operationId] ?? { scope: 'read' };
      const {
        status,
        headers,
        body: answer,
      } = await call(method, given === undefined ? path : `${BASE}${given}`, {
        ...{ token, body },
      });
      const isKnown = who !== 'none' && who !== 'another';
      const wanted = !isKnown ? 401 : who.split(',').includes(scope) ? expected : 403;
      expect({ operationId, status }).toEqual({ operationId, status: wanted });
      expect(headers.get('cache-control')).toBe('no-store');
      if (status >= 400) expect(problemSchema.safeParse(answer).success).toBe(true);
    }
  });

  it('is not on the listener of the pages', async () => {
    for (const path of ['/admin/v1/health', '/admin/v1/openapi.json']) {
      const answer = await fetch(`${world.gateways[0]?.address}${path}`, {
        headers: { authorization: `Bearer ${all()}` },
      });
      expect(answer.status).toBe(404);
    }
    expect((await call('GET', '/v1/me', { token: all() })).status).toBe(404);
  });
});

describe('S148: credentials', () => {
  async function ask(...command: readonly string[]): Promise<string> {
    if (world.redis.server === undefined) throw new Error('the world has no Redis of its own');
    return String(await world.redis.server.ask(...command)).trim();
  }
  const prefix = () => world.config.redis?.prefix ?? 'postern';
  const nameOfKey = () => ask('KEYS', `${prefix()}:*:adm`);

  it('refuses one that was widened, copied or written in Redis', async () => {
    const token = await newToken('read');
    const [id, other] = [idIn(token), 'B'.repeat(22)];
    const key = await nameOfKey();
    const stored = await ask('HGET', key, id);
    expect(stored).not.toContain(token.slice(25));
    expect((await call('GET', `${BASE}/jobs`, { token })).status).toBe(200);
    for (const changed of [
      stored.replace('["read"]', '["read","act","people"]'),
      stored.replace('"tests"', '"olga"'),
      stored.replace(/"mac":"[^"]+"/, '"mac":""'),
    ]) {
      expect(changed).not.toBe(stored);
      await ask('HSET', key, id, changed);
      expect((await call('GET', `${BASE}/jobs`, { token })).status).toBe(401);
    }
    await ask('HSET', key, id, stored, `ac_${other}`, stored);
    expect((await call('GET', `${BASE}/jobs`, { token: `pa_${other}${token.slice(25)}` })).status).toBe(401);
    expect((await call('GET', `${BASE}/jobs`, { token })).status).toBe(200);
    await ask('HDEL', key, `ac_${other}`);
  });

  it('a revoked one is refused at the next request', async () => {
    const token = await newToken('read');
    expect((await call('GET', `${BASE}/jobs`, { token })).status).toBe(200);
    // Such an id never begins with `-`, which the command would take for an option.
    expect(idIn(token)).toMatch(/^ac_/);
    const revoke = ['admin-credentials', 'revoke', idIn(token), '--reason', 'left'];
    expect((await run(...revoke)).code).toBe(0);
    expect((await call('GET', `${BASE}/jobs`, { token })).status).toBe(401);
    const listed = await run('admin-credentials', 'list', '--json');
    expect(listed.out).not.toContain(idIn(token));
    for (const credential of JSON.parse(listed.out).credentials) expect(credential).not.toHaveProperty('mac');
  });
});

describe('S149: who and why', () => {
  it('without a reason, nothing is shown or done', async () => {
    for (const { operationId, method, path } of await operations()) {
      const { scope, body, path: given } = calls[operationId] ?? { scope: 'read' };
      if (scope === 'read') continue;
      for (const reason of [null, '', 'x'.repeat(201)]) {
        const { status, body: answer } = await call(method, given === undefined ? path : `${BASE}${given}`, {
          ...{ token: all(), body, reason },
        });
        expect({ operationId, status, code: answer.code }).toEqual({
          ...{ operationId, status: 400, code: 'invalid_request' },
        });
      }
    }
  });

  it('a view of a person and a change are in the audit trail, with the credential, the reason and the request id', async () => {
    const person = { ...alice, subject: 'audited' };
    const token = all();
    await call('POST', `${BASE}/people/show`, { token, body: person, reason: 'ticket 8' });
    const { body: job } = await call('POST', `${BASE}/disconnects`, { token, body: { person }, reason: 'ticket 9' });
    expect(job).toMatchObject({ verb: 'disconnect', door: 'admin_api', reason: 'ticket 9', status: 'waiting' });
    const { body } = await call('GET', `${BASE}/audit?event=admin`, { token });
    const lines = body.items.map(({ line }: { line: object }) => line);
    const by = { door: 'admin_api', operator: `tests (${idIn(token ?? '')})`, requestId: expect.any(String) };
    expect(lines).toContainEqual(expect.objectContaining({ ...by, event: 'admin.person_viewed', reason: 'ticket 8' }));
    expect(lines).toContainEqual(
      expect.objectContaining({ ...by, event: 'admin.disconnect_started', reason: 'ticket 9' }),
    );
    expect(JSON.stringify(body)).not.toContain('"audited"');
    await expect
      .poll(async () => (await call('GET', `${BASE}/jobs/${job.jobId}`, { token })).body.status, { timeout: 60_000 })
      .toBe('done');
  });
});

const hostile: readonly unknown[] = [
  ...['', 'null', '[]', '{', '"text"', '7', '{"__proto__":{"limit":1}}', '{"constructor":{}}'],
  ...[{ issuer: [], subject: {} }, { provider: '' }, { provider: 'a', unknown: 1 }, { since: '2026-11-20T00:00:00Z' }],
  ...[{ connectionId: '../../x' }, { person: { issuer: 'x' } }, { person: alice, since: 'tomorrow' }],
  ...[{ endpoint: '\u0000' }, { elicitationId: 'el_x' }, { jobId: 'jb_}:audit' }, { dryRun: 'yes', ...alice }],
  { issuer: 'x'.repeat(20_000), subject: 'x' },
];
const hostileQueries = [
  'limit=0',
  'limit=201',
  'limit=1e9',
  'limit[]=1',
  'limit=1&limit=2',
  'cursor=x',
  'cursor=1.%00',
];
const more = ['since=x', 'by=week', 'phase=all', 'kind=none', 'unknown=1', '__proto__=1', 'event=%F0%9F', 'limit=%zz'];

it('S150: no input makes an operation fail, and hostile members are refused', async () => {
  const token = all();
  for (const { operationId, method, path } of await operations()) {
    const { path: given = path.slice(BASE.length) } = calls[operationId] ?? {};
    for (const input of method === 'POST' ? hostile : [...hostileQueries, ...more]) {
      const joint = given.includes('?') ? '&' : '?';
      const { status } = await call(method, `${BASE}${given}${method === 'GET' ? `${joint}${input}` : ''}`, {
        ...{ token, ...(method === 'POST' ? { body: input } : {}) },
      });
      expect({ operationId, input, status, isFault: status >= 500 }).toMatchObject({ isFault: false });
      if (status === 200) expect(JSON.stringify(input)).toMatch(/provider|dryRun|person|^"event|"kind/);
    }
    for (const id of ['..%2F..%2Fhealth', '%00', 'x'.repeat(300), '%F0%9F%92%A9', '__proto__']) {
      if (!/\{/.test(path)) continue;
      const { status } = await call(method, path.replace(/\{\w+\}/, id), {
        token,
        ...(method === 'POST' ? { body: {} } : {}),
      });
      expect([400, 404]).toContain(status);
    }
  }
});

describe('docs/admin-api.md', () => {
  const commands = blocksIn('sh').filter(({ document }) => document === 'docs/admin-api.md');
  const lines = commands.flatMap(({ body }) => body.split('\n').filter(line => line !== ''));

  it.each(lines)('%s', async line => {
    const [, postern] = /^npx -y pnpm@12 postern (.*)$/.exec(line) ?? [];
    if (postern !== undefined) {
      const words = [...postern.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
      return expect((await run(...words)).code).toBe(0);
    }
    const command = line.replaceAll('http://127.0.0.1:8091', api().address).replace(/^curl /, 'curl --fail ');
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { env: { ...process.env, TOKEN: all() } });
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });
});

describe('S147: requests without a valid credential', () => {
  it('are limited before the gateway looks for the credential', async () => {
    await using other = await startWorld({ config: { adminApi: { port: 0 } } });
    const url = `${other.gateways[0]?.adminApi?.address}${BASE}/health`;
    const guess = async () => (await fetch(url, { headers: { authorization: 'Bearer guessed' } })).status;
    const statuses: number[] = [];
    for (let batch = 0; batch < 31; batch += 1)
      statuses.push(...(await Promise.all(Array.from({ length: 20 }, guess))));
    expect([...new Set(statuses)].sort()).toEqual([401, 429]);
    expect(statuses.filter(status => status === 401)).toHaveLength(600);
  });
});
