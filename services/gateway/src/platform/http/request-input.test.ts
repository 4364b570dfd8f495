import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { issueElicitationSchema } from '@postern/api';
import fc from 'fast-check';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ProblemError } from './problems.ts';
import { addJsonParser, parse, readBody } from './request-input.ts';

function refusalOf(schema: z.ZodType, value: unknown): ProblemError {
  try {
    parse(schema, value, 'body');
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('parse', () => {
  it('returns the validated value', () => {
    expect(parse(z.strictObject({ a: z.string().trim() }), { a: ' x ' }, 'body')).toEqual({ a: 'x' });
  });

  it('S84: names unknown fields', () => {
    const { errors } = refusalOf(z.strictObject({ a: z.strictObject({}) }), { a: { Subject: 1, ttl: 2 }, 'x\n': 3 });
    expect(errors).toEqual([
      { path: 'body.a', message: 'unknown fields: "Subject", "ttl"' },
      { path: 'body', message: 'unknown fields: "x\\n"' },
    ]);
  });

  it('names each error by its path, never by its value', () => {
    const refusal = refusalOf(issueElicitationSchema, {
      kind: 'authorization',
      member: 'SECRET',
      subject: { issuer: 'SECRET\n', subject: 5 },
      ttlSeconds: 1,
      returnUrl: 'SECRET',
      authorization: { provider: 'SECRET', scopes: ['ok', 'SECRET scope'], name: 'SECRET' },
    });
    expect(refusal.code).toBe('invalid_request');
    expect(JSON.stringify(refusal.errors)).not.toContain('SECRET');
    expect(refusal.errors?.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['body', 'body.ttlSeconds', 'body.authorization.scopes.1']),
    );
  });

  it('limits the number and length of errors', () => {
    const items = z.array(z.strictObject({ a: z.number() }));
    const refusal = refusalOf(
      items,
      Array.from({ length: 1000 }, () => ({ a: 'x', ['n'.repeat(5000)]: 1 })),
    );
    expect(refusal.errors?.length).toBe(20);
    expect(JSON.stringify(refusal.errors).length).toBeLessThan(10_000);
  });
});

let app: FastifyInstance;
beforeAll(() => {
  app = Fastify();
  app.removeAllContentTypeParsers();
  addJsonParser(app);
  app.post('/', async request => ({ body: request.body }));
  app.setErrorHandler((error, _request, reply) =>
    reply.code(400).send({ code: error instanceof Error && 'code' in error ? error.code : 'unknown' }),
  );
});
afterAll(() => app.close());
const post = (payload: string, type = 'application/json') =>
  app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload });

describe('S44: a JSON body', () => {
  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"a":2}',
    '{"b":{"a":1,"a":2}}',
    '[{"a":[{"x":1,"x":{"y":2}}]}]',
    '{"a":1,"\\u0061":2}',
    '{"a:":1,"b":2,"a:":3}',
    '{"a":{"b":1},"a":"::"}',
  ])('with a duplicate name is refused: %s', async json => {
    const answer = await post(json);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ code: 'invalid_request' });
  });

  it.each(['{"a":1', '', '{"__proto__":1}', '{"constructor":{"prototype":1}}', "{'a':1}", '{"a":1,}', '\u0000'])(
    'that is invalid JSON is refused: %j',
    async json => {
      expect((await post(json)).statusCode).toBe(400);
    },
  );

  it('a JSON body is refused under another content type', async () => {
    expect((await post('{"a":1}', 'text/plain')).json()).toEqual({ code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' });
  });

  it('arrives unchanged if it is valid', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async value => {
        const text = JSON.stringify(value);
        fc.pre(!/__proto__|constructor/.test(text));
        const answer = await post(text);
        expect(answer.statusCode).toBe(200);
        expect(answer.json()).toEqual({ body: JSON.parse(text) });
      }),
      { numRuns: 300 },
    );
  });

  it('a JSON body may be nested deeply', async () => {
    const depth = 20_000;
    expect((await post(`${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`)).statusCode).not.toBe(500);
  });
});

let server: Server;
let client: Socket;
let raw: IncomingMessage;
beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  [raw] = await once(server, 'request');
});
afterEach(() => {
  client.destroy();
  server.close();
});

const read = (limit?: number) =>
  readBody({ raw, headers: raw.headers, routeOptions: { bodyLimit: 5 } } as never, limit);

it('S232: copies the pieces of a body and keeps none', async () => {
  const pieces: Buffer[] = [];
  raw.on('data', piece => pieces.push(piece));
  const body = read();
  raw.on('data', piece => piece.fill('x'));
  client.write('1\r\na\r\n2\r\nbc\r\n2\r\nde\r\n0\r\n\r\n');
  expect(String(await body)).toBe('abcde');
  expect(String(Buffer.concat(pieces))).toBe('xxxxx');
});

it('refuses a body that is longer than the limit of the route, or than a lower one', async () => {
  const body = read(4);
  client.write('4\r\nabcd\r\n1\r\ne\r\n');
  await expect(body).rejects.toMatchObject({ code: 'payload_too_large' });
  expect(() =>
    readBody({ raw, headers: { 'content-length': '6' }, routeOptions: { bodyLimit: 5 } } as never),
  ).toThrow();
});

it('ends with the connection, also one that has ended before', async () => {
  const body = read();
  const ended = expect(body).rejects.toThrow();
  client.destroy();
  await ended;
  await expect(read()).rejects.toThrow();
});
