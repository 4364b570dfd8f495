import { describe, expect, test } from 'vitest';
import { type Connection, FRESH_ENOUGH_MS, hasFreshToken, serves } from './connection.ts';
import { alice } from './testing/samples.ts';

const now = Date.UTC(2026, 0, 1);
const connection = (change: Partial<Connection> = {}): Connection => ({
  layout: 1,
  connectionId: `cn_00${'A'.repeat(43)}`,
  generation: 1,
  owner: 'issue-tracker',
  subject: alice,
  provider: 'github',
  scopes: ['read:user', 'repo'],
  sealedTokens: 'sealed',
  elicitationId: `el_00${'A'.repeat(43)}`,
  createdAt: now,
  updatedAt: now,
  ...change,
});

describe('hasFreshToken', () => {
  test.each([
    { left: FRESH_ENOUGH_MS + 1, isFresh: true },
    { left: FRESH_ENOUGH_MS, isFresh: false },
    { left: FRESH_ENOUGH_MS - 1, isFresh: false },
    { left: 0, isFresh: false },
    { left: -1, isFresh: false },
  ])('$left ms before its end: $isFresh', ({ left, isFresh }) => {
    expect(hasFreshToken(connection({ accessTokenExpiresAt: now + left }), now)).toBe(isFresh);
  });

  test('a token that never ends is fresh', () => {
    expect(hasFreshToken(connection(), now)).toBe(true);
  });

  test('a clock half a minute off hands out no dead token', () => {
    expect(FRESH_ENOUGH_MS).toBe(30_000);
  });
});

describe('serves', () => {
  test.each([
    { scopes: [], isServed: true },
    { scopes: ['repo'], isServed: true },
    { scopes: ['repo', 'read:user'], isServed: true },
    { scopes: ['repo', 'admin'], isServed: false },
    { scopes: ['rep'], isServed: false },
    { scopes: ['REPO'], isServed: false },
  ])('$scopes: $isServed', ({ scopes, isServed }) => {
    expect(serves(connection(), scopes, now)).toBe(isServed);
  });

  test('not with a token at its end, whatever the scopes', () => {
    const ending = connection({ accessTokenExpiresAt: now + FRESH_ENOUGH_MS });
    expect(serves(ending, [], now)).toBe(false);
    expect(serves(ending, ['repo'], now)).toBe(false);
    expect(serves(ending, ['repo'], now - 1)).toBe(true);
  });

  test('a connection without scopes serves who needs none', () => {
    expect(serves(connection({ scopes: [] }), [], now)).toBe(true);
    expect(serves(connection({ scopes: [] }), ['repo'], now)).toBe(false);
  });
});
