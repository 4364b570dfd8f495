import { expect, test } from 'vitest';
import { pageHeaders, passkeyPageHeaders } from './page-headers.ts';

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

test('S26, S27: a page runs no script and cannot be framed', () => {
  expect(pageHeaders['content-security-policy']).toBe(policy);
});

test('S26: the passkey page runs scripts of our own origin only, and none inline', () => {
  expect(passkeyPageHeaders['content-security-policy']).toBe(`${policy}; script-src 'self'`);
});

test('S28: pages are never cached, and their addresses are sent to no other origin', () => {
  expect(pageHeaders).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
  });
});
