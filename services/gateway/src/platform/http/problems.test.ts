import { type ProblemCode, problems } from '@postern/api';
import { DomainError, domainErrorCodes, TooManyElicitationsError } from '@postern/elicitation';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { ProblemError, problemOf } from './problems.ts';

describe('problems', () => {
  it.each(domainErrorCodes)('map the domain error %s to the status in the contract', code => {
    const problem = problemOf(new DomainError(code, 'SECRET'));
    expect(problem?.status).toBe(problems[problem?.code as ProblemCode].status);
    expect(JSON.stringify(problem)).not.toContain('SECRET');
  });

  it('keep the code of the domain error, except for failures of the store', () => {
    const renamed = domainErrorCodes.filter(code => problemOf(new DomainError(code, ''))?.code !== code);
    expect(renamed).toEqual(['store_unavailable', 'unknown_record_layout', 'contention']);
    for (const code of renamed)
      expect(problemOf(new DomainError(code, ''))).toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
  });

  it.each(Object.keys(problems) as ProblemCode[])('keep the code and details of %s', code => {
    const errors = [{ path: 'body.kind', message: 'm' }];
    expect(problemOf(new ProblemError(code, { retryAfterMs: 5, errors }))).toEqual({
      code,
      status: problems[code].status,
      retryAfterMs: 5,
      errors,
    });
  });

  it('contain a retry delay for too many elicitations', () => {
    expect(problemOf(new TooManyElicitationsError(1500))).toMatchObject({ status: 429, retryAfterMs: 1500 });
  });

  it.each([
    new Error('x'),
    new TypeError('x'),
    'text',
    undefined,
    null,
    Object.assign(new Error('x'), { code: 'FST_ERR_DUPLICATED_ROUTE' }),
  ])('do not exist for unexpected errors: %s', error => {
    expect(problemOf(error)).toBeUndefined();
  });

  it.each<[string, { type?: string; body?: string }, ProblemCode]>([
    ['an overlong body', { type: 'application/json', body: `"${'x'.repeat(2048)}"` }, 'payload_too_large'],
    ['an unknown content type', { type: 'application/xml', body: '<a/>' }, 'unsupported_media_type'],
    ['broken JSON', { type: 'application/json', body: '{' }, 'invalid_request'],
    ['an empty JSON body', { type: 'application/json', body: '' }, 'invalid_request'],
    ['a __proto__ member', { type: 'application/json', body: '{"__proto__":{}}' }, 'invalid_request'],
    ['a constructor member', { type: 'application/json', body: '{"constructor":{"prototype":{}}}' }, 'invalid_request'],
  ])('exist for requests that fastify refuses: %s', async (_, { type = '', body = '' }, code) => {
    const app = Fastify({ bodyLimit: 1024 });
    app.post('/', async () => 'ok');
    app.setErrorHandler((error, _request, reply) => reply.code(200).send(problemOf(error) ?? {}));
    const answer = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload: body });
    expect(answer.json()).toMatchObject({ code });
    await app.close();
  });
});
