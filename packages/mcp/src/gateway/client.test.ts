import type { ServerResponse } from 'node:http';
import { generateKeyPair, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../errors.ts';
import { API_KEY, ContractGateway, problem } from '../testing/contract-gateway.ts';
import type { GatewayRequestOptions } from './client.ts';
import { apiKeyAuthorizer, createGatewayClient, createGatewayTransport, privateKeyAuthorizer } from './client.ts';

const ask = {
  kind: 'authorization',
  subject: { issuer: 'https://idp.example.com', subject: 'alice' },
  authorization: { provider: 'github' },
} as const;

async function world(options: Partial<GatewayRequestOptions> = {}, authorize = apiKeyAuthorizer(API_KEY)) {
  const gateway = await ContractGateway.start();
  const pauses: number[] = [];
  const client = createGatewayClient({
    transport: createGatewayTransport(gateway.url, authorize, undefined),
    random: () => 0.5,
    sleep: ms => Promise.resolve(pauses.push(ms)),
    ...options,
  });
  return { gateway, client, pauses, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

const code = async (call: Promise<unknown>) =>
  await call.then(
    () => 'answered',
    (error: unknown) => (error instanceof GatewayError ? error.code : error),
  );

describe('retries', () => {
  test('a lost response is requested again under the same key', async () => {
    await using w = await world();
    w.gateway.failNext(response => response.destroy());
    const elicitation = await w.client.issue(ask);
    expect(elicitation.status).toBe('pending');
    const keys = w.gateway.requests.map(request => request.idempotencyKey);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('two issues have two keys', async () => {
    await using w = await world();
    await w.client.issue(ask);
    await w.client.issue(ask);
    expect(new Set(w.gateway.requests.map(request => request.idempotencyKey)).size).toBe(2);
  });

  test('a 503 is retried after its Retry-After', async () => {
    await using w = await world();
    w.gateway.failNext(response => problem(response, 'unavailable', { 'retry-after': '2' }));
    expect((await w.client.issue(ask)).status).toBe('pending');
    expect(w.pauses).toEqual([2_100]);
  });

  test('retries are limited, with growing pauses', async () => {
    await using w = await world();
    w.gateway.failNext(
      ...Array.from({ length: 9 }, () => (response: ServerResponse) => problem(response, 'unavailable')),
    );
    expect(await code(w.client.issue(ask))).toBe('unavailable');
    expect(w.gateway.requests).toHaveLength(3);
    expect(w.pauses).toEqual([100, 200]);
  });

  test('a Retry-After longer than a user waits is an error', async () => {
    await using w = await world();
    w.gateway.failNext(response => problem(response, 'rate_limited', { 'retry-after': '60' }));
    expect(await code(w.client.issue(ask))).toBe('rate_limited');
    expect(w.pauses).toEqual([]);
  });

  test.each([
    'unauthenticated',
    'invalid_request',
    'too_many_elicitations',
    'too_many_open_elicitations',
    'muted',
    'quota_exceeded',
    'internal_error',
  ] as const)('%s is not retried', async refused => {
    await using w = await world();
    w.gateway.failNext(response => problem(response, refused));
    expect(await code(w.client.issue(ask))).toBe(refused);
    expect(w.gateway.requests).toHaveLength(1);
  });

  test('retries upstream_unavailable, except where the gateway has already backed off', async () => {
    await using w = await world();
    w.gateway.failNext(response => problem(response, 'upstream_unavailable'));
    expect((await w.client.issue(ask)).status).toBe('pending');
    w.gateway.failNext(response => problem(response, 'upstream_unavailable', { 'retry-after': '1' }));
    expect(await code(w.client.accessToken('co-1', {}))).toBe('upstream_unavailable');
    expect(w.gateway.requests).toHaveLength(3);
  });

  test('a pause ends with the reason of the signal', async () => {
    const abort = new AbortController();
    await using w = await world({
      sleep: (_ms, signal) => {
        abort.abort(new Error('enough'));
        return Promise.reject(signal?.aborted === true ? new Error('aborted') : new Error('not aborted'));
      },
    });
    w.gateway.failNext(response => problem(response, 'unavailable'));
    await expect(w.client.issue(ask, abort.signal)).rejects.toThrow('enough');
  });
});

describe('refusals', () => {
  test('errors contain the code, the status and the request id, and no credential', async () => {
    await using w = await world({}, apiKeyAuthorizer('wrong-key-0123456789'));
    const error = await w.client.issue(ask).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'unauthenticated', httpStatus: 401, requestId: 'req-1' });
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('wrong-key');
  });

  test('an unreachable gateway is a network error without the request in it', async () => {
    const w = await world();
    await w[Symbol.asyncDispose]();
    const error = await w.client.issue(ask).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'network_error', cause: { message: 'ECONNREFUSED' } });
  });

  test.each([
    ['no JSON', 'hello'],
    ['another shape', '{"elicitationId":"el-1"}'],
  ])('%s is an invalid response', async (_name, text) => {
    await using w = await world();
    w.gateway.failNext(response => response.writeHead(200).end(text));
    expect(await code(w.client.issue(ask))).toBe('invalid_response');
  });

  test('a URL other than http or https is an invalid_response', async () => {
    await using w = await world();
    const elicitation = await w.client.issue(ask);
    w.gateway.failNext(response =>
      response.writeHead(200).end(JSON.stringify({ ...elicitation, url: 'javascript:alert(1)' })),
    );
    expect(await code(w.client.read('el-1', 0))).toBe('invalid_response');
  });

  test('does not follow a redirect', async () => {
    await using w = await world({ maxAttempts: 1 });
    w.gateway.failNext(response => response.writeHead(307, { location: `${w.gateway.url}/elsewhere` }).end());
    expect(await code(w.client.issue(ask))).toBe('network_error');
    expect(w.gateway.requests).toHaveLength(1);
  });

  test('a gateway that does not respond is a timeout', async () => {
    await using w = await world({ timeoutMs: 1 });
    w.gateway.failNext(() => undefined);
    expect(await code(w.client.issue(ask))).toBe('timeout');
  });
});

test('the signal of the caller ends a waiting read', async () => {
  await using w = await world();
  await w.client.issue(ask);
  const abort = new AbortController();
  const reading = w.client.read('el-1', 45, abort.signal);
  await w.gateway.untilWaiting();
  abort.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
  await w.gateway.untilIdle();
});

describe('a private key', () => {
  test('signs a short-lived token for only this gateway, a new one for each call', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const now = () => 1_800_000_000_000;
    const authorize = privateKeyAuthorizer(
      { privateKey, kid: 'k1', mcpServerId: 'issues' },
      'https://postern.example.com',
      now,
    );
    const [one, other] = [await authorize(), await authorize()];
    expect(one).not.toBe(other);
    const { payload, protectedHeader } = await jwtVerify(one.replace('Bearer ', ''), publicKey, {
      issuer: 'issues',
      subject: 'issues',
      audience: 'https://postern.example.com',
      currentDate: new Date(now()),
    });
    expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: 'k1' });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60);
  });
});
