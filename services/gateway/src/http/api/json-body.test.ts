import fc from 'fast-check';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJsonParser } from './json-body.ts';

let app: FastifyInstance;
beforeAll(() => {
  app = Fastify();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, createJsonParser(app));
  app.post('/', async request => ({ body: request.body }));
  app.setErrorHandler((error, _request, reply) =>
    reply.code(400).send({ code: error instanceof Error && 'code' in error ? error.code : 'unknown' }),
  );
});
afterAll(() => app.close());
const post = (payload: string, type = 'application/json') =>
  app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload });

describe('S44: JSON bodies', () => {
  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"a":2}',
    '{"b":{"a":1,"a":2}}',
    '[{"a":[{"x":1,"x":{"y":2}}]}]',
    '{"a":1,"\\u0061":2}',
    '{"a:":1,"b":2,"a:":3}',
    '{"a":{"b":1},"a":"::"}',
  ])('with a name twice are refused: %s', async json => {
    const answer = await post(json);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ code: 'invalid_request' });
  });

  it.each(['{"a":1', '', '{"__proto__":1}', '{"constructor":{"prototype":1}}', "{'a':1}", '{"a":1,}', '\u0000'])(
    'that are not acceptable JSON are refused: %j',
    async json => {
      expect((await post(json)).statusCode).toBe(400);
    },
  );

  it('are refused under another type', async () => {
    expect((await post('{"a":1}', 'text/plain')).json()).toEqual({ code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' });
  });

  it('of every other kind arrive as they are', async () => {
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

  it('may be nested deeply', async () => {
    const depth = 20_000;
    expect((await post(`${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`)).statusCode).not.toBe(500);
  });
});
