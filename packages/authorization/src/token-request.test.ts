import { describe, expect, it } from 'vitest';
import { AuthorizationError } from './authorization-error.ts';
import { parseUniqueJson } from './foreign-document.ts';
import { tokenResponseConfigSchema } from './provider-config.ts';
import { parseTokenResponse, validateTokenResponse } from './token-request.ts';

type Input = Parameters<typeof tokenResponseConfigSchema.parse>[0];
const read = (body: unknown, config?: Input, p: { status?: number; contentType?: string } = {}) =>
  parseTokenResponse(
    {
      status: p.status ?? 200,
      contentType: p.contentType ?? 'application/json',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    },
    config === undefined ? undefined : tokenResponseConfigSchema.parse(config),
  );
const form = 'application/x-www-form-urlencoded; charset=utf-8';

describe('parseTokenResponse', () => {
  it('returns the members of a standard response unchanged', () => {
    const answer = { access_token: 'a', token_type: 'Bearer', expires_in: '1' };
    expect(read(answer)).toMatchObject({ kind: 'tokens', members: answer });
  });

  it.each([
    ['a configured form', 'form', 'text/plain', 'access_token=a&expires_in=60', '60'],
    ['a form by its content type', 'auto', form, 'access_token=a&expires_in=60', '60'],
    ['JSON by its content type', 'auto', 'application/json', '{"access_token":"a","expires_in":60}', 60],
    ['JSON that is labelled as a form', 'auto', form, '{"access_token":"a","expires_in":60}', 60],
  ] as const)('%s', (_, format, contentType, body, expires_in) => {
    const answer = read(body, { format }, { contentType });
    expect(answer).toMatchObject({ kind: 'tokens', members: { access_token: 'a', expires_in } });
  });

  it('rejects a form-encoded response if the format is json, or the content type is another', () => {
    expect(read('access_token=a&token_type=bearer', { format: 'json' }, { contentType: form })).toBeUndefined();
    expect(read('access_token=a&token_type=bearer')).toBeUndefined();
  });

  it('reads members only from their configured paths', () => {
    const members = { accessToken: 'authed_user.access_token', scope: 'authed_user.scope' };
    const answer = { access_token: 'of the bot', authed_user: { access_token: 'a', scope: ['b', 'c'] } };
    expect(read(answer, { members })).toMatchObject({ members: { access_token: 'a', scope: ['b', 'c'] } });
    expect(read({ access_token: 'of the bot' }, { members })).toMatchObject({ members: { access_token: undefined } });
    expect(read({ authed_user: 'x' }, { members: { accessToken: 'authed_user.length' } })).toMatchObject({
      members: { access_token: undefined },
    });
  });

  it.each([['a token type', { tokenType: 'bearer' }, { token_type: 'user' }, { token_type: 'bearer' }]] as const)(
    'assumes %s',
    (_, config, answer, members) => {
      expect(read(answer, config)).toMatchObject({ members });
    },
  );

  it.each([
    ['an error with 200', {}, { error: 'bad_refresh_token' }, 'bad_refresh_token'],
    ['an error next to tokens', {}, { error: 'x', access_token: 'a' }, 'x'],
    ['an error at a configured path', { errorMember: 'meta.code' }, { meta: { code: 'x' } }, 'x'],
    [
      'a failed success check',
      { success: { member: 'ok', equals: true } },
      { ok: false, error: 'x', access_token: 'a' },
      'x',
    ],
    ['a missing success member', { success: { member: 'ok', equals: true } }, { access_token: 'a' }, ''],
    ['a success member of another type', { success: { member: 'ok', equals: true } }, { ok: 'true' }, ''],
  ] as const)('%s', (_, config, answer, code) => {
    expect(read(answer, config)).toEqual({ kind: 'error', code });
  });

  it('rejects an error code in a 200 unless token responses are configured', () => {
    expect(read({ error: 'invalid_grant' })).toBeUndefined();
    expect(read({ error: 'invalid_grant' }, undefined, { status: 400 })).toEqual({
      kind: 'error',
      code: 'invalid_grant',
    });
  });

  it.each(['a=1&a=2', '<html>', '[]', 'null', '"x"', ''])('N3: rejects %j as a response', body => {
    expect(read(body)).toBeUndefined();
    expect(read(body, {}, { status: 400 })).toBeUndefined();
  });

  it('N3: rejects duplicate names in JSON and in a form', () => {
    expect(read('access_token=a&access_token=b', { format: 'form' })).toBeUndefined();
    expect(read('{"access_token":"a","access_token":"b"}')).toBeUndefined();
  });
});

it('S191: takes a missing token type for bearer, never for DPoP', () => {
  for (const token_type of [undefined, null, '']) {
    expect(() => validateTokenResponse({ access_token: 'a', token_type }, 'bearer')).not.toThrow();
    expect(() => validateTokenResponse({ access_token: 'a', token_type }, 'dpop')).toThrow(AuthorizationError);
  }
});

it.each([
  [{}, 60],
  [{ expires_in: null }, 60],
  [{ expires_in: 0 }, 60],
  [{ expires_in: '5' }, 5],
])('assumes the configured lifetime for %j only if the response names none', (answer, expires_in) => {
  const validated = validateTokenResponse({ access_token: 'a', ...answer }, 'bearer', { lifetimeSeconds: 60 });
  expect(validated).toMatchObject({ expires_in });
});

it.each(['access_token', 'refresh_token', 'id_token'])('N3: rejects an %s that is too long to store', name => {
  const answer = (length: number) => ({ access_token: 'a', token_type: 'bearer', [name]: 'x'.repeat(length) });
  expect(validateTokenResponse(answer(65_536), 'bearer')).toMatchObject({ token_type: 'bearer' });
  expect(() => validateTokenResponse(answer(65_537), 'bearer')).toThrow(AuthorizationError);
});

describe('parseUniqueJson', () => {
  it.each([
    '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}',
    '{"a:b":"c:d","e\\":":"\\\\","f":"{\\"g\\":1}"}',
    '{"__proto__":{"x":1},"constructor":2,"1":3}',
    '[]',
    '"a:b"',
    ' { "a" : [ ] } ',
  ])('accepts %s', json => {
    expect(parseUniqueJson(json)).toEqual(JSON.parse(json));
  });

  it.each([
    '{"a":1,"a":1}',
    '{"a":{"b":1,"c":2,"b":3}}',
    '[{"a":1,"a":2}]',
    '{"a":1,"\\u0061":2}',
    '{"a":{"b":1},"a":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"a":1',
  ])('refuses %s', json => {
    expect(() => parseUniqueJson(json)).toThrow(SyntaxError);
  });

  it('handles very deep and very wide objects', () => {
    const depth = 50_000;
    expect(() => parseUniqueJson(`${'['.repeat(depth)}${']'.repeat(depth)}`)).not.toThrow();
    expect(parseUniqueJson(`[${'0,'.repeat(300_000)}0]`)).toHaveLength(300_001);
  });
});
