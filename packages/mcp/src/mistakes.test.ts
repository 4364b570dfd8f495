/** What an author sees after a deliberate mistake: an error at once, or a report to `onBackgroundError`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { type ProblemCode, problems } from '@postern/api';
import { describe, expect, test, vi } from 'vitest';
import * as z3 from 'zod/v3';
import { z } from 'zod/v4';
import type { GateContext } from './ask/verbs.ts';
import { runGated } from './gate/create-gate.ts';
import { createEnvironment } from './gate/environment.ts';
import {
  createReceiptVerifier,
  FormContentError,
  type Gate,
  GatewayError,
  PosternUsageError,
  postern,
} from './index.ts';
import { createReporter } from './mistakes.ts';
import type { ToolCall } from './run/tool-call.ts';
import { resolvePrincipal } from './run/tool-call.ts';
import { accept, testGate } from './test-gate/index.ts';
import { accountWorld } from './testing/account-world.ts';
import { exampleCaller } from './testing/example-caller.ts';
import { keys, payment, sign } from './testing/signed-receipts.ts';
import { eras, stdioWorld } from './testing/stdio-world.ts';

const CANARY = 'canary-0123456789-secret';
const alice = { issuer: 'https://id.example', subject: 'alice' };
const good = { url: 'https://postern.example.com', apiKey: 'k'.repeat(32), subject: alice, check: false } as const;
const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
/** As an author in plain JavaScript passes it. */
const js = (value: unknown): never => value as never;

interface Seen {
  readonly thrown: unknown;
  readonly reported: readonly Error[];
}
type Make = (onBackgroundError: (error: Error) => void) => unknown;
/** Name, what the author writes, the code, and the fact that the author must see. */
type Mistake = readonly [name: string, make: Make, code: string, says: RegExp];

async function made(make: Make): Promise<Seen> {
  const reported: Error[] = [];
  try {
    await make(error => reported.push(error));
    return { thrown: undefined, reported };
  } catch (thrown) {
    return { thrown, reported };
  }
}

const call = {
  era: 'legacy-stateless',
  toolName: 'create_issue',
  args: {},
  signal: new AbortController().signal,
  authInfo: undefined,
  mcpClientName: undefined,
  reportProgress: undefined,
} satisfies ToolCall;

/** Runs a handler. Nothing may be sent, unless `fetch` answers for the gateway. */
const run =
  (handler: (gate: GateContext) => unknown, fetch?: typeof globalThis.fetch, options: object = {}): Make =>
  async onBackgroundError => {
    let sent = 0;
    const nothing = async () => {
      sent += 1;
      throw new TypeError('sent');
    };
    const environment = createEnvironment({ ...good, onBackgroundError, fetch: fetch ?? nothing, ...options });
    try {
      await runGated(
        environment,
        call,
        () => resolvePrincipal(alice, call, {}),
        async gate => await handler(gate),
      );
    } finally {
      expect(sent).toBe(0);
    }
  };
const options =
  (changes: object): Make =>
  () =>
    postern({ ...good, ...changes }).close();
const tool =
  (...given: unknown[]): Make =>
  () =>
    Reflect.apply(postern(good).tool, undefined, given);
const endpoint =
  (given: object): Make =>
  () =>
    postern(good).endpoint(() => new McpServer(info), given);
const info = { name: 'issues', version: '1.0.0' };
/** Two runs of one call, and what happens between them. The account of the user is connected. */
const runs =
  (
    handler: (gate: GateContext, run: number) => Promise<unknown>,
    between: 'completed' | 'declined' | undefined = undefined,
  ): Make =>
  async onBackgroundError => {
    await using world = await accountWorld({ onBackgroundError, check: false });
    let run = 0;
    const once = () => world.run(gate => handler(gate, ++run));
    await once();
    if (between !== undefined) world.gateway.end(between);
    await once();
  };
const form = (field: unknown, more: object = {}) => run(gate => gate.form(z.object({ field: js(field) }), js(more)));
const refused = (code: ProblemCode, detail?: string, ask = (gate: GateContext): unknown => gate.authorize('github')) =>
  run(ask, async () => {
    const { status, title } = problems[code];
    return Response.json(
      { type: `urn:postern:problem:${code}`, title, status, code, detail, requestId: 'rq_1' },
      { status },
    );
  });
const terms = { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 100 }, reference: 'A-1' };
const pay = (changes: object) => run(gate => gate.pay({ ...terms, ...changes }));
const confirm = (given: unknown, more?: unknown) => run(gate => gate.confirm(js(given), js(more)));
const field = { name: 'key', label: 'Key' };
const credential = (changes: object) =>
  run(gate => gate.credential({ name: 'acme', title: 'Key', fields: [field], ...changes }));
