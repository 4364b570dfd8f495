/** Clients that others generate from `GET /openapi.json`, against a real gateway. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { FetchingJSONSchemaStore, InputData, JSONSchemaInput, quicktype } from 'quicktype-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { acceptWith, visitorFor } from '../support/asks.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

const documentSchema = z.looseObject({
  openapi: z.string(),
  components: z.looseObject({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
});

let world: World;
let folder: string;
let document: z.infer<typeof documentSchema>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-clients-'));
  // Node.js strips no types below node_modules, so the programs are outside.
  await symlink(join(root, 'test/node_modules'), join(folder, 'node_modules'));
  world = await startWorld({ config: { adminApi: { port: 0 } } });
  document = documentSchema.parse(await (await fetch(`${world.gateways[0]?.address}/openapi.json`)).json());
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Each `@ts-expect-error` is a mistake that the generated types must find. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './postern.ts';

const { POSTERN_URL = '', POSTERN_API_KEY = '', ISSUER = '', SUBJECT = '' } = process.env;
const gateway = createClient<paths>({ baseUrl: POSTERN_URL, headers: { authorization: \`Bearer \${POSTERN_API_KEY}\` } });
const subject = { issuer: ISSUER, subject: SUBJECT };

// Members with a default may be absent.
const ask: components['schemas']['IssueElicitation'] = {
  kind: 'confirmation',
  subject,
  confirmation: { title: 'Delete the repository "attic"' },
};
// @ts-expect-error The kind and its object belong together.
const mixed: components['schemas']['IssueElicitation'] = { kind: 'form', subject, confirmation: { title: 'x' } };

const issued = await gateway.POST('/v1/elicitations', { body: ask });
if (issued.data === undefined) throw new Error(issued.error.detail ?? issued.error.code);
console.log(issued.data.url);

const params = { path: { elicitationId: issued.data.elicitationId } };
for (;;) {
  const { data, error } = await gateway.GET('/v1/elicitations/{elicitationId}', {
    params: { ...params, query: { wait: 55 } },
  });
  if (data === undefined) throw new Error(error.code);
  if (data.status === 'completed') {
    if (data.outcome?.kind === 'confirmation') console.log(data.outcome.approval.method);
    // @ts-expect-error Only some outcomes have an approval.
    void data.outcome?.approval;
    break;
  }
}

const { data: redeemed } = await gateway.POST('/v1/elicitations/{elicitationId}/redeem', {
  params: { ...params, header: { 'Idempotency-Key': 'once' } },
  body: {},
});
// @ts-expect-error Only payments and confirmations have a receipt.
void redeemed?.receipt;
if (redeemed?.kind === 'confirmation') console.log(redeemed.receipt.split('.').length);
void mixed;

const refused = await gateway.POST('/v1/elicitations', {
  body: { kind: 'authorization', subject, authorization: { provider: 'elsewhere' } },
});
if (refused.error === undefined) throw new Error('not refused');
console.log(refused.error.code, refused.error.detail);
`;

const ADMIN_PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './admin.ts';

const gateway = createClient<paths>({ baseUrl: process.env.POSTERN_URL ?? '' });
const why = { 'Postern-Reason': 'ticket 7' };
const listed = await gateway.GET('/admin/v1/elicitations', { params: { query: { phase: 'open', limit: 10 } } });
for (const { kind, status, endedAt } of listed.data?.items ?? []) console.log(kind, status, endedAt?.slice(0, 10));
const next: string | undefined = listed.data?.next;
const body = { provider: 'forge' };
const plan = await gateway.POST('/admin/v1/disconnects/plan', { params: { header: why }, body });
const connections: number | undefined = plan.data?.connections;
const job = await gateway.POST('/admin/v1/disconnects', { params: { header: why }, body });
const started: components['schemas']['Job'] | undefined = job.data;
// Members with a default may be absent.
const user = { issuer: 'https://id.example.com', subject: 'alice' };
await gateway.POST('/admin/v1/people/sign-out', { params: { header: why }, body: user });
// @ts-expect-error Who shows a person says why.
await gateway.POST('/admin/v1/people/show', { body: user });
// @ts-expect-error A job has no such status.
void (started?.status === 'lost');
if (job.error?.code === 'insufficient_scope') console.log(job.error.requestId);
void [next, connections];
`;

/** With `module`, so that top-level await is allowed. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    types: ['node'],
    skipLibCheck: true,
    typeRoots: [join(root, 'node_modules/@types')],
  },
  files: ['program.ts'],
};

/** Writes a program beside the generated types. @returns what the type checker says */
async function checked(name: string, types: string, program: string): Promise<string> {
  await writeFile(join(folder, `${name}.ts`), types);
  await writeFile(join(folder, 'program.ts'), program);
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  const { stdout } = await run(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'),
    ...['--pretty', 'false', '-p', folder],
  ]).catch((error: unknown) => z.object({ stdout: z.string() }).parse(error));
  return stdout;
}

