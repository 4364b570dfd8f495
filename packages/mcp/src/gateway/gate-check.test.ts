import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CallerBody, CONTRACT_REVISION, type ProblemCode, problems } from '@postern/api';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createEnvironment } from '../gate/environment.ts';
import { GateCheckError, postern } from '../index.ts';
import { ContractGateway } from '../testing/contract-gateway.ts';
import { exampleCaller } from '../testing/example-caller.ts';

type Options = Omit<NonNullable<Parameters<typeof postern>[0]>, 'url' | 'apiKey'>;

const apiKey = 'canary-api-key-0123456789abcdef';
const PATIENCE = { timeout: 100_000 };

/** A server at the address of the gateway. */
async function serverThat(answer: RequestListener) {
  let asked = 0;
  const httpServer = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  });
  await new Promise<void>(done => httpServer.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      httpServer.closeAllConnections();
      await new Promise(done => httpServer.close(done));
    },
  };
}

const caller = await exampleCaller('http://localhost');
const json = (response: ServerResponse, body: unknown, headers = {}) =>
  void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const describing =
  (changes: Partial<CallerBody>, headers = {}): RequestListener =>
  (_, response) =>
    json(response, { ...caller, ...changes }, headers);
const refusing =
  (code: ProblemCode, detail?: string): RequestListener =>
  (_, response) => {
    const { status, title } = problems[code];
    response.writeHead(status, { 'content-type': 'application/problem+json' });
    response.end(
      JSON.stringify({ type: `urn:postern:problem:${code}`, title, status, code, detail, requestId: 'rq_1' }),
    );
  };

/** Checks once, without a background check. */
async function checked(answer: RequestListener, options: Options = {}) {
  await using server = await serverThat(answer);
  return await checkedAt(server.url, options);
}
async function checkedAt(url: string, options: Options = {}) {
  // A check that only the explicit call makes: the gate is closed before its background check begins.
  const gate = postern({ url, apiKey, onBackgroundError: () => undefined, ...options });
  gate.close();
  const report = await gate.check();
  expect(JSON.stringify(report)).not.toContain('canary');
  return report.faults.map(({ code }) => code);
}

const at = (ms: number) => ({ date: new Date(Date.now() + ms).toUTCString() });
const page: RequestListener = (_, response) =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works</h1>');

describe('a check finds', () => {
  test.each<[string, RequestListener, readonly string[]]>([
    ['nothing wrong', describing({}), []],
    ['a page instead of a gateway', page, ['not_a_gateway']],
    ['JSON of another service', (_, response) => json(response, { ok: true }), ['not_a_gateway']],
    ['a 404 of another server', (_, response) => void response.writeHead(404).end('none'), ['not_a_gateway']],
    ['a 401 of a proxy', (_, response) => void response.writeHead(401).end('log in'), ['not_a_gateway']],
    ['a redirect', (_, response) => void response.writeHead(301, { location: '/' }).end(), ['not_a_gateway']],
    ['an endless response', (_, response) => void response.end('x'.repeat(5_000_000)), ['not_a_gateway']],
    ['a proxy without a gateway', (_, response) => void response.writeHead(502).end(), ['unavailable']],
    ['a wrong or expired credential', refusing('unauthenticated'), ['unauthenticated']],
    ['a gateway without this call', refusing('not_found'), ['gateway_outdated']],
    ['an overloaded gateway', refusing('overloaded'), ['unavailable']],
    [
      'an older gateway',
      describing({ gateway: { ...caller.gateway, contract: CONTRACT_REVISION - 1 } }),
      ['gateway_outdated'],
    ],
    ['a newer gateway, which is no fault', describing({ gateway: { ...caller.gateway, contract: 1e6 } }), []],
    ['a clock that is ahead', describing({}, at(-3_600_000)), ['clock_skew']],
    ['a clock that is behind', describing({}, at(3_600_000)), ['clock_skew']],
    ['a small difference of clocks, which is no fault', describing({}, at(5_000)), []],
    [
      'a wrong clock, although the credential is refused too',
      skewed(refusing('unauthenticated')),
      ['unauthenticated', 'clock_skew'],
    ],
  ])('%s', async (_, answer, codes) => {
    expect(await checked(answer)).toEqual(codes);
  });

  function skewed(answer: RequestListener): RequestListener {
    return (request, response) => {
      response.setHeader('date', at(3_600_000).date);
      answer(request, response);
    };
  }

  test('a server that never responds', async () => {
    expect(await checked(() => {}, { gatewayTimeoutMs: 20 })).toEqual(['timeout']);
  });

  test('a port where nothing listens, and a name that does not resolve', async () => {
    await using server = await serverThat(() => {});
    const { url } = server;
    await server[Symbol.asyncDispose]();
    expect(await checkedAt(url)).toEqual(['unreachable']);
    expect(await checkedAt('https://gate.invalid')).toEqual(['unreachable']);
  });

  test('kinds and providers that a later call would be refused, as declared or already asked', async () => {
    await using server = await serverThat(describing({ kinds: ['form'] }));
    const gate = postern({ url: server.url, apiKey, check: false });
    gate.tool({ accounts: { forge: {}, canary: {} } }, () => ({ content: [] }));
    const { faults } = await gate.check();
    expect(faults.map(({ code }) => code)).toEqual(['kind_not_allowed', 'provider_not_allowed']);
    expect(faults[1]?.message).toMatch(/forge, wiki/);
    const { gateCheck } = createEnvironment({ url: server.url, apiKey });
    gateCheck.expect('payment');
    expect((await gateCheck.run()).faults).toMatchObject([
      { code: 'kind_not_allowed', message: expect.stringContaining('payment') },
    ]);
  });

  test('a decryption key that is not the registered one', async () => {
    const keys = await Promise.all(
      [1, 2].map(async () =>
        exportJWK((await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true })).privateKey),
      ),
    );
    const [own, other] = keys;
    const encryption = (await exampleCaller('http://localhost', own)).encryption;
    const options = { decryptionKey: own ?? {} };
    expect(await checked(describing({ ...(encryption && { encryption }) }), options)).toEqual([]);
    expect(await checked(describing({}), options)).toEqual(['encryption_key_mismatch']);
    expect(await checked(describing({ ...(encryption && { encryption }) }), { decryptionKey: other ?? {} })).toEqual([
      'encryption_key_mismatch',
    ]);
    expect(await checked(describing({ ...(encryption && { encryption: { ...encryption, required: true } }) }))).toEqual(
      ['encryption_key_mismatch'],
    );
  });
});

