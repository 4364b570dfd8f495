import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOutboundFetch } from '@postern/authorization';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CredentialCheckConfig, credentialCheckSchema } from '../platform/config/mcp-server-config.ts';
import { createCredentialCheck, fieldsSentBy } from './credential-check.ts';

const seen: { method: string | undefined; url: string | undefined; headers: IncomingMessage['headers'] }[] = [];
let answer: { status: number; location?: string } | 'nothing' = { status: 204 };
const api = createServer((request, response) => {
  seen.push({ method: request.method, url: request.url, headers: request.headers });
  if (answer === 'nothing') request.socket.destroy();
  else response.writeHead(answer.status, { ...(answer.location && { location: answer.location }) }).end();
});
const fetch = createOutboundFetch({ allowLoopback: true, timeoutMs: 1_000 });
const check = createCredentialCheck({ fetch });
let url: string;

beforeAll(async () => {
  await new Promise<void>(done => api.listen(0, '127.0.0.1', done));
  url = `http://localhost:${(api.address() as AddressInfo).port}/whoami`;
});
afterAll(async () => {
  await fetch.close();
  await new Promise(done => api.close(done));
});
beforeEach(() => {
  answer = { status: 204 };
  seen.length = 0;
});

const configured = (way: Partial<CredentialCheckConfig>) => credentialCheckSchema.parse({ url, ...way });

describe('the request of a check', () => {
  test.each([
    [{ bearer: 'key' }, { key: 'ak_1' }, { authorization: 'Bearer ak_1' }],
    [
      { basic: { username: 'user', password: 'word' } },
      { user: 'ann', word: 'pä:ss' },
      { authorization: `Basic ${Buffer.from('ann:pä:ss').toString('base64')}` },
    ],
    [{ header: { name: 'X-Api-Key', field: 'key' } }, { key: 'ak 1' }, { 'x-api-key': 'ak 1' }],
  ])('sends the header of %j', async (way, values, headers) => {
    expect(await check(configured(way), values)).toBe('accepted');
    expect(seen).toMatchObject([{ method: 'GET', url: '/whoami', headers }]);
    expect(fieldsSentBy(configured(way))).toEqual(Object.keys(values));
  });

  test.each(['POST', 'HEAD'] as const)('uses the configured method %s', async method => {
    expect(await check(configured({ bearer: 'key', method }), { key: 'ak_1' })).toBe('accepted');
    expect(seen).toMatchObject([{ method }]);
  });

  test.each(['a\nx: y', 'a\r\nx: y', 'schlüssel', '\u0000', '', ' a', 'a '])(
    'is not sent for %j, which is not allowed in a header',
    async key => {
      expect(await check(configured({ bearer: 'key' }), { key })).toBe('rejected');
      expect(await check(configured({ header: { name: 'X-Api-Key', field: 'key' } }), { key })).toBe('rejected');
      expect(seen).toEqual([]);
    },
  );

  test('the request of a check is not sent for a username with a colon', async () => {
    const basic = { username: 'user', password: 'word' };
    expect(await check(configured({ basic }), { user: 'ann:a', word: 'b' })).toBe('rejected');
    expect(seen).toEqual([]);
  });

  test('the request of a check is not sent if a field is missing', async () => {
    const basic = { username: 'user', password: 'constructor' };
    expect(await check(configured({ basic }), { user: 'ann' })).toBe('unavailable');
    expect(await check(configured({ bearer: 'toString' }), { key: 'ak_1' })).toBe('unavailable');
    expect(seen).toEqual([]);
  });
});

describe('the result of a check', () => {
  test.each([
    [200, 'accepted'],
    [401, 'rejected'],
    [403, 'rejected'],
    [202, 'unavailable'],
    [404, 'unavailable'],
    [429, 'unavailable'],
    [500, 'unavailable'],
  ])('the result of a check for status %i is %s', async (status, result) => {
    answer = { status };
    expect(await check(configured({ bearer: 'key' }), { key: 'ak_1' })).toBe(result);
  });

  test('the result of a check is unavailable after a redirect, which is not followed', async () => {
    answer = { status: 302, location: url };
    expect(await check(configured({ bearer: 'key' }), { key: 'ak_1' })).toBe('unavailable');
    expect(seen).toHaveLength(1);
  });

  test('the result of a check is unavailable if the connection breaks or the address is forbidden', async () => {
    answer = 'nothing';
    expect(await check(configured({ bearer: 'key' }), { key: 'ak_1' })).toBe('unavailable');
    const inside = { ...configured({ bearer: 'key' }), url: 'https://169.254.169.254/' };
    expect(await check(inside, { key: 'ak_1' })).toBe('unavailable');
  });
});
