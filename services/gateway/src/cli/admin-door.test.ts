import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminOperation, adminOperations } from '@postern/api/admin';
import { anyAnswers, startAnsweringMachine, whole } from '@postern/testkit/any-answer';
import { listenHttp } from '@postern/testkit/providers';
import { isShortRun } from '@postern/testkit/run-size';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../testing/run-command.ts';
import { throughUrl } from './admin-door.ts';
import { commandTable } from './run-cli.ts';

let folder: string;
let config: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-door-'));
  config = join(folder, 'postern.config.yaml');
  writeFileSync(config, "adminApi: { host: 0.0.0.0, port: 1 }\nvault: { keys: '${env:ELSEWHERE}' }\n");
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.restoreAllMocks());

const add = ['api-keys', 'add', 'tracker', 'second', '--reason', 'ticket 10'];

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCommand([...args, '-c', config], { env: { POSTERN_ADMIN_TOKEN: 'pa_secret', ...env } });

/** The short run has some answers of each sort: `anyAnswers` lists them by sort. */
const answersWith = (canary: string) =>
  Object.entries(anyAnswers(canary)).filter((_, nth) => !isShortRun || nth % 6 === 0);

describe('S218: postern api-keys through the admin API', () => {
  it.each([
    ['http://gate.example:8091', 0],
    ['ftp://127.0.0.1/', 0],
    ['nonsense', 0],
    [undefined, 1],
    ['https://127.0.0.1:1', 1],
  ])('sends its credential over https, or to this machine: %s', async (url, requests) => {
    const sent = vi.spyOn(globalThis, 'fetch');
    const { code, err } = await run(add, url === undefined ? {} : { POSTERN_ADMIN_URL: url });
    expect({ code, requests: sent.mock.calls.length }).toEqual({ code: 1, requests });
    expect(err).not.toContain('pa_secret');
  });

  it('ends with a sentence, whatever answers', async () => {
    const canary = 'secret-of-another-program';
    await using machine = await startAnsweringMachine();
    const url = { POSTERN_ADMIN_URL: `http://127.0.0.1:${machine.port}` };
    for (const [name, damage] of answersWith(canary)) {
      using order = machine.answer(() => true, damage);
      const { code, out, err } = await run(add, url);
      expect({ name, code, out, isAsked: order.count > 0 }).toEqual({ name, code: 1, out: '', isAsked: true });
      expect(err).not.toMatch(/pa_secret|ZodError|\n +at /);
    }
  });

  it('ends with a sentence, whatever answers when it asks which operations there are', async () => {
    await using machine = await startAnsweringMachine();
    const isAboutOperations = ({ path }: { readonly path: string }) => path === '/admin/v1/openapi.json';
    using _unknown = machine.answer(
      request => !isAboutOperations(request),
      () => whole(404, '{}'),
    );
    const args = ['passkeys', 'reset', 'https://id.example', 'alice', '--reason', 'lost key'];
    for (const [name, damage] of answersWith('secret-of-another-program')) {
      using order = machine.answer(isAboutOperations, damage);
      const { code, out, err } = await run([...args, '--url', `http://127.0.0.1:${machine.port}`]);
      expect({ name, code, out, isAsked: order.count > 0 }).toEqual({ name, code: 1, out: '', isAsked: true });
      expect(err).not.toMatch(/pa_secret|ZodError|no passkey|\n +at /);
    }
  });

  it('follows no redirect, and shows no secret of another program', async () => {
    const seen: string[] = [];
    const stranger = await listenHttp((request, response) => {
      seen.push(request.url ?? '');
      response.writeHead(302, { location: '/elsewhere' }).end('a secret page');
    });
    const { code, out, err } = await run(add, { POSTERN_ADMIN_URL: `http://127.0.0.1:${stranger.port}` });
    await stranger.close();
    expect({ code, out, seen }).toEqual({ code: 1, out: '', seen: ['/admin/v1/api-keys'] });
    expect(err).not.toMatch(/secret/);
  });

  it('does not take an address without the operation for an answer about a person', async () => {
    const other = await listenHttp((_, response) =>
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}'),
    );
    for (const command of ['people erase', 'passkeys reset']) {
      const args = [...command.split(' '), 'https://id.example', 'alice', '--reason', 'lost key'];
      const { code, out, err } = await run([...args, '--url', `http://127.0.0.1:${other.port}`]);
      expect({ command, code, out }).toEqual({ command, code: 1, out: '' });
      expect(err).toContain('is no admin API with POST');
    }
    await other.close();
  });

  it.each([
    ['--by, which the credential says', [...add, '--by', 'olga']],
    [
      '--key-file, which only the store can answer',
      ['api-keys', 'revoke', '--key-file', import.meta.filename, '--reason', 'leaked'],
    ],
    ['a reason that no header holds', [...add.slice(0, -1), 'Schlüssel verloren']],
  ])('refuses %s', async (_, args) => {
    const sent = vi.spyOn(globalThis, 'fetch');
    expect((await run(args)).code).toBe(2);
    expect(sent).not.toHaveBeenCalled();
  });
});