const card = { issuer: 'https://postern.example.com', mcpServerId: 'bookshop', keys };
const verifier =
  (changes: object): Make =>
  () =>
    createReceiptVerifier({ ...card, ...changes });
const verify =
  (changes: object, expected: object = {}): Make =>
  async () =>
    createReceiptVerifier({ ...card, ...changes }).verify(await sign(payment), expected);
const scripted =
  (script: object, ask: (gate: GateContext) => unknown = gate => gate.confirm('Send it')): Make =>
  async () => {
    const gate = testGate(script);
    await gate.call(gate.tool(async (_args: undefined, ctx) => say(String(await ask(ctx.gate)))));
  };

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info },
};
const modernPing = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/list',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': info,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};
const requests = {
  '2025-11-25': { body: initialize, headers: {} },
  '2026-07-28': { body: modernPing, headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' } },
};
/** Sends one request to an endpoint whose factory is this one. */
const serve =
  (era: keyof typeof requests, create: () => unknown): Make =>
  async onBackgroundError => {
    const mcp = postern({ ...good, onBackgroundError }).endpoint(js(create));
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      host: 'localhost',
      ...requests[era].headers,
    };
    const request = new Request('http://localhost/mcp', {
      method: 'POST',
      headers,
      body: JSON.stringify(requests[era].body),
    });
    // Frameworks show what `fetch` rejects with; a modern MCP client gets 500.
    await mcp.fetch(request, { remoteAddress: '127.0.0.1' }).catch(() => undefined);
    await mcp.close();
  };
const connected = async () => {
  const server = new McpServer(info);
  await server.connect({ start: async () => {}, send: async () => {}, close: async () => {} });
  return server;
};

/** Runs in an empty folder, with these variables, and optionally with this file of a development gateway. */
/** No gateway, not one of this person either. */
const none = { POSTERN_URL: '', POSTERN_API_KEY: '', POSTERN_AUTOSTART: 'off' };
const within =
  (variables: object, file?: string, mode = 0o600): Make =>
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-mistakes-'));
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder);
    for (const [name, value] of Object.entries({ ...none, ...variables })) vi.stubEnv(name, String(value));
    try {
      if (file !== undefined) {
        mkdirSync(join(folder, '.postern'), { mode: 0o700 });
        writeFileSync(join(folder, '.postern', 'mcp-server.json'), file, { mode });
      }
      // An account needs a gateway.
      postern({ check: false }).tool({ accounts: { github: {} } }, () => say(''));
    } finally {
      cwd.mockRestore();
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    }
  };

/** What the check of a gate finds, in a gateway with this answer. */
const check =
  (
    changes: object,
    respond: (path: string) => Promise<Response> | Response = async () =>
      Response.json({ ...(await exampleCaller('http://localhost')), kinds: ['form'] }),
    account?: string,
  ): Make =>
  async onBackgroundError => {
    const gate = postern({
      ...good,
      ...changes,
      onBackgroundError,
      fetch: async input => respond(new URL(String(input)).pathname),
    });
    if (account !== undefined) gate.tool({ accounts: { [account]: {} } }, () => say(''));
    const { faults } = await gate.check();
    gate.close();
    const [fault] = faults;
    if (fault !== undefined) throw Object.assign(new Error(fault.message), { code: fault.code });
  };
const described = async () => Response.json(await exampleCaller('http://localhost'));
const problemAt = (code: ProblemCode) => () => {
  const { status, title } = problems[code];
  return Response.json({ type: `urn:postern:problem:${code}`, title, status, code, requestId: 'rq_1' }, { status });
};