test('S178: openapi-typescript: a program of the admin API type-checks', async () => {
  const served = await fetch(`${world.gateways[0]?.adminApi?.address}/admin/v1/openapi.json`);
  const types = astToString(await openapiTS(await served.text()));
  expect(await checked('admin', types, ADMIN_PROGRAM)).toBe('');
});

test('openapi-typescript: a program type-checks, and runs an elicitation', async () => {
  const types = astToString(await openapiTS(JSON.stringify(document)));
  expect(await checked('postern', types, PROGRAM)).toBe('');

  const user = world.subject();
  const running = execFile(process.execPath, [join(folder, 'program.ts')], {
    env: {
      POSTERN_URL: world.gateways[0]?.address,
      POSTERN_API_KEY: keyOf('tracker'),
      ISSUER: world.identityProvider.issuer,
      SUBJECT: user,
    },
  });
  let stdout = '';
  let stderr = '';
  running.stdout?.on('data', text => {
    stdout += text;
  });
  running.stderr?.on('data', text => {
    stderr += text;
  });
  const ended = new Promise(resolve => running.once('close', resolve));
  try {
    await expect.poll(() => stdout.includes('\n') || running.exitCode !== null).toBe(true);
    const [url = ''] = stdout.split('\n');
    expect([url, stderr]).toEqual([expect.stringContaining('/e/'), '']);
    const elicitationId = new URL(url).pathname.replace('/e/', '');
    const raw = await visitorFor(world, user, elicitationId);
    expect((await acceptWith(raw, elicitationId)).status).toBe(303);
    expect([await ended, stderr]).toEqual([0, '']);
  } finally {
    running.kill();
  }
  expect(stdout.trim().split('\n').slice(1)).toEqual(['button', '3', 'provider_not_allowed Allowed providers: forge.']);
});

const PYTHON = '/usr/bin/python3';
const hasPython = existsSync(PYTHON);
const ROUND_TRIP = `
import json, sys
import postern
for name, value in json.load(sys.stdin):
    read = getattr(postern, name).from_dict(value)
    assert read.to_dict() == value, (name, value, read.to_dict())
    print(name, read.kind.value)
`;

test.skipIf(!hasPython)(
  `quicktype: Python types read and write what the gateway does${hasPython ? '' : ' (not here)'}`,
  async () => {
    const schemas = JSON.parse(
      JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', '#/definitions/'),
      // quicktype reads times with another library, and does not write them as they were.
      (name, value: unknown) => (name === 'format' ? undefined : value),
    ) as Record<string, unknown>;
    const input = new JSONSchemaInput(new FetchingJSONSchemaStore());
    for (const name of ['IssueConfirmation', 'Elicitation', 'RedeemedElicitation'])
      await input.addSource({
        name,
        schema: JSON.stringify({ $ref: `#/definitions/${name}`, definitions: schemas }),
      });
    const inputData = new InputData();
    inputData.addInput(input);
    const { lines } = await quicktype({ inputData, lang: 'python' });
    await writeFile(join(folder, 'postern.py'), lines.join('\n'));
    await writeFile(join(folder, 'round_trip.py'), ROUND_TRIP);

    const user = world.subject();
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    const ask = { kind: 'confirmation' as const, subject, confirmation: { title: 'Delete it' } };
    const { elicitationId } = (await world.api.issue(ask)).body;
    const pending = (await world.api.read(elicitationId)).body;
    expect((await acceptWith(await visitorFor(world, user, elicitationId), elicitationId)).status).toBe(303);
    const completed = (await world.api.read(elicitationId)).body;
    const redeemed = (await world.api.redeem(elicitationId)).body;
    const values = [
      ['IssueConfirmation', ask],
      ['Elicitation', pending],
      ['Elicitation', completed],
      ['RedeemedElicitation', redeemed],
    ];
    const running = run(PYTHON, [join(folder, 'round_trip.py')]);
    running.child.stdin?.end(JSON.stringify(values));
    const { stdout } = await running;
    expect(stdout.trim().split('\n')).toEqual(values.map(([name]) => `${name} confirmation`));
    expect(await readFile(join(folder, 'postern.py'), 'utf8')).toContain('class RedeemedElicitation');
  },
);
