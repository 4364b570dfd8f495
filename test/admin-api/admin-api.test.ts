import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { problemSchema } from '@postern/api';
import type { Subject } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { isShortRun, sampled } from '@postern/testkit/run-size';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../../scripts/child.ts';
import { ocsfSchema } from '../../services/gateway/src/testing/ocsf-schema.ts';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { blocksIn } from '../docs/support/doc-blocks.ts';
import { apiKeyRequest, issueFor, visitorFor } from '../support/asks.ts';
import { connected } from '../support/connections.ts';
import { allKinds, approve, askKind } from '../support/every-kind.ts';
import { heldJob } from '../support/held-job.ts';
import { type AskedPerson, paidPerson } from '../support/payment-person.ts';
import { sendBytes, statusBeforeEnd } from '../support/raw-http.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const newSecret = () => `whsec_${randomBytes(24).toString('base64')}`;
const SCOPES = ['read', 'act', 'people', 'keys'] as const;
const ALL = SCOPES.join();
type Scope = (typeof SCOPES)[number];
const BASE = '/admin/v1';
const unknownElicitation = `el_00${'A'.repeat(43)}`;

let world: PayingWorld;
let folder: string;
let config: string;
const tokens = new Map<string, string>();
beforeAll(async () => {
  world = await startWorld({
    payment: {},
    mcpServer: {
      kinds: [...allKinds],
      webhooks: [{ id: 'hook', url: 'http://127.0.0.1:9/hooks', secrets: [newSecret()], statuses: ['expired'] }],
    },
    replicas: 2,
    sweepPauseMs: 50,
    config: { adminApi: { port: 0 }, audit: { stream: true }, trustProxy: ['127.0.0.1'] },
  });
  folder = await mkdtemp(join(tmpdir(), 'postern-admin-api-'));
  config = join(folder, 'postern.config.yaml');
  await writeFile(config, JSON.stringify(world.config));
  for (const scopes of [...SCOPES, ALL]) tokens.set(scopes, await newToken(scopes));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await world[Symbol.asyncDispose]();
});

const run = (...args: readonly string[]) => runAt(config, ...args);

const runAt = (path: string, ...args: readonly string[]) => runWith({}, path, ...args);

async function runWith(env: Readonly<Record<string, string>>, path: string, ...args: readonly string[]) {
  const { code, out } = await runCommand([...args, '-c', path], { env });
  return { code, out };
}

async function newToken(scopes: string): Promise<string> {
  const { code, out } = await run('admin-credentials', 'add', 'tests', scopes, '--reason', 'tests', '--by', 'olga');
  expect(code).toBe(0);
  return out.trim();
}

/** The id of the credential that a token belongs to. */
const idIn = (token: string) => `ac_${token.slice(3, 25)}`;

const api = (replica = 0) => {
  const found = world.gateways[replica]?.adminApi;
  if (found === undefined) throw new Error('no admin API');
  return found;
};

const schemaOf = z.record(z.string(), z.unknown());
const documentSchema = z.object({
  openapi: z.literal('3.1.0'),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        operationId: z.string(),
        description: z.string(),
        responses: z.record(z.string(), z.object({ content: z.record(z.string(), z.object({ schema: schemaOf })) })),
      }),
    ),
  ),
  components: z.looseObject({ schemas: z.record(z.string(), schemaOf) }),
});
let described: Promise<z.infer<typeof documentSchema>> | undefined;
const documentOf = () =>
  (described ??= fetch(`${api().address}${BASE}/openapi.json`).then(async answer =>
    documentSchema.parse(await answer.json()),
  ));
const operations = async () =>
  Object.entries((await documentOf()).paths).flatMap(([path, of]) =>
    Object.entries(of).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );

/** As the document, but a member that it does not name is a fault. */
function strictly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strictly);
  if (typeof schema !== 'object' || schema === null) return schema;
  const all = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, strictly(value)]));
  return all['type'] === 'object' && 'properties' in all ? { ...all, additionalProperties: false } : all;
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const answered = new Map<string, Set<number>>();
/** One for each described response, by operation and status: compiling one takes longer than the request. */
const validators = new Map<string, ValidateFunction>();

async function validatorOf(schema: z.infer<typeof schemaOf>): Promise<ValidateFunction> {
  const { components } = await documentOf();
  // A problem is described in two parts.
  const isProblem = 'allOf' in schema;
  return ajv.compile(isProblem ? { ...schema, components } : Object(strictly({ ...schema, components })));
}

/** Asserts that the document describes this response: status and content type, and exactly its members. */
async function expectDescribed(method: string, url: string, answer: Response, body: unknown): Promise<void> {
  const { pathname } = new URL(url, 'http://admin.example');
  const isAt = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname);
  const operation = (await operations()).find(of => of.method === method && isAt(of.path));
  if (operation === undefined) return;
  const { operationId, responses } = operation;
  answered.set(operationId, (answered.get(operationId) ?? new Set()).add(answer.status));
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  const { schema } = responses[answer.status]?.content[type] ?? {};
  if (schema === undefined) throw new Error(`${operationId} does not describe ${answer.status} ${type}`);
  const name = `${operationId} ${answer.status} ${type}`;
  const validate = validators.get(name) ?? (await validatorOf(schema));
  validators.set(name, validate);
  validate(body);
  expect({ operationId, faults: validate.errors ?? [] }).toEqual({ operationId, faults: [] });
}

