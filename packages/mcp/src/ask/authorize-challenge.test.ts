import { describe, expect, test } from 'vitest';
import { asksForNonce, isTokenRejected, nonceOf } from './authorize.ts';

const answer = (challenge: string | undefined, status = 401) =>
  new Response(null, { status, headers: challenge === undefined ? {} : { 'www-authenticate': challenge } });

describe('isTokenRejected', () => {
  test.each([
    undefined,
    'Bearer',
    'Token',
    'Bearer realm="api", error="invalid_token", error_description="it expired"',
    'Bearer error=invalid_token',
    'bearer Error = "expired_access_token"',
    'DPoP algs="ES256", Bearer error="invalid_token"',
    'DPoP error="use_dpop_nonce", Bearer error="invalid_token"',
    'Bearer error_description="error=\\"insufficient_scope\\""',
    'Bearer realm="an error=use_dpop_nonce"',
  ])('is true for %s', challenge => {
    expect(isTokenRejected(answer(challenge))).toBe(true);
  });

  test.each([
    'Bearer error="insufficient_scope", scope="repo"',
    'Bearer error=invalid_request',
    'DPoP error="use_dpop_nonce"',
    'DPoP algs="ES256 PS256", error="invalid_dpop_proof"',
    'Bearer error="insufficient_user_authentication", max_age=5',
  ])('is false for %s', challenge => {
    expect(isTokenRejected(answer(challenge))).toBe(false);
  });

  test('is false for another status', () => {
    expect(isTokenRejected(answer('Bearer error="invalid_token"', 403))).toBe(false);
  });

  test('parses a challenge designed to be slow in linear time', () => {
    // Far longer than an HTTP parser accepts: only linear time finishes.
    const long = 1_000_000;
    for (const part of ['a', 'a=', 'a="', '\\', '\\"', '"a" ', 'error ', ' '])
      expect(
        isTokenRejected(answer(`Bearer a="${part.repeat(long / part.length)}, ${part.repeat(long / part.length)}x`)),
      ).toBe(true);
  });
});

test('asksForNonce is true only for a 401 with its error', () => {
  expect(asksForNonce(answer('DPoP error="use_dpop_nonce"'))).toBe(true);
  expect(asksForNonce(answer('DPoP error="use_dpop_nonce"', 400))).toBe(false);
  expect(asksForNonce(answer('DPoP error="invalid_token"'))).toBe(false);
});

test.each([
  ['eyJ7S_zG.eyJH0-Z.HX4w-7v', 'eyJ7S_zG.eyJH0-Z.HX4w-7v'],
  ['with space', undefined],
  ['quo"te', undefined],
  ['x'.repeat(513), undefined],
  ['', undefined],
])('nonce %j', (value, nonce) => {
  expect(nonceOf(new Response(null, { headers: { 'dpop-nonce': value } }))).toBe(nonce);
});
