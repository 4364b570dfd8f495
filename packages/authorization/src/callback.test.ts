import { describe, expect, it } from 'vitest';
import { validateCallback } from './callback.ts';
import { canaries, failureCodeOf, failureOf } from './testing/failure-of.ts';

const redirectUri = new URL('https://postern.example/callback/issues/tracker');
const issuer = 'https://as.example';
const { state, code, description } = canaries;

/** A callback with these parameters, in this order. */
function callback(parameters: [string, string][] | Record<string, string>, path = redirectUri.pathname): URL {
  const url = new URL(path, redirectUri);
  url.search = new URLSearchParams(parameters).toString();
  return url;
}

const check = (callbackUrl: URL, issuerKnown: { expectedIssuer?: string | undefined; issRequired?: boolean } = {}) =>
  validateCallback({ callbackUrl, redirectUri, state, expectedIssuer: issuer, issRequired: true, ...issuerKnown });

describe('validateCallback', () => {
  it('returns the code of a response that belongs to this transaction', () => {
    expect(check(callback({ code, state, iss: issuer }))).toEqual({ code });
  });

  it('accepts unknown parameters', () => {
    expect(check(callback({ code, state, iss: issuer, session_state: 'x', scope: 'repo' }))).toEqual({ code });
  });

  it('S196: returns the additional parameters that the operator named, and nothing else', () => {
    const kept = (parameters: Record<string, string>, ...callbackMembers: string[]) =>
      validateCallback({
        callbackUrl: callback({ code, state, iss: issuer, ...parameters }),
        redirectUri,
        state,
        expectedIssuer: issuer,
        issRequired: true,
        callbackMembers,
      });
    expect(kept({ realmId: '91303', other: 'x' }, 'realmId')).toEqual({ code, callbackMembers: { realmId: '91303' } });
    expect(kept({ other: 'x' }, 'realmId', 'constructor')).toEqual({ code });
    for (const value of ['', 'a b', 'a\n', 'ü', 'x'.repeat(201)])
      expect(kept({ realmId: value }, 'realmId')).toEqual({ code });
  });

  it.each([
    ['no parameters', {}],
    ['no state', { code, iss: issuer }],
    ['no code and no error', { state, iss: issuer }],
    ['an empty code', { code: '', state, iss: issuer }],
    ['a code with control characters', { code: 'a\r\nb', state, iss: issuer }],
    ['a code of 10,000 characters', { code: 'a'.repeat(10_000), state, iss: issuer }],
    ['both code and error', { code, error: 'access_denied', state, iss: issuer }],
    ['an empty error', { error: '', state, iss: issuer }],
    ['a JARM response', { response: 'e30.e30.', code, state, iss: issuer }],
    ['an implicit response', { access_token: canaries.accessToken, code, state, iss: issuer }],
    ['a hybrid response', { id_token: 'e30.e30.', code, state, iss: issuer }],
  ])('refuses a callback with %s', async (_, parameters) => {
    expect(await failureCodeOf(() => check(callback(parameters as Record<string, string>)))).toBe('invalid_callback');
  });

  it.each(['code', 'state', 'iss', 'error', 'anything'])('refuses a repeated %s parameter', async name => {
    const parameters = Object.entries({ code, state, iss: issuer, [name]: 'x' });
    const url = callback([...parameters, [name, 'x']]);
    expect(await failureCodeOf(() => check(url))).toBe('invalid_callback');
  });

  it('S16: refuses the callback path of another MCP server or provider', async () => {
    const url = callback({ code, state, iss: issuer }, '/callback/other/tracker');
    expect(await failureCodeOf(() => check(url))).toBe('invalid_callback');
  });

  it('S16: refuses a callback at another origin', async () => {
    const url = new URL(callback({ code, state, iss: issuer }).href.replace('postern.example', 'evil.example'));
    expect(await failureCodeOf(() => check(url))).toBe('invalid_callback');
  });

  it.each(['', 'other', `${state} `, state.toUpperCase()])('T5: refuses state "%s"', async wrong => {
    expect(await failureCodeOf(() => check(callback({ code, state: wrong, iss: issuer })))).toBe('state_mismatch');
    const denied = callback({ error: 'access_denied', state: wrong, iss: issuer });
    expect(await failureCodeOf(() => check(denied))).toBe('state_mismatch');
  });
});

describe('S15: iss (RFC 9207)', () => {
  const wrongIssuers = {
    'another issuer': 'https://other.example',
    'trailing slash': `${issuer}/`,
    'another case': 'https://AS.example',
    'default port': `${issuer}:443`,
    empty: '',
  };

  it.each(Object.entries(wrongIssuers))(
    'N5: refuses a wrong iss, whether or not it is required: %s',
    async (_, iss) => {
      for (const issRequired of [true, false]) {
        expect(await failureCodeOf(() => check(callback({ code, state, iss }), { issRequired }))).toBe(
          'issuer_mismatch',
        );
      }
    },
  );

  it.each(Object.entries(wrongIssuers))(
    'N5: exposes nothing of an error response with a wrong iss: %s',
    async (_, iss) => {
      const response = { error: 'access_denied', error_description: description, state, iss };
      const error = await failureOf(() => check(callback(response)));
      expect(error).toMatchObject({ code: 'issuer_mismatch', retryable: false });
      expect(error.providerError).toBeUndefined();
    },
  );

  it('N5: refuses a response without iss if it is required, on success and on error', async () => {
    expect(await failureCodeOf(() => check(callback({ code, state })))).toBe('issuer_mismatch');
    expect(await failureCodeOf(() => check(callback({ error: 'access_denied', state })))).toBe('issuer_mismatch');
  });

  it('accepts a response without iss if it is not required', () => {
    expect(check(callback({ code, state }), { issRequired: false })).toEqual({ code });
  });

  it('accepts the expected iss if it is not required', async () => {
    expect(check(callback({ code, state, iss: issuer }), { issRequired: false })).toEqual({ code });
  });

  it('ignores iss if no issuer is expected', () => {
    const url = callback({ code, state, iss: 'https://as.example' });
    expect(check(url, { expectedIssuer: undefined, issRequired: false })).toEqual({ code });
  });
});

describe('errors of the provider', () => {
  it.each([
    ['access_denied', { code: 'access_denied', retryable: false, providerError: 'access_denied' }],
    ['server_error', { code: 'provider_unavailable', retryable: true, providerError: 'server_error' }],
    ['temporarily_unavailable', { code: 'provider_unavailable', retryable: true }],
    ['login_required', { code: 'provider_error', retryable: true, providerError: 'login_required' }],
    ['invalid_scope', { code: 'provider_error', retryable: false, providerError: 'invalid_scope' }],
    ['unauthorized_client', { code: 'provider_error', retryable: false }],
    [canaries.description, { code: 'provider_error', retryable: true, providerError: 'unregistered' }],
    ['<script>', { code: 'provider_error', providerError: 'unregistered' }],
    ['__proto__', { code: 'provider_error', providerError: 'unregistered' }],
  ])('maps the error %s', async (error, expected) => {
    const response = { error, error_description: description, error_uri: 'https://evil.example', state, iss: issuer };
    expect(await failureOf(() => check(callback(response)))).toMatchObject(expected);
  });
});