// biome-ignore format: one row for each mistake
const mistakes: readonly Mistake[] = [
  // Options of postern()
  ['a misspelled option', options({ apikey: CANARY }), 'invalid_options', /"apikey".*apiKey/s],
  ['no options but a URL', () => postern(js('https://gate.example')), 'invalid_options', /expected object, received string/],
  ['a URL without a scheme', options({ url: 'gate.example' }), 'invalid_options', /url.*http\(s\)/s],
  ['a URL with a user', options({ url: `https://${CANARY}@gate.example` }), 'invalid_options', /url.*without user/s],
  ['plain http', options({ url: 'http://gate.example' }), 'invalid_options', /url.*https, or set allowHttp/s],
  ['a key with a line break', options({ apiKey: `${CANARY}\n` }), 'invalid_options', /apiKey.*white space.*line break/s],
  ['a key that is too short', options({ apiKey: 'canary' }), 'invalid_options', /apiKey.*16 to 512/s],
  ['a key that is a placeholder', options({ apiKey: '<canary-your-key-goes-here>' }), 'invalid_options', /apiKey.*bearer token/s],
  ['a key and a private key', options({ auth: { privateKey: CANARY, kid: 'a', mcpServerId: 'b' } }), 'invalid_options', /apiKey and auth/],
  ['a private key without state keys', options({ apiKey: undefined, auth: { privateKey: CANARY, kid: 'a', mcpServerId: 'b' } }), 'invalid_options', /stateKeys: needed with auth/],
  ['check: true', options({ check: true }), 'invalid_options', /expected false.*check/s],
  ['a subject that is a text', options({ subject: 'alice' }), 'invalid_options', /"access-token".*object.*function.*subject/s],
  ['a subject without its member', options({ subject: { issuer: 'https://id.example' } }), 'invalid_options', /expected string.*subject\.subject/s],
  ['a subject with `sub`', options({ subject: { iss: 'a', sub: 'b' } }), 'invalid_options', /"iss", "sub".*issuer, subject/s],
  ['a state key that is a text', options({ stateKeys: [{ kid: 'a', key: CANARY }] }), 'invalid_options', /Uint8Array.*stateKeys\[0\]\.key/s],
  ['a state key of 16 bytes', options({ stateKeys: [{ kid: 'a', key: new Uint8Array(16) }] }), 'invalid_options', /stateKeys: a is not 32 bytes/],
  ['seconds instead of milliseconds below zero', options({ holdMs: -45 }), 'invalid_options', /holdMs/],
  ['a decryption key that is a PEM text', options({ decryptionKey: CANARY }), 'invalid_options', /object, or expected array.*decryptionKey/s],
  ['a public decryption key', options({ decryptionKey: { kty: 'OKP', crv: 'X25519', x: CANARY } }), 'invalid_options', /decryptionKey: private JWKs/],
  ['a handler of errors that is no function', options({ onBackgroundError: 'log' }), 'invalid_options', /function.*onBackgroundError/s],

  // The gateway's address and key from the environment
  ['no gateway at all', within({}), 'no_gateway', /POSTERN_URL and POSTERN_API_KEY.*dev/s],
  ['a key without an address', within({ POSTERN_API_KEY: CANARY }), 'invalid_options', /url.*POSTERN_URL/s],
  ['an address without a key', within({ POSTERN_URL: 'https://gate.example' }), 'invalid_options', /POSTERN_API_KEY/],
  ['a broken POSTERN_URL', within({ POSTERN_URL: 'gate.example', POSTERN_API_KEY: CANARY }), 'invalid_options', /POSTERN_URL/],
  ['a file that others may read', within({}, JSON.stringify({ url: 'http://127.0.0.1:1', apiKey: CANARY }), 0o644), 'invalid_options', /mcp-server\.json.*chmod 600/s],
  ['a file of another program', within({}, CANARY), 'invalid_options', /mcp-server\.json: not written by the gateway/],
  ['a file with a gateway elsewhere', within({}, JSON.stringify({ url: 'https://gate.example', apiKey: CANARY })), 'invalid_options', /not on this machine/],

  // What a check finds
  ['a URL that ends in /v1', check({ url: 'https://gate.example/v1' }, problemAt('not_found')), 'not_a_gateway', /url.*without \/v1: https:\/\/gate\.example$/s],
  ['an issuer that differs by a slash', check({ subject: { ...alice, issuer: 'https://id.example/' } }), 'issuer_not_allowed', /"https:\/\/id\.example\/".*Allowed: https:\/\/id\.example, /s],
  ['a kind that is not allowed', check({}, undefined, 'forge'), 'kind_not_allowed', /"authorization".*Allowed: form/s],
  ['a provider that is not allowed', check({}, described, 'bitbucket'), 'provider_not_allowed', /"bitbucket".*Allowed: .*forge/s],
  ['a key of another gateway', check({}, problemAt('unauthenticated')), 'unauthenticated', /credential.*Register/s],
  ['the address of a web page', check({}, () => new Response('<h1>')), 'not_a_gateway', /No Postern gateway.*Check the option url/s],
  ['a private key that is none', check({ apiKey: undefined, auth: { privateKey: CANARY, kid: 'a', mcpServerId: 'b' }, stateKeys: [{ kid: 'a', key: new Uint8Array(32) }] }), 'invalid_options', /auth\.privateKey.*ES256/s],

  // gate.tool()
  ['a misspelled option of a tool', tool({ acounts: {} }, () => say('')), 'invalid_options', /gate\.tool.*"acounts".*accounts/s],
  ['accounts as a list', tool({ accounts: ['github'] }, () => say('')), 'invalid_options', /expected record, received array.*accounts/s],
  ['an account that is true', tool({ accounts: { github: true } }, () => say('')), 'invalid_options', /options of authorize, or \{\}.*accounts\.github/s],
  ['a misspelled option of an account', tool({ accounts: { github: { scope: ['repo'] } } }, () => say('')), 'invalid_ask', /"scope".*scopes/s],
  ['options without a handler', tool({ accounts: {} }), 'invalid_options', /gate\.tool: the last argument must be the handler/],
  ['no handler', tool(undefined), 'invalid_options', /gate\.tool: the last argument must be the handler/],
  ['the handler first', tool(() => say(''), {}), 'invalid_options', /gate\.tool.*expected object, received function/s],
  ['the name as the first argument', tool('create_issue', () => say('')), 'invalid_options', /gate\.tool.*expected object, received string/s],

  // gate.endpoint()
  ['an McpServer instead of a function', () => postern(good).endpoint(js(new McpServer(info))), 'invalid_options', /gate\.endpoint.*function that creates/s],
  ['a misspelled option of the endpoint', endpoint({ allowedOrigin: [] }), 'invalid_options', /"allowedOrigin".*allowedOrigins/s],
  ['an origin with a path', endpoint({ allowedOrigins: ['https://app.example/'] }), 'invalid_options', /an origin such as.*allowedOrigins\[0\]/s],
  ['a host with a port', endpoint({ allowedHosts: ['mcp.example:3000'] }), 'invalid_options', /without a port.*allowedHosts\[0\]/s],
  ['a verifier of tokens that is undefined', endpoint({ auth: { verifyToken: undefined } }), 'invalid_options', /auth\.verifyToken.*function.*leave it out/s],
  ['a verifier of tokens that is none', endpoint({ auth: { verifyToken: 'jwt' } }), 'invalid_options', /function.*auth\.verifyToken/s],
  ['auth that is false', endpoint({ auth: false }), 'invalid_options', /expected true, or expected object.*auth/s],
  ['auth with one fixed user', endpoint({ auth: true }), 'invalid_options', /auth.*each token.*fixed `subject`/s],
  ['an authorization server without https', endpoint({ auth: { authorizationServers: ['http://id.example'] } }), 'invalid_options', /auth\.authorizationServers.*https/s],
  ['one authorization server as a text', endpoint({ auth: { resource: 'https://mcp.example/mcp', authorizationServers: 'https://id.example', verifyToken: () => undefined } }), 'invalid_options', /array.*auth\.authorizationServers/s],
  ['scopes in one text', endpoint({ auth: { resource: 'https://mcp.example/mcp', authorizationServers: ['https://id.example'], scopes: ['a b'], verifyToken: () => undefined } }), 'invalid_options', /one scope, without spaces.*auth\.scopes\[0\]/s],
  ...(['2025-11-25', '2026-07-28'] as const).flatMap((era): Mistake[] => [
    [
      `${era}: a factory that throws`,
      serve(era, () => {
        throw new Error(CANARY);
      }),
      'Error',
      /^gate\.endpoint: .*creates the McpServer.*threw Error.*\n {4}at .*mistakes\.test\.ts/s,
    ],
    [
      `${era}: a factory that returns nothing`,
      serve(era, () => {}),
      'other_sdk_copy',
      /gate\.endpoint.*nothing; does the function return it/s,
    ],
    [
      `${era}: a server of SDK v1`,
      serve(era, () => new McpServerV1(info)),
      'other_sdk_copy',
      /gate\.endpoint.*another SDK or another copy.*@postern\/mcp\/v1.*npm ls/s,
    ],
    [
      `${era}: one server for all connections`,
      serve(era, connected),
      'invalid_options',
      /gate\.endpoint.*serves another connection; return a new one/s,
    ],
  ]),

  // Terms
  ['no title', confirm(undefined), 'invalid_ask', /confirm: .*expected object/s],
  ['an empty title', confirm(''), 'invalid_ask', />=1 characters.*title/s],
  ['a title with a line break', confirm('a\nb'), 'invalid_ask', /control.*not allowed.*title/s],
  ['a long title', confirm('a'.repeat(121)), 'invalid_ask', /at most 120 characters.*title/s],
  ['a title in an unknown language', confirm({ title: { pt: 'a' } }), 'invalid_ask', /"pt".*Allowed: en, de.*title/s],
  ['an unknown danger', confirm({ title: 'a', danger: 'high' }), 'invalid_ask', /"normal"\|"caution"\|"destructive".*danger/s],
  ['an unknown type of fact', confirm({ title: 'a', facts: [{ type: 'url', label: 'b', value: 'c' }] }), 'invalid_ask', /"text", "number".*facts\[0\]\.type/s],
  ['a fact of a number that is a text', confirm({ title: 'a', facts: [{ type: 'number', label: 'b', value: '12' }] }), 'invalid_ask', /expected number.*facts\[0\]\.value/s],
  ['options in the terms', confirm({ title: 'a', ttlSeconds: 60 }), 'invalid_ask', /"ttlSeconds".*title, action, facts, arguments, binding, danger/s],
  ['milliseconds as the time limit', confirm('a', { ttlSeconds: 600_000 }), 'invalid_ask', /<=86400.*ttlSeconds/s],
  ['a locale with an underscore', confirm('a', { locale: 'de_DE' }), 'invalid_ask', /BCP 47.*locale/s],
  ['an amount of 12.50', pay({ amount: { currency: 'EUR', minorUnits: 12.5 } }), 'invalid_ask', /2490 for 24\.90 EUR.*amount\.minorUnits/s],
  ['an amount as a number', pay({ amount: 1250 }), 'invalid_ask', /expected object.*amount/s],
  ['a currency in lower case', pay({ amount: { currency: 'eur', minorUnits: 1 } }), 'invalid_ask', /ISO 4217.*amount\.currency/s],
  ['items that do not add up', pay({ items: [{ label: 'a', unitMinorUnits: 1 }] }), 'invalid_ask', /add up.*items/s],
  ['no reference', pay({ reference: undefined }), 'invalid_ask', /expected string.*reference/s],
  ['a payee as a text', pay({ payee: 'Shop' }), 'invalid_ask', /expected object.*payee/s],
  ['scopes in one text', run(gate => gate.authorize('github', { scopes: js('repo') })), 'invalid_ask', /expected array, received string.*scopes/s],
  ['an account as an object', run(gate => gate.authorize(js({ provider: 'github' }))), 'invalid_ask', /expected string.*provider/s],
  ['a provider in capitals', run(gate => gate.authorize('GitHub')), 'invalid_ask', /lower-case.*provider/s],
  ['no fields', credential({ fields: [] }), 'invalid_ask', />=1 items.*fields/s],
  ['two fields of one name', credential({ fields: [field, field] }), 'invalid_ask', /each name once.*fields/s],
  ['an unknown retention', credential({ retention: 'forever' }), 'invalid_ask', /"once"\|"lasting".*retention/s],
  ['a look-ahead in a credential', credential({ fields: [{ ...field, pattern: '^(?=a).*$' }] }), 'invalid_ask', /RE2 has no look-ahead.*fields\[0\]\.pattern/s],
  ['a refund without options', run(gate => gate.refund('el-1', js(undefined))), 'invalid_ask', /refund: .*expected object/s],
  ['a refund of nothing', run(gate => gate.refund(js(undefined), { reason: 'a' })), 'invalid_ask', /refund: .*expected string.*elicitationId/s],
  ['an id without a name', run(async gate => gate.id(js(undefined))), 'invalid_ask', /id: .*expected string/s],

  // Forms
  ['a JSON Schema', run(gate => gate.form(js({ type: 'object', properties: {} }))), 'invalid_ask', /z\.object.*not a JSON Schema/s],
  ['fields without z.object()', run(gate => gate.form(js({ branch: z.string() }))), 'invalid_ask', /z\.object.*not fields alone/s],
  ['a schema of zod 3', run(gate => gate.form(js(z3.object({ a: z3.string() })))), 'invalid_ask', /import zod\/v4/],
  ['no schema', run(gate => gate.form(js(undefined))), 'invalid_ask', /z\.object/],
  ['a text instead of an object', run(gate => gate.form(js(z.string()))), 'invalid_ask', /expected "object".*type/s],
  ['a look-ahead', form(z.string().regex(/^(?=.*\d)[a-z]+$/)), 'invalid_ask', /RE2 has no look-ahead.*in the description.*properties\.field\.pattern/s],
  ['a back-reference', form(z.string().regex(/^(a)\1$/)), 'invalid_ask', /back-references.*properties\.field\.pattern/s],
  ['a flag', form(z.string().regex(/a/i)), 'invalid_ask', /field\.pattern: a form knows no flags/],
  ['a list of texts', form(z.array(z.string())), 'invalid_ask', /a choice: name its options.*properties\.field\.items/s],
  ['an object in a form', form(z.object({ a: z.string() })), 'invalid_ask', /one of "string", "number".*properties\.field\.type/s],
  ['a date of JavaScript', form(z.date()), 'invalid_ask', /field: a form cannot ask for a date/],
  ['an exclusive limit', form(z.number().gt(3)), 'invalid_ask', /restricted schema.*properties\.field\.exclusiveMinimum/s],
  ['a name with a space', run(gate => gate.form(z.object({ 'first name': z.string() }))), 'invalid_ask', /letters, digits.*properties\["first name"\]/s],
  ['a secret field that does not exist', form(z.string(), { secretFields: ['other'] }), 'invalid_ask', /a string that is typed.*secretFields\[0\]/s],
  ['a secret field as a text', form(z.string(), { secretFields: 'field' }), 'invalid_ask', /expected array, received string.*secretFields/s],
  ['texts of a field that does not exist', form(z.string(), { texts: { other: { title: 'a' } } }), 'invalid_ask', /names no property.*texts\.other/s],
  ['a question that is undefined', run(gate => gate.form.text(js(undefined))), 'invalid_ask', /form: .*expected string.*question/s],
  ['a choice without options', run(gate => gate.form.choice('Which?', js(undefined))), 'invalid_ask', /form\.choice: .*expected array/s],
  ['a rule that the form did not express', () => { throw new FormContentError([{ path: 'branch', code: 'refused' }]); }, 'form_content_invalid', /branch \(refused\)/],

  // Runs
  ['a TypeError in a handler', run(async () => Object(undefined).issue.title), 'TypeError', /^create_issue: Cannot read properties of undefined \(reading 'title'\).*mistakes\.test\.ts/s],
  ['a secret in an error of the language', run(async () => JSON.parse(CANARY)), 'SyntaxError', /^create_issue: threw SyntaxError/],
  ['an error that wraps an error of the language', run(async () => { throw new Error(CANARY, { cause: new RangeError(CANARY) }); }), 'RangeError', /^create_issue: threw RangeError/],
  ['a mistake whose error the handler catches', run(gate => gate.confirm('').catch(String)), 'invalid_ask', /^create_issue: confirm: .*title/s],
  ['the line of the mistake', run(gate => gate.confirm('')), 'invalid_ask', /create_issue.*\n {4}at .*mistakes\.test\.ts/s],
  ['arguments with a function', async report => { await runGated(createEnvironment({ ...good, onBackgroundError: report }), { ...call, args: { a: () => {} } }, () => resolvePrincipal(alice, call, {}), () => say('')); }, 'arguments_not_serializable', /create_issue: A function has no canonical form/],
  ['a subject function that fails', async report => { await runGated(createEnvironment({ ...good, onBackgroundError: report }), call, () => resolvePrincipal(() => Object(undefined).user.id, call, {}), gate => gate.confirm('a')); }, 'TypeError', /^create_issue: Cannot read properties of undefined \(reading 'id'\)/],
  ['no verified user', async report => { await runGated(createEnvironment({ ...good, onBackgroundError: report }), call, () => resolvePrincipal(undefined, call, {}), gate => gate.confirm('a')); }, 'subject_unavailable', /no verified access token/],
  ['a verifier that names no user', async report => { await runGated(createEnvironment({ ...good, onBackgroundError: report }), call, () => resolvePrincipal(undefined, { ...call, authInfo: { token: CANARY, extra: {} } }, {}), gate => gate.confirm('a')); }, 'subject_unavailable', /`iss` and `sub` into authInfo\.extra/],

  ['a title that changes', runs((gate, run) => gate.confirm(`Send it, run ${run}`)), 'terms_changed', /create_issue.*title differs: "Send it, run 1" \/ "Send it, run 2".*ctx\.gate\.id/s],
  ['a reference that changes after the payment', runs((gate, run) => gate.pay({ ...terms, reference: `A-${run}` }), 'completed'), 'terms_changed', /create_issue.*reference differs/s],
  ['an ask whose error is swallowed', runs(async gate => void (await gate.confirm('a').catch(() => undefined))), 'suspension_swallowed', /create_issue: .*may have run.*Await every ask.*isElicitationPending/s],
  ['a refusal that is swallowed', runs(async (gate, run) => (run === 1 ? await gate.confirm('a') : await gate.confirm('a').catch(() => undefined)), 'declined'), 'suspension_swallowed', /create_issue: .*rethrow/s],
  ['a refusal that is taken for a yes', runs(async gate => ((await gate.try.confirm('a')) ? 'deleted' : 'kept'), 'declined'), 'refusal_ignored', /create_issue has returned without reading the refusal.*mistakes\.test\.ts/s],
  ['an ask that is not awaited', runs(async gate => void gate.confirm('a')), 'ask_not_awaited', /create_issue has returned without awaiting.*mistakes\.test\.ts.*may have run/s],
  ['an ask for each item, not awaited', runs(async gate => ['a', 'b'].forEach(async title => void (await gate.confirm(title)))), 'ask_not_awaited', /create_issue has returned without awaiting.*mistakes\.test\.ts/s],
  ['an invalid ask for each item, not awaited', runs(async gate => ['', ''].forEach(async title => void (await gate.confirm(title)))), 'invalid_ask', /create_issue: confirm: .*title.*create_issue has returned without awaiting/s],
  ['a request to another host over http', runs(async gate => (await gate.authorize('github')).fetch('http://api.example')), 'invalid_url', /create_issue: fetch: .*https/s],
  ['a path instead of a URL', runs(async gate => (await gate.authorize('github')).fetch('/repos')), 'invalid_url', /create_issue: fetch: .*only sent to a URL/s],

  // Refusals of the gateway
  ['kind_not_allowed', refused('kind_not_allowed', 'Allowed kinds: form.'), 'kind_not_allowed', /create_issue.*kind "authorization".*Allowed kinds: form/s],
  ['provider_not_allowed', refused('provider_not_allowed', 'Allowed providers: wiki.'), 'provider_not_allowed', /"github".*Allowed providers: wiki/s],
  ['unknown_provider', refused('unknown_provider'), 'unknown_provider', /not configured.*"github"/s],
  ['scope_not_allowed', refused('scope_not_allowed', 'Allowed scopes: read.', gate => gate.authorize('github', { scopes: ['repo'] })), 'scope_not_allowed', /\["repo"\].*Allowed scopes: read/s],
  ['resource_not_allowed', refused('resource_not_allowed', 'Allowed resources: none.', gate => gate.authorize('github', { resource: 'https://api.example' })), 'resource_not_allowed', /"https:\/\/api\.example".*Allowed resources: none/s],
  ['issuer_not_allowed', refused('issuer_not_allowed', 'Allowed issuers: https://id.example/.'), 'issuer_not_allowed', /subject\.issuer "https:\/\/id\.example"\..*Allowed issuers: https:\/\/id\.example\//s],
  ['return_url_not_registered', refused('return_url_not_registered', 'Allowed return URLs: https://app.example.'), 'return_url_not_registered', /Allowed return URLs: https:\/\/app\.example/],
  ['processor_not_allowed', refused('processor_not_allowed', 'Allowed processors: stripe.', gate => gate.pay({ ...terms, processor: 'none' })), 'processor_not_allowed', /"none".*stripe/s],
  ['currency_not_allowed', refused('currency_not_allowed', 'Allowed currencies: USD.', gate => gate.pay(terms)), 'currency_not_allowed', /"EUR".*USD/s],
  ['amount_over_limit', refused('amount_over_limit', 'Allowed amounts in minor units: EUR up to 50.', gate => gate.pay(terms)), 'amount_over_limit', /minorUnits 100.*EUR up to 50/s],
  ['payee_not_registered', refused('payee_not_registered', 'Allowed payees: Book Shop.', gate => gate.pay(terms)), 'payee_not_registered', /"Shop".*Book Shop/s],
  ['invalid_request', refused('invalid_request', 'body.form.pattern: not a pattern of RE2'), 'invalid_request', /body\.form\.pattern: not a pattern/],
  ['unauthenticated', refused('unauthenticated'), 'unauthenticated', /valid credential/],
  ['expected_account_unsupported', refused('expected_account_unsupported'), 'expected_account_unsupported', /"github"/],
  ['confusable_name', refused('confusable_name', 'body.payment.payee.name'), 'confusable_name', /payee\.name/],

  // Receipts
  ['a misspelled option of the verifier', verifier({ mcpServerID: 'a' }), 'invalid_options', /"mcpServerID".*mcpServerId/s],
  ['no issuer', verifier({ issuer: '' }), 'invalid_options', />=1 characters.*issuer/s],
  ['no keys in the set', verifier({ keys: { keys: [] } }), 'invalid_options', /keys: a JWK set with public Ed25519 keys/],
  ['keys over plain http', verifier({ keys: 'http://gate.example/jwks' }), 'invalid_options', /keys: an https URL/],
  ['an issuer of the receipt that differs by a slash', verify({ issuer: 'https://postern.example.com/' }), 'wrong_issuer', /issuer is "https:\/\/postern\.example\.com\/"; the receipt differs in the slash/],
  ['the id of another MCP server', verify({ mcpServerId: 'shop' }), 'wrong_audience', /mcpServerId is "shop"/],
  ['a misspelled expectation', verify({}, { amout: { currency: 'EUR', minorUnits: 1 } }), 'invalid_options', /verify: .*"amout".*amount/s],
  ['an unknown method', verify({}, { minimumMethod: 'totp' }), 'invalid_options', /"button"\|"passkey".*minimumMethod/s],

  // The test gate
  ['a misspelled verb in a script', scripted({ confrim: accept() }), 'invalid_options', /testGate: .*"confrim".*confirm/s],
  ['an ask without a script', scripted({}), 'invalid_ask', /testGate: the script has no confirm/],
  ['an outcome that is a text', scripted({ confirm: 'yes' }), 'invalid_options', /function.*confirm/s],
  ['an unknown status', scripted({ confirm: { status: 'done' } }), 'invalid_options', /"completed".*"declined".*confirm\.status/s],
  ['an answer of another kind', scripted({ confirm: accept({ token: CANARY }) }), 'invalid_options', /accept\(\) for a confirmation: .*"token".*receipt/s],
  ['a request without a script', scripted({ authorize: { github: accept() } }, async gate => (await gate.authorize('github')).fetch('https://api.example')), 'invalid_options', /script `fetch`/],
];

describe('S222: the author of a mistake sees what is wrong', () => {
  test('with at least 80 mistakes', () => {
    expect(mistakes.length).toBeGreaterThanOrEqual(80);
  });

  test.each(mistakes)('%s', async (_name, make, code, says) => {
    const { thrown, reported } = await made(make);
    expect(reported[0] ?? thrown).toMatchObject({ code });
    const text = reported.map(({ stack }) => stack?.replace(/^ProgrammingError: /, '')).join('\n') || String(thrown);
    expect(text).toMatch(says);
    expect(text).not.toMatch(/canary|\[object Object\]|Cannot destructure|✖ Invalid input$/m);
  });
});

describe('S222: reports', () => {
  const mistake = (text = 'confirm: no title') => new PosternUsageError('invalid_ask', text);

  test('come once per tool, kind and minute', () => {
    let now = 0;
    const reported: Error[] = [];
    const { reportMistake } = createReporter(
      error => reported.push(error),
      () => now,
    );
    const report = (text?: string, where = 'create_issue') => {
      reportMistake(mistake(text), where);
      return reported.splice(0).length;
    };
    expect([report(), report(), report('confirm: no action'), report(undefined, 'delete_issue')]).toEqual([1, 0, 1, 1]);
    // Numbers and quoted values are no other kind.
    expect([report('differs: "a" / 1'), report('differs: "b" / 2')]).toEqual([1, 0]);
    now = 59_999;
    expect(report()).toBe(0);
    now = 60_000;
    expect(report()).toBe(1);
  });

  test('are at most 100 per minute, whatever their kinds', () => {
    let count = 0;
    const { reportMistake } = createReporter(
      () => (count += 1),
      () => 0,
    );
    for (let n = 0; n < 200; n += 1) reportMistake(mistake(`${'x'.repeat(n)}`), 'create_issue');
    expect(count).toBe(100);
  });

  test('leave out failures of other things, and answers of users and processors', async () => {
    const failures: unknown[] = [
      new Error('no such issue'),
      new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }),
      new GatewayError('muted', 'The user muted this MCP server.', { httpStatus: 403 }),
      new GatewayError('unavailable', 'Temporarily unavailable.', { httpStatus: 503 }),
      new GatewayError('refund_exceeds_payment', 'Too much.', { httpStatus: 422 }),
      'a text',
    ];
    for (const failure of failures) expect((await made(run(() => Promise.reject(failure)))).reported).toEqual([]);
  });

  test('have no message of another error, not in the stack either, and no values of the handler', async () => {
    const changed = new TypeError(CANARY);
    changed.message = 'shorter';
    for (const error of [new TypeError(`${CANARY}\n    at ${CANARY} (a:1:1)`), new RangeError(''), changed]) {
      const { reported } = await made(run(() => Promise.reject(error)));
      expect(reported).toHaveLength(1);
      expect(inspect(reported[0], { depth: 9 })).not.toContain('canary');
    }
  });

  test('go to the standard error by default, and survive a receiver that throws', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    createReporter().reportMistake(mistake(), 'create_issue');
    createReporter(() => Promise.reject(new Error(CANARY))).reportMistake(mistake(), 'create_issue');
    createReporter(() => {
      throw new RangeError(CANARY);
    }).reportMistake(mistake(), 'create_issue');
    await new Promise(resolve => setImmediate(resolve));
    const lines = printed.mock.calls.map(String);
    printed.mockRestore();
    expect(lines[0]).toMatch(
      /^ProgrammingError: create_issue: confirm: no title \(invalid_ask\)\n {4}at .*mistakes\.test\.ts/,
    );
    expect(lines.slice(1).sort()).toEqual([
      'TypeError: onBackgroundError has thrown Error.',
      'TypeError: onBackgroundError has thrown RangeError.',
    ]);
  });

  test.each(eras)(
    '%s: a tool, a prompt and a resource that fail are reported, and the MCP client sees what it saw',
    async era => {
      const reported: Error[] = [];
      const fail = () => Object(undefined).issue.title;
      const offer = (server: McpServer, gate: Gate) => {
        server.registerTool('create_issue', {}, gate.tool({ name: 'create_issue' }, fail));
        server.registerPrompt('review', {}, gate.prompt(fail));
        server.registerResource('issues', 'issue://all', {}, gate.resource(fail));
      };
      await using world = await stdioWorld({
        era,
        offer,
        offerV1: (server, gate) => offer(js(server), js(gate)),
        options: { onBackgroundError: error => void reported.push(error) },
      });
      const message = "Cannot read properties of undefined (reading 'title')";
      expect(await world.client.callTool({ name: 'create_issue' })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: message }],
      });
      await expect(world.client.getPrompt({ name: 'review' })).rejects.toThrow(message);
      await expect(world.client.readResource({ uri: 'issue://all' })).rejects.toThrow(message);
      const where = ['create_issue', 'A prompt', 'A resource'];
      expect(reported).toMatchObject(where.map(name => ({ name: 'ProgrammingError', where: name, code: 'TypeError' })));
    },
  );
});
