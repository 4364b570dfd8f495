import { describe, expect, test } from 'vitest';
import {
  type Connection,
  isUseNoted,
  reconnectReason,
  serves,
  type TokenFreshness,
  tokenFreshness,
  USE_NOTED_AGAIN_MS,
} from './connection.ts';
import { alice } from './testing/samples.ts';

const FRESH_ENOUGH_MS = 30_000;
const REFRESH_AHEAD_MS = 5 * 60_000;
const now = Date.UTC(2026, 0, 1);
const connection = (change: Partial<Connection> = {}): Connection => ({
  connectionId: `cn_00${'A'.repeat(43)}`,
  generation: 1,
  owner: 'issue-tracker',
  subject: alice,
  provider: 'github',
  scopes: ['read:user', 'repo'],
  sealedTokens: 'sealed',
  refreshable: false,
  elicitationId: `el_00${'A'.repeat(43)}`,
  createdAt: now,
  updatedAt: now,
  ...change,
});

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

describe('tokenFreshness', () => {
  test.each<{ lifetime: number; left: number; freshness: TokenFreshness }>([
    { lifetime: HOUR, left: HOUR, freshness: 'fresh' },
    { lifetime: HOUR, left: REFRESH_AHEAD_MS + 1, freshness: 'fresh' },
    { lifetime: HOUR, left: REFRESH_AHEAD_MS, freshness: 'due' },
    { lifetime: HOUR, left: FRESH_ENOUGH_MS + 1, freshness: 'due' },
    { lifetime: HOUR, left: FRESH_ENOUGH_MS, freshness: 'stale' },
    { lifetime: HOUR, left: 0, freshness: 'stale' },
    { lifetime: HOUR, left: -1, freshness: 'stale' },
    // A token with a lifetime of a minute is refreshed in its last third and used until its last sixth.
    { lifetime: 60 * SECOND, left: 60 * SECOND, freshness: 'fresh' },
    { lifetime: 60 * SECOND, left: 20 * SECOND + 1, freshness: 'fresh' },
    { lifetime: 60 * SECOND, left: 20 * SECOND, freshness: 'due' },
    { lifetime: 60 * SECOND, left: 10 * SECOND + 1, freshness: 'due' },
    { lifetime: 60 * SECOND, left: 10 * SECOND, freshness: 'stale' },
    // Stored after its expiry.
    { lifetime: 0, left: 0, freshness: 'stale' },
    { lifetime: -SECOND, left: -SECOND, freshness: 'stale' },
  ])('of a token that lives $lifetime ms, $left ms before its end: $freshness', ({ lifetime, left, freshness }) => {
    const accessTokenExpiresAt = now + left;
    expect(tokenFreshness({ accessTokenExpiresAt, updatedAt: accessTokenExpiresAt - lifetime }, now)).toBe(freshness);
  });

  test('a token without expiry is fresh', () => {
    expect(tokenFreshness(connection(), now)).toBe('fresh');
  });

  test('a clock half a minute off hands out no expired token', () => {});
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

  const lived = { updatedAt: now - HOUR };

  test('a connection does not serve with an expiring token, whatever the scopes', () => {
    const ending = connection({ ...lived, accessTokenExpiresAt: now + FRESH_ENOUGH_MS });
    expect(serves(ending, [], now)).toBe(false);
    expect(serves(ending, ['repo'], now)).toBe(false);
    expect(serves(ending, ['repo'], now - 1)).toBe(true);
  });

  test('a connection with an expiring token that can be refreshed serves its scopes', () => {
    const ended = connection({ ...lived, accessTokenExpiresAt: now - 1, refreshable: true });
    expect(serves(ended, ['repo'], now)).toBe(true);
    expect(serves(ended, ['repo', 'admin'], now)).toBe(false);
  });

  test.each(['refused', 'rejected'] as const)('a lost connection does not serve: %s', reason => {
    const lost = connection({ refreshable: true, lost: { reason, at: now } });
    expect(serves(lost, [], now)).toBe(false);
  });

  test('a connection without scopes serves a tool that needs none', () => {
    expect(serves(connection({ scopes: [] }), [], now)).toBe(true);
    expect(serves(connection({ scopes: [] }), ['repo'], now)).toBe(false);
  });
});

describe('reconnectReason', () => {
  const ended = { updatedAt: now - HOUR, accessTokenExpiresAt: now };
  const cases: { why: string; change?: Partial<Connection>; scopes?: string[]; reason: string | undefined }[] = [
    { why: 'serves', reason: undefined },
    { why: 'can be renewed', change: { ...ended, refreshable: true }, reason: undefined },
    { why: 'lacks a scope', scopes: ['admin', 'repo'], reason: 'more_scopes' },
    {
      why: 'can be renewed and lacks a scope',
      change: { refreshable: true },
      scopes: ['admin'],
      reason: 'more_scopes',
    },
    { why: 'has come to its end', change: ended, reason: 'expired' },
    { why: 'has come to its end and lacks a scope', change: ended, scopes: ['admin'], reason: 'expired' },
    { why: 'was refused', change: { lost: { reason: 'refused', at: now } }, reason: 'refused' },
    { why: 'was rejected', change: { ...ended, lost: { reason: 'rejected', at: now } }, reason: 'rejected' },
    {
      why: 'was refused and lacks a scope',
      change: { lost: { reason: 'refused', at: now } },
      scopes: ['admin'],
      reason: 'refused',
    },
  ];

  test.each(cases)('the reason for a connection that $why is $reason', ({ change, scopes = ['repo'], reason }) => {
    expect(reconnectReason(connection(change), scopes, now)).toBe(reason);
    // Both the request to reconnect and the refusal need a reason.
    expect(serves(connection(change), scopes, now)).toBe(reason === undefined);
  });
});

describe('isUseNoted', () => {
  const use = { mcpServerId: 'issue-tracker', tool: 'create_issue' };
  const used = connection({ lastUse: { ...use, at: now } });
  test.each([
    { what: 'the same use within a minute', use, after: USE_NOTED_AGAIN_MS - 1, isNoted: true },
    { what: 'the same use a minute later', use, after: USE_NOTED_AGAIN_MS, isNoted: false },
    { what: 'another tool', use: { ...use, tool: 'close_issue' }, after: 0, isNoted: false },
    { what: 'no tool', use: { mcpServerId: 'issue-tracker' }, after: 0, isNoted: false },
    { what: 'another MCP server', use: { ...use, mcpServerId: 'calendar' }, after: 0, isNoted: false },
  ])('$what: $isNoted', ({ use, after, isNoted }) => {
    expect(isUseNoted(used, use, now + after)).toBe(isNoted);
  });

  test('a first use is never noted already', () => {
    expect(isUseNoted(connection(), use, now)).toBe(false);
  });
});
