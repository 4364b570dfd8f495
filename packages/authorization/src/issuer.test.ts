import { expect, it } from 'vitest';
import { isSameUrl, issuerNamed, issuersOf } from './issuer.ts';

it.each([
  ['https://as.example', 'https://as.example', true],
  ['https://as.example', 'https://as.example/', true],
  ['http://localhost:3000/', 'http://localhost:3000', true],
  ['https://as.example/tenant', 'https://as.example/tenant/', false],
  ['https://as.example', 'https://as.example//', false],
  ['https://as.example', 'https://AS.example/', false],
  ['https://as.example', 'https://as.example:443/', false],
  ['https://as.example', 'http://as.example/', false],
  ['https://as.example', 'https://as.example.', false],
  ['https://as.example', 'https://as.example/?', false],
  ['https://as.example', 'https://as.example.evil.example/', false],
  // A URL parser reads the backslash as a slash: the path is not empty.
  ['https://as.example\\tenant', 'https://as.example\\tenant/', false],
  ['x', 'x/', false],
])('S194: %s and %s are the same URL: %s', (left, right, isSame) => {
  expect([isSameUrl(left, right), isSameUrl(right, left)]).toEqual([isSame, isSame]);
});

it('S194: tokens name the issuer of an allowed tenant, never the template', () => {
  const entra = { issuer: 'https://id.example/{tenantid}/v2.0', tenants: ['a', 'b'] };
  expect(issuersOf(entra)).toEqual(['https://id.example/a/v2.0', 'https://id.example/b/v2.0']);
  expect(issuerNamed(entra, 'https://id.example/b/v2.0')).toBe('https://id.example/b/v2.0');
  for (const named of [entra.issuer, 'https://id.example/c/v2.0', 'https://id.example/a/v2.0/', undefined])
    expect(issuerNamed(entra, named)).toBeUndefined();
  expect(issuersOf({ issuer: entra.issuer })).toEqual([]);
});

it('the configured text stays, whatever slash the token has', () => {
  expect(issuerNamed({ issuer: 'https://id.example' }, 'https://id.example/')).toBe('https://id.example');
  expect(issuerNamed({ issuer: 'https://id.example/' }, 'https://id.example')).toBe('https://id.example/');
});