test('a check finds providers that a handler declares and the gateway does not allow', async () => {
  await using server = await serverThat(describing({}));
  const gate = postern({ url: server.url, apiKey, onBackgroundError: () => undefined });
  gate.tool({ accounts: { forge: {}, elsewhere: {} } }, () => ({ content: [] }));
  const { faults } = await gate.check();
  expect(faults).toMatchObject([{ code: 'provider_not_allowed', message: expect.stringContaining('elsewhere') }]);
});

test('the error of a call says that the URL must not end in /v1', async () => {
  await using server = await serverThat(refusing('not_found'));
  const messageAt = async (path: string) =>
    await createEnvironment({ url: `${server.url}${path}`, apiKey })
      .client.read('el_1', 0)
      .catch((error: unknown) => (error instanceof Error ? error.message : error));
  expect(await messageAt('')).toBe(problems.not_found.title);
  for (const path of ['/v1', '/v1/']) expect(await messageAt(path)).toContain('without /v1');
});

test('the error of a refused provider names the allowed ones, and that of an issuer no URL', async () => {
  let code: ProblemCode = 'provider_not_allowed';
  await using server = await serverThat((request, response) =>
    refusing(code, 'Allowed: forge, wiki.')(request, response),
  );
  const { client } = createEnvironment({ url: server.url, apiKey });
  const subject = { issuer: 'https://id.example', subject: 'alice' };
  const ask = () => client.issue({ kind: 'authorization', subject, authorization: { provider: 'canary' } });
  await expect(ask()).rejects.toMatchObject({ code, message: expect.stringContaining('forge, wiki') });
  code = 'issuer_not_allowed';
  await expect(ask()).rejects.toMatchObject({ code, message: problems.issuer_not_allowed.title });
});

describe('the background check', () => {
  let gateway: ContractGateway;
  beforeAll(async () => {
    gateway = await ContractGateway.start();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  test('reports all faults in one error, without the credential', async () => {
    const errors: Error[] = [];
    await using server = await serverThat(refusing('unauthenticated'));
    postern({ url: server.url, apiKey, onBackgroundError: error => errors.push(error) });
    await vi.waitFor(() => expect(errors).toHaveLength(1), PATIENCE);
    expect(errors[0]).toBeInstanceOf(GateCheckError);
    expect(errors[0]?.message).not.toContain('canary');
    expect(server.asked()).toBe(1);
  });

  test('asks again while the gateway is still starting, and then reports nothing', async () => {
    const errors: Error[] = [];
    let isUp = false;
    await using server = await serverThat((request, response) => {
      if (isUp) return describing({})(request, response);
      isUp = true;
      response.writeHead(503).end();
    });
    postern({ url: server.url, apiKey, onBackgroundError: error => errors.push(error) });
    await vi.waitFor(() => expect(server.asked()).toBe(2), PATIENCE);
    expect(errors).toEqual([]);
  });

  test('keeps no process alive that has nothing else to do', async () => {
    await using server = await serverThat(() => {});
    const options = JSON.stringify({ url: server.url, apiKey, gatewayTimeoutMs: 600_000 });
    const code = `import { postern } from ${JSON.stringify(import.meta.resolve('../index.ts'))};
      postern(${options});
      // The request has left when the standard input ends.
      for await (const _ of process.stdin);`;
    const child = execFile(process.execPath, ['--input-type=module', '-e', code]);
    const ended = once(child, 'exit');
    await vi.waitFor(() => expect(server.asked()).toBe(1), PATIENCE);
    child.stdin?.end();
    expect((await ended)[0]).toBe(0);
  });

  test('is off with `check: false`, and ends with the gate', async () => {
    await using server = await serverThat(describing({}));
    const off = postern({ url: server.url, apiKey, check: false });
    postern({ url: server.url, apiKey }).close();
    // The explicit check is the only request.
    expect((await off.check()).faults).toEqual([]);
    expect(server.asked()).toBe(1);
  });

  test('survives an `onBackgroundError` that throws', async () => {
    const warned = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await using server = await serverThat(page);
    postern({
      url: server.url,
      apiKey,
      onBackgroundError() {
        throw new TypeError('canary');
      },
    });
    const lines = () => warned.mock.calls.map(String);
    await vi.waitFor(() => expect(lines()).toContain('TypeError: onBackgroundError has thrown TypeError.'), PATIENCE);
    expect(lines().join()).not.toContain('canary');
    warned.mockRestore();
  });

  test('the explicit check rejects with the reason of its signal', async () => {
    await using server = await serverThat(() => {});
    const gate = postern({ url: server.url, apiKey, check: false });
    const stop = new AbortController();
    const asking = gate.check(stop.signal);
    stop.abort(new RangeError('enough'));
    await expect(asking).rejects.toThrow(RangeError);
  });
});
