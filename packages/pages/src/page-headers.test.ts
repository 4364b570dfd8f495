import { expect, test } from 'vitest';
import { pageHeaders } from './page-headers.ts';

test('S26, S27: a page runs scripts of our own origin only, none inline, and cannot be framed', () => {
  expect(pageHeaders['content-security-policy'].split('; ')).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]);
});

test('S28: pages are never cached, and their addresses are sent to no other origin', () => {
  expect(pageHeaders).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
  });
});