async function call(
  method: string,
  path: string,
  p: { token?: string | undefined; reason?: string | null; body?: unknown; replica?: number } = {},
) {
  const { token, reason = 'ticket 7', body, replica } = p;
  const answer = await fetch(`${api(replica).address}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(reason === null ? {} : { 'postern-reason': reason }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const parsed = text === '' ? undefined : JSON.parse(text);
  await expectDescribed(method, path, answer, parsed);
  return { status: answer.status, headers: answer.headers, body: parsed };
}
const all = () => tokens.get(ALL);

const alice = { issuer: 'https://id.example', subject: 'alice' };
/** A valid call of every operation, by its id in the OpenAPI document, with its scope and the status that a full credential gets. */
const calls: Readonly<Record<string, { scope: Scope; path?: string; body?: object; status?: number }>> = {
  getHealth: { scope: 'read' },
  getCounts: { scope: 'read', path: '/counts?since=2026-11-01T00:00:00Z&until=2026-11-24T00:00:00Z' },
  listReplicas: { scope: 'read' },
  listElicitations: { scope: 'read' },
  getElicitation: { scope: 'people', path: `/elicitations/${unknownElicitation}`, status: 404 },
  cancelElicitation: { scope: 'act', path: `/elicitations/${unknownElicitation}/cancel`, body: {}, status: 404 },
  listConnections: { scope: 'read' },
  listCredentials: { scope: 'read' },
  listPayments: { scope: 'read' },
  getPayment: { scope: 'read', path: `/payments/${unknownElicitation}`, status: 404 },
  planRefund: { scope: 'read', path: `/payments/${unknownElicitation}/refunds/plan`, body: {}, status: 404 },
  startRefund: { scope: 'act', path: `/payments/${unknownElicitation}/refunds`, body: {}, status: 404 },
  listWebhookEndpoints: { scope: 'read' },
  listDeadDeliveries: { scope: 'read' },
  listRetryingDeliveries: { scope: 'read' },
  enableWebhookEndpoint: { scope: 'act', body: { endpoint: 'tracker.nowhere' }, status: 404 },
  startRedelivery: { scope: 'act', body: { endpoint: 'tracker.nowhere' }, status: 404 },
  listApiKeys: { scope: 'read' },
  addApiKey: { scope: 'keys', body: { mcpServerId: 'nowhere', name: 'first' }, status: 404 },
  revokeApiKey: { scope: 'keys', path: '/api-keys/ak_unknown/revoke', body: {}, status: 404 },
  listAudit: { scope: 'read' },
  readAudit: { scope: 'read' },
  find: { scope: 'read', body: { text: 'order-unknown' } },
  showPerson: { scope: 'people', body: alice },
  exportPerson: { scope: 'people', body: alice },
  signOutPerson: { scope: 'act', body: { ...alice, dryRun: true } },
  erasePerson: { scope: 'act', body: { ...alice, dryRun: true } },
  resetPasskeys: { scope: 'act', body: alice, status: 404 },
  planDisconnect: { scope: 'people', body: { provider: 'nowhere' } },
  startDisconnect: { scope: 'act', body: { provider: 'nowhere' } },
  listJobs: { scope: 'read' },
  getJob: { scope: 'read', path: '/jobs/jb_unknown', status: 404 },
  cancelJob: { scope: 'act', path: '/jobs/jb_unknown/cancel', body: {}, status: 404 },
};

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

  it.each(['none', 'another', ...SCOPES, ALL])('%s', async who => {
    const forged = `pa_${'A'.repeat(65)}`;
    const token = who === 'none' ? undefined : who === 'another' ? forged : tokens.get(who);
    const nth = ['none', 'another', ...SCOPES, ALL].indexOf(who);
    for (const [at, { operationId, method, path }] of (await operations()).entries()) {
      // The scope of an operation is checked before the operation runs: the short run takes half of them with each credential.
      if (isShortRun && (at + nth) % 2 === 1) continue;
      const { scope, body, status: expected = 200, path: given } = calls[operationId] ?? { scope: 'read' };
      const {
        status,
        headers,
        body: answer,
      } = await call(method, given === undefined ? path : `${BASE}${given}`, {
        token,
        body,
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
      stored.replace('["read"]', '["read","keys"]'),
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
    // An unreadable record of a later release refuses no other credential.
    await ask('HSET', key, `ac_${other}`, '{"layout":2}');
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

describe('S218: postern api-keys with a credential of the admin API', () => {
  const add = ['api-keys', 'add', 'tracker', 'second', '--reason', 'ticket 10'];
  /** Names no Redis and no vault key, only the listener. */
  const outside = async () => {
    const path = join(folder, 'outside.yaml');
    await writeFile(path, `adminApi: { port: ${new URL(api().address).port} }\nvault: { keys: '\${env:ELSEWHERE}' }\n`);
    return path;
  };
  const statusWith = async (key: string) =>
    (await fetch(`${world.gateways[0]?.address}/v1/me`, { headers: { authorization: `Bearer ${key}` } })).status;

  it('goes through the running gateway, which accepts and refuses the key within half a second', async () => {
    const path = await outside();
    const env = { POSTERN_ADMIN_TOKEN: all() ?? '' };
    expect((await runWith({}, path, ...add)).code).toBe(1);
    expect(await runWith(env, path, ...add, '--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Would'),
    });
    const { code, out } = await runWith(env, path, ...add, '--json');
    const { apiKeyId, key } = JSON.parse(out);
    expect({ code, apiKeyId }).toEqual({ code: 0, apiKeyId: expect.stringMatching(/^ak_/) });
    await expect.poll(() => statusWith(key)).toBe(200);
    const { out: list } = await runWith(env, path, 'api-keys', 'list', '--json');
    const by = `tests (${idIn(env.POSTERN_ADMIN_TOKEN)})`;
    expect(JSON.parse(list).apiKeys).toContainEqual(
      expect.objectContaining({
        apiKeyId,
        mcpServerId: 'tracker',
        added: expect.objectContaining({ by, reason: 'ticket 10' }),
      }),
    );
    expect(list).not.toContain(key);
    const revoke = ['api-keys', 'revoke', apiKeyId, '--reason', 'ticket 11'];
    expect((await runWith(env, path, ...revoke)).code).toBe(0);
    await expect.poll(() => statusWith(key)).toBe(401);
    const { body } = await call('GET', `${BASE}/audit?event=api_key.added`, { token: all() });
    expect(body.items[0].line).toMatchObject({ door: 'admin_api', operator: by, reason: 'ticket 10', apiKeyId });
  });

  it('without the scope keys adds and revokes none', async () => {
    const token = tokens.get('act') ?? '';
    const before = await call('GET', `${BASE}/api-keys`, { token: all() });
    expect((await runWith({ POSTERN_ADMIN_TOKEN: token }, await outside(), ...add)).code).toBe(1);
    const fileKey = before.body.items[0].apiKeyId;
    expect((await call('POST', `${BASE}/api-keys/${fileKey}/revoke`, { token, body: {} })).status).toBe(403);
    expect((await call('GET', `${BASE}/api-keys`, { token: all() })).body).toEqual(before.body);
  });
});

describe('commands with --url', () => {
  /** No file: the command can have neither Redis nor the vault keys. */
  const there = (token: string | undefined, ...args: readonly string[]) =>
    runWith({ POSTERN_ADMIN_TOKEN: token ?? '' }, join(folder, 'none.yaml'), ...args, '--url', api().address);
  const why = ['--reason', 'ticket 12'];

  it('show what the same commands show beside the store', async () => {
    const { elicitationId } = await paidPerson(world);
    const person = [world.identityProvider.issuer, world.subject()];
    // What a command shows and how it prints it are apart: the short run takes each form in turn.
    for (const args of [
      ['payments', 'show', elicitationId],
      ['find', elicitationId],
      ['people', 'show', ...person, ...why],
      ['people', 'sign-out', ...person, '--dry-run', ...why],
      ['webhooks', 'list'],
      ['webhooks', 'dead'],
      ['webhooks', 'retrying'],
      ['webhooks', 'enable', 'tracker.hook', '--dry-run', ...why],
      ['providers', 'disconnect', 'nowhere', '--dry-run', ...why],
      ['payments', 'refund', elicitationId, '--minor-units', '490', '--dry-run', ...why],
      ['api-keys', 'list'],
      ['jobs', 'show', 'jb_unknown'],
      ['replicas'],
      ['elicitations', 'show', elicitationId, ...why],
      ['people', 'erase', ...person, '--dry-run', ...why],
      ['passkeys', 'reset', ...person, '--dry-run', ...why],
    ])
      for (const form of isShortRun ? [args.length % 2 === 0 ? ['--json'] : []] : [[], ['--json']]) {
        const { code, out } = await run(...args, ...form);
        expect({ args, ...(await there(all(), ...args, ...form)) }).toEqual({ args, code, out });
      }
  });

  it('change what they say, as the credential', async () => {
    const { elicitationId } = await askKind(world, world.subject(), 'confirmation');
    expect(await there(all(), 'elicitations', 'cancel', elicitationId, ...why)).toMatchObject({ code: 0 });
    expect((await world.api.read(elicitationId)).body.status).toBe('cancelled');
    const { code, out } = await there(all(), 'providers', 'disconnect', 'nowhere', '--json', ...why);
    expect({ code, job: JSON.parse(out) }).toMatchObject({ code: 0, job: { verb: 'disconnect', status: 'done' } });
    expect((await there(all(), 'webhooks', 'redeliver', '--endpoint', 'tracker.hook', ...why)).code).toBe(0);
    const paid = await paidPerson(world);
    const refund = await there(
      all(),
      'payments',
      'refund',
      paid.elicitationId,
      '--minor-units',
      '490',
      '--json',
      ...why,
    );
    expect({ code: refund.code, ...JSON.parse(refund.out) }).toMatchObject({ code: 0, minorUnits: 490 });
    const { body } = await call('GET', `${BASE}/audit?event=admin.elicitation_cancelled`, { token: all() });
    const by = { door: 'admin_api', operator: `tests (${idIn(all() ?? '')})`, reason: 'ticket 12' };
    expect(body.items[0].line).toMatchObject({ ...by, elicitationId });
  });

  it('do only what the scopes of the credential allow, and nothing without one', async () => {
    const { elicitationId } = await askKind(world, world.subject(), 'confirmation');
    const cancel = ['elicitations', 'cancel', elicitationId, ...why];
    expect((await there(tokens.get('read'), ...cancel)).code).toBe(1);
    expect((await there(undefined, ...cancel)).code).toBe(2);
    expect((await there(all(), ...cancel, '--by', 'olga')).code).toBe(2);
    expect((await there(all(), ...cancel, '--dry-run')).code).toBe(2);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    expect((await there(tokens.get('act'), 'people', 'show', 'i', 's', ...why)).code).toBe(1);
  });
});

describe('S149: who and why', () => {
  it('without a reason, nothing is shown or done', async () => {
    for (const { operationId, method, path } of await operations()) {
      const { scope, body, path: given } = calls[operationId] ?? { scope: 'read' };
      if (scope === 'read') continue;
      for (const reason of [null, '', 'x'.repeat(201)]) {
        const { status, body: answer } = await call(method, given === undefined ? path : `${BASE}${given}`, {
          token: all(),
          body,
          reason,
        });
        expect({ operationId, status, code: answer.code }).toEqual({
          operationId,
          status: 400,
          code: 'invalid_request',
        });
      }
    }
  });

  it.each(['sign-out', 'erase', 'reset-passkeys'])('%s takes no member of its body from the query', async act => {
    const person = { ...alice, subject: 'queried' };
    for (const query of ['?dryRun=true', '?subject=queried', '?x'])
      expect(
        await call('POST', `${BASE}/people/${act}${query}`, { token: all(), body: person, reason: 'ticket 8' }),
      ).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
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

describe('S166: a gateway makes the refund that another process has reserved', () => {
  const refundsOf = (elicitationId: string) =>
    world.stripe.refunds.filter(({ metadata }) => metadata['elicitationId'] === elicitationId).map(of => of.amount);

  it('of the command, which has no key of the processor', async () => {
    const { elicitationId } = await paidPerson(world);
    const path = join(folder, 'keyless.yaml');
    const processors = world.config.processors?.map(of => ({
      ...of,
      secretKey: 'sk_test_none',
      apiUrl: 'http://127.0.0.1:9',
    }));
    await writeFile(path, JSON.stringify({ ...world.config, processors }));
    const command = ['payments', 'refund', elicitationId, '--minor-units', '490', '--reason', 'ticket 7', '--json'];
    for (let repeat = 0; repeat < 2; repeat += 1) {
      const { code, out } = await runAt(path, ...command);
      expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, status: 'succeeded', minorUnits: 490 });
    }
    expect(refundsOf(elicitationId)).toEqual([490]);
    const shown = await run('payments', 'show', elicitationId, '--json');
    expect(JSON.parse(shown.out)).toMatchObject({ payments: [{ refundableMinorUnits: 2000 }] });
    for (const wrong of [
      ['--minor-units', '2001'],
      ['--minor-units', '2001', '--dry-run'],
      ['--payment', 'pi_other'],
    ])
      expect((await run('payments', 'refund', elicitationId, ...wrong, '--reason', 'ticket 8')).code).toBe(1);
    for (const wrong of ['0', '-1', '4.90', '1e3', ''])
      expect((await run('payments', 'refund', elicitationId, `--minor-units=${wrong}`, '--reason', 'r')).code).toBe(2);
    expect(refundsOf(elicitationId)).toEqual([490]);
  });

  it('S163: of operators and the MCP server at two replicas at once, never more than was paid', async () => {
    const { elicitationId } = await paidPerson(world);
    const token = all();
    const race = Array.from({ length: 6 }, (_, nth) => [
      call('POST', `${BASE}/payments/${elicitationId}/refunds`, {
        token,
        replica: nth % 2,
        reason: `ticket ${nth}`,
        body: { minorUnits: 500 },
      }).then(({ status }) => status),
      world
        .apiOf({ replica: nth % 2 })
        .call(
          'POST',
          `/v1/payments/${elicitationId}/refunds`,
          { minorUnits: 500, reason: 'r' },
          {
            'idempotency-key': `key-${nth}`,
          },
        )
        .then(({ status }) => status),
    ]).flat();
    const statuses = await Promise.all(race);
    expect(statuses.filter(status => status < 300)).toHaveLength(4);
    expect(new Set(statuses.filter(status => status >= 300))).toEqual(new Set([422]));
    await expect.poll(() => refundsOf(elicitationId), { timeout: 60_000 }).toEqual([500, 500, 500, 500]);
  });

  it('of the admin API, once for a plan', async () => {
    const { elicitationId } = await paidPerson(world);
    const [token, path] = [all(), `${BASE}/payments/${elicitationId}/refunds`];
    const { body: planned } = await call('POST', `${path}/plan`, { token, body: { minorUnits: 490 } });
    expect(planned).toMatchObject({
      minorUnits: 490,
      leftMinorUnits: 2000,
      payment: { mode: 'test', currency: 'EUR' },
    });
    const start = (body: object, reason = 'ticket 7') => call('POST', path, { token, body, reason });
    const ask = { minorUnits: 490, plan: planned.plan };
    const started = await Promise.all([start(ask), start(ask), start(ask)]);
    expect(new Set(started.map(({ status, body }) => `${status} ${body.refundId}`)).size).toBe(1);
    expect(started[0]).toMatchObject({ status: 200, body: { status: 'pending', requestedBy: 'operator' } });
    expect(await start(ask, 'ticket 8')).toMatchObject({ status: 409, body: { code: 'payment_changed' } });
    expect(await start({ minorUnits: 2001 })).toMatchObject({ status: 422, body: { code: 'refund_exceeds_payment' } });
    const read = async () =>
      (await call('GET', `${BASE}/payments/${elicitationId}`, { token })).body.payments[0].refunds;
    await expect.poll(read, { timeout: 60_000 }).toMatchObject([{ status: 'succeeded', minorUnits: 490 }]);
    expect(refundsOf(elicitationId)).toEqual([490]);
    const { body: listed } = await call('GET', `${BASE}/payments?phase=ended`, { token });
    const item = listed.items.find((each: { elicitationId: string }) => each.elicitationId === elicitationId);
    expect(item).toMatchObject({ payments: [{ refundedMinorUnits: 490, disputes: [] }] });
    for (const minorUnits of [0, -1, 4.9, '490', 1e300])
      expect(await start({ minorUnits })).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
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
  // Each credential has a limit of its own at each replica, and this takes more than one of them.
  const replica = 1;
  const senders = [all(), await newToken(ALL)];
  for (const [at, { operationId, method, path }] of (await operations()).entries()) {
    const token = senders[at % senders.length];
    const { path: given = path.slice(BASE.length) } = calls[operationId] ?? {};
    for (const input of sampled<unknown>(method === 'POST' ? hostile : [...hostileQueries, ...more], 3)) {
      const joint = given.includes('?') ? '&' : '?';
      const { status } = await call(method, `${BASE}${given}${method === 'GET' ? `${joint}${input}` : ''}`, {
        token,
        replica,
        ...(method === 'POST' ? { body: input } : {}),
      });
      expect({ operationId, input, status, isFault: status >= 500 }).toMatchObject({ isFault: false });
      if (status === 200) expect(JSON.stringify(input)).toMatch(/provider|dryRun|person|^"event|"kind/);
    }
    for (const id of ['..%2F..%2Fhealth', '%00', 'x'.repeat(300), '%F0%9F%92%A9', '__proto__']) {
      if (!/\{/.test(path)) continue;
      const { status } = await call(method, path.replace(/\{\w+\}/, id), {
        token,
        replica,
        ...(method === 'POST' ? { body: {} } : {}),
      });
      expect([400, 404]).toContain(status);
    }
  }
});

/** The act in the audit trail of each operation that changes something or shows a person. */
const acts: Readonly<Record<string, string>> = {
  getElicitation: 'admin.person_viewed',
  showPerson: 'admin.person_viewed',
  planDisconnect: 'admin.person_viewed',
  exportPerson: 'admin.person_exported',
  cancelElicitation: 'admin.elicitation_cancelled',
  signOutPerson: 'admin.person_signed_out',
  erasePerson: 'admin.person_erased',
  resetPasskeys: 'passkey.reset',
  startDisconnect: 'admin.disconnect_started',
  startRefund: 'admin.refund_started',
  startRedelivery: 'admin.redelivery_started',
  enableWebhookEndpoint: 'admin.webhook_enabled',
  cancelJob: 'admin.job_cancelled',
  addApiKey: 'api_key.added',
  revokeApiKey: 'api_key.revoked',
};

it('S178, S179: every operation returns what it describes, and the audit trail says who changed something or looked at a person', async () => {
  const token = all();
  const listed = await operations();
  /** Calls an operation. The reason is its id. */
  async function run(id: string, body: Record<string, unknown> = {}, query = '') {
    const { method, path } = listed.find(({ operationId }) => operationId === id) ?? { method: '', path: '' };
    const url = path.replace(/\{(\w+)\}/, (_, name: string) => String(body[name]));
    const sent = method === 'POST' ? { body: url === path ? body : {} } : {};
    const answer = await call(method, `${url}${query}`, { token, reason: id, ...sent });
    expect({ id, status: answer.status }).toEqual({ id, status: 200 });
    return answer.body;
  }
  const [user, other] = [world.subject(), world.subject()];
  const person = { issuer: world.identityProvider.issuer, subject: user };
  const { connectionId } = await connected(world, { user });
  for (const kind of allKinds) {
    if (kind !== 'authorization') {
      const { elicitationId } =
        kind === 'credential'
          ? await issueFor(world, user, { kind, credential: { ...apiKeyRequest, retention: 'lasting' } })
          : await askKind(world, user, kind);
      await approve(await visitorFor(world, user, elicitationId), elicitationId, kind);
    }
    await askKind(world, other, kind, { requestedBy: { tool: 'deploy' } });
  }
  for (const phase of ['open', 'ended']) {
    const { items } = await run('listElicitations', {}, `?phase=${phase}`);
    const own = items.map(({ elicitationId }: { elicitationId: string }) => elicitationId);
    for (const elicitationId of own)
      expect(await run('getElicitation', { elicitationId })).toMatchObject({ person: { issuer: person.issuer } });
    expect((await run('listPayments', {}, `?phase=${phase}`)).items).not.toEqual([]);
    if (phase === 'open') await run('cancelElicitation', { elicitationId: own[0] });
  }
  for (const list of [
    'listReplicas',
    'readAudit',
    'listConnections',
    'listCredentials',
    'listWebhookEndpoints',
    'listAudit',
    'listApiKeys',
  ])
    expect({ list, items: (await run(list)).items }).not.toEqual({ list, items: [] });
  for (const empty of ['getHealth', 'listDeadDeliveries', 'listRetryingDeliveries']) await run(empty);
  await run('getCounts', {}, '?since=2026-11-01T00:00:00Z&until=2026-11-24T00:00:00Z');
  for (const id of ['showPerson', 'exportPerson'])
    expect(await run(id, person)).toMatchObject({ connections: [{ connectionId }], credentials: [{}] });
  expect(await run('planDisconnect', { person })).toMatchObject({ connections: 1 });
  const { elicitationId } = await paidPerson(world);
  for (const id of ['planRefund', 'startRefund', 'getPayment'])
    expect(await run(id, { elicitationId })).toMatchObject({ elicitationId });
  await run('startRedelivery', { endpoint: 'tracker.hook' });
  await run('enableWebhookEndpoint', { endpoint: 'tracker.hook' });
  const { jobId } = await run('startDisconnect', { person });
  for (const id of ['getJob', 'listJobs']) await run(id, { jobId });
  await run('signOutPerson', { ...person, dryRun: true });
  const { apiKeyId } = await run('addApiKey', { mcpServerId: 'tracker', name: 'described' });
  expect(await run('revokeApiKey', { apiKeyId })).toMatchObject({ result: 'revoked', apiKey: { apiKeyId } });
  await addPasskey(person);
  expect(await run('resetPasskeys', person)).toMatchObject({ passkeys: 1 });
  expect(await run('erasePerson', { issuer: person.issuer, subject: other })).toMatchObject({
    passkeys: 0,
    stillDeciding: 0,
  });
  const held = await heldJob(stores().jobs);
  expect(await run('cancelJob', { jobId: held })).toMatchObject({ jobId: held, status: 'cancelled' });

  const unanswered = listed.filter(({ operationId }) => !answered.get(operationId)?.has(200));
  expect(unanswered.map(({ operationId }) => operationId)).toEqual([]);

  const trail = async () => (await stores().audits.readBack({ limit: 5_000 })).map(({ line }) => JSON.parse(line));
  const eventsOf = (lines: readonly Record<string, unknown>[], id: string) => [
    ...new Set(
      lines.filter(({ reason, event }) => reason === id && event !== 'admin.job_ended').map(of => of['event']),
    ),
  ];
  expect(eventsOf(await trail(), 'signOutPerson')).toEqual(['admin.person_viewed']);
  await run('signOutPerson', person);
  const lines = await trail();
  for (const { operationId } of listed)
    expect([operationId, eventsOf(lines, operationId)]).toEqual([
      operationId,
      [
        ...(operationId === 'signOutPerson' ? ['admin.person_signed_out', 'admin.person_viewed'] : []),
        ...(operationId === 'signOutPerson' ? [] : [acts[operationId] ?? []]).flat(),
      ],
    ]);
  const by = { door: 'admin_api', operator: `tests (${idIn(token ?? '')})`, requestId: expect.any(String) };
  for (const line of lines.filter(({ reason }) => listed.some(({ operationId }) => operationId === reason)))
    if (line.event !== 'admin.job_ended') expect(line).toMatchObject(by);
});

const addPasskey = (subject: Subject) => stores().passkeys.add(samples.passkeyFor(subject), 10);

describe('S125: erasing a person and resetting passkeys over the admin API', () => {
  /** A person with an open elicitation, a connection and a passkey. */
  async function somebodyStored() {
    const subject = world.subject();
    const person = { issuer: world.identityProvider.issuer, subject };
    await connected(world, { user: subject });
    await askKind(world, subject, 'confirmation');
    await addPasskey(person);
    return person;
  }
  const storedOf = async (person: Subject) => ({
    connections: (await stores().connections.list(person)).length,
    open: (await stores().elicitations.listOpen(person, ['tracker'])).length,
    passkeys: (await stores().passkeys.list(person)).length,
  });
  const everything = { connections: 1, open: 1, passkeys: 1 };
  const acts = ['people/erase', 'people/reset-passkeys'];

  it.each([...SCOPES.filter(scope => scope !== 'act'), 'none'] as const)(
    'a credential with the scope %s changes nothing',
    async scope => {
      const person = await somebodyStored();
      const token = scope === 'none' ? undefined : tokens.get(scope);
      for (const act of acts)
        for (const body of [person, { ...person, dryRun: false }, { ...person, dryRun: true }]) {
          const { status, body: problem } = await call('POST', `${BASE}/${act}`, { token, body });
          expect([act, status]).toEqual([act, scope === 'none' ? 401 : 403]);
          expect(JSON.stringify(problem)).not.toContain(person.subject);
        }
      expect(await storedOf(person)).toEqual(everything);
    },
  );

  it('without a reason, or for a plan, changes nothing', async () => {
    const person = await somebodyStored();
    for (const act of acts) {
      const path = `${BASE}/${act}`;
      for (const reason of [null, '', 'two\u00e4'])
        expect((await callWithReason(path, reason, person)).status).toBe(400);
      expect((await call('POST', path, { token: all(), body: { ...person, dryRun: true } })).status).toBe(200);
    }
    expect(await storedOf(person)).toEqual(everything);
  });

  const callWithReason = (path: string, reason: string | null, body: object) =>
    fetch(`${api().address}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${all()}`,
        'content-type': 'application/json',
        ...(reason === null ? {} : { 'postern-reason': reason }),
      },
      body: JSON.stringify(body),
    });

  it('touches that person only, and no response, error, log line or audit line names them', async () => {
    const [person, other] = [await somebodyStored(), await somebodyStored()];
    const token = all();
    const texts: string[] = [];
    const send = async (path: string, body: object) => {
      const answer = await call('POST', `${BASE}/${path}`, { token, body });
      texts.push(JSON.stringify(answer.body));
      return answer;
    };
    expect(await send('people/reset-passkeys', person)).toMatchObject({ status: 200, body: { passkeys: 1 } });
    expect(await storedOf(person)).toEqual({ ...everything, passkeys: 0 });
    expect(await send('people/reset-passkeys', person)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await send('people/erase', person)).toMatchObject({
      status: 200,
      body: { open: 1, connections: 1, stillDeciding: 0 },
    });
    expect(await storedOf(person)).toEqual({ connections: 0, open: 0, passkeys: 0 });
    expect(await storedOf(other)).toEqual(everything);
    for (const wrong of [
      { ...person, dryRun: 'no' },
      { ...person, subject: 'x'.repeat(2001) + person.subject },
    ])
      expect((await send('people/erase', wrong)).status).toBe(400);
    const trail = (await stores().audits.readBack({ limit: 5_000 })).map(({ line }) => line);
    expect(trail.filter(line => JSON.parse(line).event === 'admin.person_erased')).not.toEqual([]);
    expect([...texts, ...trail, world.log()].filter(text => text.includes(person.subject))).toEqual([]);
  });

  it('erases a person for the command with --url, as the credential, and resets passkeys', async () => {
    const person = await somebodyStored();
    const [env, path] = [{ POSTERN_ADMIN_TOKEN: all() ?? '' }, join(folder, 'none.yaml')];
    const there = (...args: readonly string[]) =>
      runWith(env, path, ...args, person.issuer, person.subject, '--url', api().address, '--reason', 'ticket 13');
    const planned = await there('people', 'erase', '--dry-run', '--json');
    expect({ code: planned.code, ...JSON.parse(planned.out) }).toMatchObject({ code: 0, dryRun: true, connections: 1 });
    expect(await storedOf(person)).toEqual(everything);
    expect((await there('passkeys', 'reset')).code).toBe(0);
    expect((await there('passkeys', 'reset')).code).toBe(1);
    expect((await there('people', 'erase')).code).toBe(0);
    expect(await storedOf(person)).toEqual({ connections: 0, open: 0, passkeys: 0 });
    const [line] = (await call('GET', `${BASE}/audit?event=admin.person_erased`, { token: all() })).body.items;
    expect(line.line).toMatchObject({ operator: `tests (${idIn(all() ?? '')})`, reason: 'ticket 13' });
  });
});

describe('the audit trail, oldest first', () => {
  const pageOf = async (query: string) => {
    const { status, body } = await call('GET', `${BASE}/audit/lines${query}`, { token: tokens.get('read') });
    expect(status).toBe(200);
    return body;
  };

  it('returns each line once, over several pages and later ones too', async () => {
    const positions: string[] = [];
    let page = await pageOf('?limit=200');
    for (;;) {
      positions.push(...page.items.map(({ position }: { position: string }) => position));
      if (page.isAtEnd) break;
      page = await pageOf(`?limit=200&cursor=${page.next}`);
    }
    expect(page.hasUsers).toBe(true);
    expect(new Set(positions).size).toBe(positions.length);
    const stored = (await stores().audits.read({ limit: 100_000 })).map(({ position }) => position);
    expect(positions).toEqual(stored.slice(0, positions.length));
    const { next } = page;
    const { elicitationId } = await askKind(world, world.subject(), 'confirmation');
    await call('GET', `${BASE}/elicitations/${elicitationId}`, { token: all(), reason: 'later line' });
    const later = await pageOf(`?event=admin.person_viewed&cursor=${next}`);
    expect(later.items.map(({ line }: { line: { reason: string } }) => line.reason)).toContain('later line');
  });

  it.each(['x', '~', '1-1', '1-1.x', '~.~.~', `${'9'.repeat(16)}-1.~`])('refuses the cursor %s', async cursor => {
    const { status, body } = await call('GET', `${BASE}/audit/lines?cursor=${encodeURIComponent(cursor)}`, {
      token: all(),
    });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
  });

  it('prints the same with --url as beside the store, and refuses a person there', async () => {
    const env = { POSTERN_ADMIN_TOKEN: tokens.get('read') ?? '' };
    const args = ['audit', '--event', 'admin.credential_added'];
    const there = (...more: readonly string[]) =>
      runWith(env, join(folder, 'none.yaml'), ...args, '--url', api().address, ...more);
    const { code, out } = await run(...args);
    expect(await there()).toEqual({ code, out });
    expect(out.split('\n').length).toBeGreaterThan(SCOPES.length);
    expect(await there('--issuer', 'https://id.example', '--subject', 'alice')).toEqual({ code: 2, out: '' });
  });
});

const stores = () => {
  const [gateway] = world.gateways;
  if (gateway === undefined) throw new Error('no gateway');
  return gateway.deps.stores;
};

it('S177: the audit trail of these tests fits OCSF', async () => {
  const { code, out } = await run('audit', '--format', 'ocsf');
  const events = out
    .trimEnd()
    .split('\n')
    .map(line => ocsfSchema.parse(JSON.parse(line)));
  expect(code).toBe(0);
  expect(events.length).toBeGreaterThan(10);
  expect(out).not.toContain('"alice"');
});

it('S180: Compose publishes the port of the commented section on the loopback address only', async () => {
  const read = (name: string) => readFile(join(root, name), 'utf8');
  const [, section = ''] = /^#(adminApi: .*)$/m.exec(await read('infra/postern.config.yaml')) ?? [];
  expect(parse(section)).toEqual({ adminApi: { host: '0.0.0.0', port: 8091 } });
  const { services } = z
    .object({ services: z.record(z.string(), z.object({ ports: z.array(z.string()).default([]) })) })
    .parse(parse(await read('docker-compose.yml')));
  const ports = Object.values(services).flatMap(of => of.ports.filter(port => port.endsWith(':8091')));
  expect(ports).toEqual(['127.0.0.1:8091:8091']);
});

describe('docs/admin-api.md', () => {
  let documented: AskedPerson;
  beforeAll(async () => {
    documented = await paidPerson(world);
  });
  const commands = blocksIn('sh').filter(({ document }) => document === 'docs/admin-api.md');
  const lines = commands.flatMap(({ body }) => body.split('\n').filter(line => line !== ''));

  it.each(lines)('%s', async line => {
    const [, postern] = /^npx @postern\/gateway (.*)$/.exec(line) ?? [];
    if (postern !== undefined) {
      const words = [...postern.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
      const there = words.map(word => word.replace('http://127.0.0.1:8091', api().address));
      return expect((await runWith({ POSTERN_ADMIN_TOKEN: all() ?? '' }, config, ...there)).code).toBe(0);
    }
    const refunds = `${BASE}/payments/${documented.elicitationId}/refunds`;
    const { body: planned } = await call('POST', `${refunds}/plan`, { token: all(), body: { minorUnits: 490 } });
    const command = line
      .replaceAll('http://127.0.0.1:8091', api().address)
      .replaceAll('el_…', documented.elicitationId)
      .replaceAll('"plan":"…"', JSON.stringify({ plan: planned.plan }).slice(1, -1))
      .replace(/^curl /, 'curl --fail ');
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { env: { ...process.env, TOKEN: all() } });
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });
});

it('S200: reads no body of an unknown path, and answers every URL with its own headers', async () => {
  const head = (line: string, ...headers: string[]) =>
    `${[`${line} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;
  // Longer than any that the admin API reads.
  const statuses = ['application/json', 'text/plain', 'image/png'].map(type =>
    statusBeforeEnd(api().address, `${head('POST /nothing', `Content-Type: ${type}`, 'Content-Length: 20000')}{`),
  );
  expect(await Promise.all(statuses)).toEqual([404, 404, 404]);
  const unroutable = await sendBytes(api().address, head(`GET ${BASE}/%zzSECRET`));
  expect(unroutable.status).toBe(400);
  expect(unroutable.headers.get('cache-control')).toBe('no-store');
  expect(unroutable.body).not.toContain('SECRET');
  expect((await sendBytes(api().address, head(`GET ${BASE}/jobs/${'x'.repeat(2_000)}`))).status).toBe(401);
});

describe('S147: requests without a valid credential', () => {
  it('are limited by their address behind the proxy, and use up nothing of an operator at the same address', async () => {
    const statusOf = async (authorization: string, from = '192.0.2.9') =>
      (await fetch(`${api().address}${BASE}/health`, { headers: { authorization, 'x-forwarded-for': from } })).status;
    const guess = () => statusOf('Bearer guessed');
    const statuses: number[] = [];
    for (let batch = 0; batch < 31; batch += 1)
      statuses.push(...(await Promise.all(Array.from({ length: 20 }, guess))));
    expect([...new Set(statuses)].sort()).toEqual([401, 429]);
    expect(statuses.filter(status => status === 401)).toHaveLength(600);
    expect(await statusOf(`Bearer ${all()}`)).toBe(200);
    expect(await statusOf('Bearer guessed', '192.0.2.10')).toBe(401);
  });
});
