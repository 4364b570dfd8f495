import { Readable } from 'node:stream';
import Fastify from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { problemOf } from '../problem-of.ts';
import { leaveFormsUnread, readFormBody } from './form-body.ts';

const app = Fastify();
beforeAll(async () => {
  leaveFormsUnread(app);
  app.setErrorHandler((error, _request, reply) => reply.code(problemOf(error)?.status ?? 400).send());
  app.post('/', async (request, reply) =>
    reply.send({ form: await readFormBody(request, { controls: 3, bytes: 20 }) }),
  );
  await app.ready();
});
afterAll(() => app.close());

/** With a body of unknown length. */
async function post(body: string) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'transfer-encoding': 'chunked' };
  const answer = await app.inject({ method: 'POST', url: '/', headers, payload: Readable.from([Buffer.from(body)]) });
  return answer.statusCode === 200 ? answer.json().form : answer.statusCode;
}

it.each([
  ['', {}],
  ['a=1&b=%C3%A4+b&c', { a: '1', b: 'ä b', c: '' }],
  ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
  ['__proto__=x', JSON.parse('{"__proto__":"x"}')],
])('reads %j', async (body, form) => {
  expect(await post(body)).toEqual(form);
});

it('S75: refuses more bytes and more controls than the form has', async () => {
  expect(await post('a'.repeat(20))).toEqual({ [`${'a'.repeat(20)}`]: '' });
  expect(await post('a'.repeat(21))).toBe(413);
  expect(await post('a&b&c&d')).toBe(400);
  expect(await post('&&&')).toBe(400);
});