/** A return to the beginning of the line, a window title, a clear screen of 8 bits and a right-to-left override. */
const HOSTILE = '\r\u001b]0;owned\u0007\u009b2J\u202ez';
const control = /[^\P{C}\n]|[\u2028\u2029]/u;

/** A value that fits a schema: every optional member is there, and every free text is hostile. */
function hostileOf(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional) return hostileOf(schema.unwrap());
  if (schema instanceof z.ZodArray) return [hostileOf(schema.element)];
  if (schema instanceof z.ZodUnion) return hostileOf(schema.options[0]);
  if (schema instanceof z.ZodEnum) return schema.options.at(-1);
  if (schema instanceof z.ZodISODateTime) return '2026-11-23T10:00:00Z';
  if (schema instanceof z.ZodNumber) return 1;
  if (schema instanceof z.ZodBoolean) return true;
  if (schema instanceof z.ZodRecord) return { [HOSTILE]: HOSTILE };
  if (schema instanceof z.ZodObject)
    return Object.fromEntries(Object.entries(schema.shape).map(([name, member]) => [name, hostileOf(member)]));
  return HOSTILE;
}

type Changes = Readonly<Record<string, object>>;

/** Starts an admin API whose every text is hostile. `changes` are members of the answers, by operation. */
async function startHostile(changes: Changes = {}) {
  const asked: string[] = [];
  const table: readonly (readonly [string, AdminOperation])[] = Object.entries(adminOperations);
  const listener = await listenHttp((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const [id, operation] =
      table.find(
        ([, of]) => of.method === request.method && new RegExp(`^${of.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
      ) ?? [];
    asked.push(id ?? path);
    const answer = z.looseObject({}).parse(hostileOf(operation?.output));
    response.end(JSON.stringify({ ...answer, ...changes[id ?? ''] }));
  });
  return { asked, port: listener.port, [Symbol.asyncDispose]: () => listener.close() };
}

const why = ['--reason', 'ticket 10'];
const elicitationId = `el_00${'A'.repeat(43)}`;
/** The arguments of each command that has `--url`, and what the answers have for the path of the command that prints most. */
const calls: Readonly<Record<string, readonly (readonly [args: readonly string[], changes?: Changes])[]>> = {
  'api-keys list': [[[]]],
  'api-keys add': [[['tracker', 'second', ...why]]],
  'api-keys revoke': [[['ak_1', ...why]], [['ak_1', '--dry-run', ...why]]],
  find: [[['order-1']]],
  'people show': [[['https://id.example', 'olga']]],
  'people sign-out': [[['https://id.example', 'olga', ...why]]],
  'people export': [[['https://id.example', 'olga', ...why]]],
  'people erase': [[['https://id.example', 'olga', ...why]], [['https://id.example', 'olga', '--dry-run', ...why]]],
  'passkeys reset': [[['https://id.example', 'olga', ...why]], [['https://id.example', 'olga', '--dry-run', ...why]]],
  'people disconnect': [[['https://id.example', 'olga', ...why]]],
  replicas: [[[]]],
  audit: [[[]]],
  'elicitations show': [[[elicitationId]]],
  'providers disconnect': [[['github', ...why]], [['github', '--dry-run', ...why]]],
  'mcp-servers disconnect': [[['tracker', ...why]]],
  'jobs list': [[[]]],
  'jobs show': [[['job_1']]],
  'jobs cancel': [[['job_1', ...why]], [['job_1', ...why], { getJob: { endedAt: undefined } }]],
  'elicitations cancel': [
    [[elicitationId, ...why]],
    [[elicitationId, ...why], { cancelElicitation: { result: 'cancelled' } }],
  ],
  'payments show': [[[elicitationId]]],
  'payments refund': [
    [[elicitationId, ...why]],
    [[elicitationId, '--dry-run', ...why]],
    [[elicitationId, '--dry-run', ...why], { planRefund: { refusal: undefined } }],
  ],
  'webhooks list': [[[]]],
  'webhooks dead': [[[]]],
  'webhooks retrying': [[[]]],
  'webhooks redeliver': [[['--all', ...why]], [['--all', '--dry-run', ...why]]],
  'webhooks enable': [[['operator/1', ...why]]],
};
/** Commands whose texts have nothing of the answer but numbers and names of the protocol. */
const ownWords = ['people sign-out', 'people erase', 'elicitations cancel'];

describe('a gateway that is not trusted', () => {
  it('is asked by every command with --url', () => {
    const remote = commandTable.filter(({ options }) => options?.url === throughUrl.url).map(({ name }) => name);
    expect(Object.keys(calls).toSorted()).toEqual(remote.toSorted());
  });

  it.each(Object.entries(calls))('sends no control characters to the terminal: postern %s', async (name, each) => {
    let shown = '';
    for (const [args, changes] of each) {
      await using gateway = await startHostile(changes);
      const call = [...name.split(' '), ...args, '--url', `http://127.0.0.1:${gateway.port}`];
      const text = await run(call);
      const { out, err, code } = await run([...call, '--json']);
      expect([text.code, code], text.err).not.toContain(2);
      expect(gateway.asked.length).toBeGreaterThan(0);
      shown += `${text.out}${text.err}`;
      for (const printed of [text.out, text.err, out, err]) expect(printed).not.toMatch(control);
      // Escaped, a document has the texts as the gateway sent them.
      if (out !== '') expect(textsIn(JSON.parse(out)).includes(HOSTILE)).toBe(out.includes('owned'));
    }
    expect(shown.includes('owned\\u0007\\u009b2J')).toBe(!ownWords.includes(name));
  });

  it.each(Object.entries(calls))('nor in a refusal: postern %s', async (name, [[args] = [[]]]) => {
    const problem = { type: HOSTILE, title: HOSTILE, status: 409, code: 'already_ended', requestId: HOSTILE };
    for (const body of [problem, { ...problem, detail: HOSTILE }, { ...problem, code: HOSTILE }]) {
      await using gateway = await listenHttp((_, response) => response.writeHead(409).end(JSON.stringify(body)));
      const { code, out, err } = await run([...name.split(' '), ...args, '--url', `http://127.0.0.1:${gateway.port}`]);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toContain(' refused (');
      expect(err).not.toMatch(control);
    }
  });

  it('that does not know the operation has not said that there are no API keys', async () => {
    await using gateway = await listenHttp((_, response) => response.writeHead(404).end());
    const { code, out, err } = await run(['api-keys', 'list', '--url', `http://127.0.0.1:${gateway.port}`]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('is no admin API with GET /admin/v1/api-keys');
  });
});

const textsIn = (value: unknown): readonly unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [value];
