import { expect, test } from 'vitest';
import { isSameSubject } from './subject.ts';

const alice = { issuer: 'https://id.example.com', subject: 'a1b2' };

test('S05 the same issuer and identifier are the same person', () => {
  expect(isSameSubject(alice, { ...alice })).toBe(true);
});

test.each([
  ['another identifier at the same issuer', { ...alice, subject: 'a1b3' }],
  ['the same identifier at another issuer', { ...alice, issuer: 'https://other.example.com' }],
  ['an issuer with a slash behind', { ...alice, issuer: 'https://id.example.com/' }],
  ['an issuer in other letters', { ...alice, issuer: 'https://ID.example.com' }],
  ['an issuer with its port spelled out', { ...alice, issuer: 'https://id.example.com:443' }],
  ['an identifier in other letters', { ...alice, subject: 'A1B2' }],
  ['an identifier with a blank', { ...alice, subject: 'a1b2 ' }],
  ['issuer and identifier exchanged', { issuer: alice.subject, subject: alice.issuer }],
])('S05 %s is another person', (_, other) => {
  expect(isSameSubject(alice, other)).toBe(false);
  expect(isSameSubject(other, alice)).toBe(false);
});

test('S05 identifiers that only look the same in Unicode are different people', () => {
  expect(isSameSubject({ ...alice, subject: 'é' }, { ...alice, subject: 'e\u0301' })).toBe(false);
});

test('S05 no other fact about a person counts', () => {
  const known = { email: 'alice@example.com', name: 'Alice' };
  expect(isSameSubject({ ...alice, ...known }, { ...alice, subject: 'other', ...known } as typeof alice)).toBe(false);
  expect(isSameSubject({ ...alice, ...known }, { ...alice, email: 'new@example.com' } as typeof alice)).toBe(true);
});
