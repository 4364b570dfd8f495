import { Readable } from 'node:stream';
import type { Elicitation } from '@postern/elicitation';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problemOf } from '../platform/http/problems.ts';
import { BASE_FORM_LIMITS, deferFormParsing, formLimitsOf, readFormBody } from './page-request.ts';

const app = Fastify();
beforeAll(async () => {
  deferFormParsing(app);
  app.setErrorHandler((error, _request, reply) => reply.code(problemOf(error)?.status ?? 400).send());
  app.post('/', async (request, reply) =>
    reply.send({ form: await readFormBody(request, { controls: 3, bytes: 20 }) }),
  );
  await app.ready();
});
afterAll(() => app.close());

/** Sends a body without Content-Length. */
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

const limitsOf = (request: object) => formLimitsOf({ request } as Elicitation);
const formOf = (properties: object) =>
  limitsOf({ kind: 'form', requestedSchema: { type: 'object', properties }, secretFields: [] });
/** Encodes a form with the longest values of its controls, in the characters that need the most bytes. */
const longest = (typed: readonly (readonly [string, string])[]) =>
  new URLSearchParams([
    ['csrf_token', 'x'.repeat(43)],
    ['shown', 'x'.repeat(43)],
    ...typed.map(([name, value]): [string, string] => [`field.${name}`, value]),
  ]).toString();

describe('S75: the limits of a form', () => {
  it.each(['authorization', 'payment', 'confirmation'])('cover only our own controls for %s', kind => {
    expect(limitsOf({ kind })).toEqual(BASE_FORM_LIMITS);
    expect(longest([]).length).toBeLessThanOrEqual(BASE_FORM_LIMITS.bytes);
  });

  it('admit every valid entry of a credential', () => {
    const fields = Array.from({ length: 8 }, (_, n) => ({ name: `field_${n}`, maxLength: 4096 }));
    const { controls, bytes } = limitsOf({ kind: 'credential', fields });
    expect(controls).toBe(BASE_FORM_LIMITS.controls + 8);
    const sent = longest(fields.map(({ name }) => [name, '中'.repeat(4096)]));
    expect(sent.length).toBeLessThanOrEqual(bytes);
    expect(limitsOf({ kind: 'credential', fields: [{ name: 'key', maxLength: 40 }] }).bytes).toBeLessThan(17 * 1024);
  });

  it('admit every valid entry of a form', () => {
    const { controls, bytes } = formOf({
      text: { type: 'string', maxLength: 100_000 },
      moment: { type: 'string', format: 'date-time' },
      number: { type: 'number' },
      yes: { type: 'boolean' },
      one: { type: 'string', enum: ['中'.repeat(200), 'b'] },
      many: { type: 'array', items: { type: 'string', enum: ['x', '中'.repeat(200)] } },
    });
    const sent = longest([
      ['text', '🔑'.repeat(4096)],
      ['moment', '2026-11-23T00:00:00'],
      ['moment', '+01:00'],
      ['number', '1'.repeat(100)],
      ['yes', 'true'],
      ['one', '中'.repeat(200)],
      ['many', 'x'],
      ['many', '中'.repeat(200)],
    ]);
    // The test form has no passkey ceremony.
    expect(controls).toBe([...new URLSearchParams(sent)].length + 2);
    expect(sent.length).toBeLessThanOrEqual(bytes);
  });
});
