import type { Elicitation } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { createElicitationStage } from '../testing/elicitation-stage.ts';
import { isFresh } from './sign-in-policy.ts';

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

describe('a sign-in is fresh for five minutes', () => {
  test.each([
    ['now', NOW, true],
    ['five minutes ago', NOW - 5 * MINUTE, true],
    ['just over five minutes ago', NOW - 5 * MINUTE - 1, false],
    ['at an unknown time', undefined, false],
    ['by a clock one minute ahead', NOW + MINUTE, true],
    ['by a clock further ahead', NOW + MINUTE + 1, false],
    ['in milliseconds instead of seconds', NOW * 1000, false],
  ])('signed in %s', (_, authTime, is) => {
    expect(isFresh(authTime, 5 * MINUTE, NOW)).toBe(is);
  });
});

describe('the maximum age of a sign-in', () => {
  test('applies the current configuration to a payment that was issued before', async () => {
    const lax = createElicitationStage();
    const strict = createElicitationStage({ payment: { freshSignInSeconds: 30 } });
    const asked = await lax.pay();
    expect(lax.signInPolicy.maxAgeMs(asked)).toBe(5 * MINUTE);
    expect(strict.signInPolicy.maxAgeMs(asked)).toBe(30_000);
  });

  test.each([
    ['destructive', MINUTE],
    ['caution', undefined],
    ['normal', undefined],
  ] as const)('limits destructive confirmations only: %s', async (danger, maxAgeMs) => {
    const stage = createElicitationStage({ mcpServer: { confirmation: { freshSignInSeconds: 60 } } });
    expect(stage.signInPolicy.maxAgeMs(await stage.confirm({ danger }))).toBe(maxAgeMs);
  });

  test.each([
    ['normal', 600, undefined, 600],
    ['destructive', 600, undefined, 600],
    ['destructive', 600, 60, 60],
    ['destructive', 60, 600, 60],
    ['caution', 600, 60, 600],
  ] as const)('S89: %s, with %s s for all and %s s for destructive ones', async (danger, all, destructive, seconds) => {
    const confirmation = {
      everyFreshSignInSeconds: all,
      freshSignInSeconds: destructive,
    };
    const stage = createElicitationStage({ mcpServer: { confirmation } });
    expect(stage.signInPolicy.maxAgeMs(await stage.confirm({ danger }))).toBe(seconds * 1000);
  });

  test('the maximum age of a sign-in is unlimited for a credential', async () => {
    const stage = createElicitationStage();
    expect(stage.signInPolicy.maxAgeMs(await stage.credential())).toBeUndefined();
  });
});

describe('the user must sign in again', () => {
  test.each([
    ['without a browser session', undefined, true],
    ['right after a sign-in', 0, false],
    ['after more than five minutes', 5 * MINUTE + 1, true],
    ['after a sign-in at an unknown time', 'unknown', true],
    ['after a sign-in in the future', -10 * MINUTE, true],
  ] as const)('to approve a payment %s: %s, %s', async (_, ago, must) => {
    const stage = createElicitationStage();
    const asked = await stage.pay();
    const authTime = ago === undefined || ago === 'unknown' ? 'unknown' : stage.clock.now() - ago;
    const browserSession = ago === undefined ? undefined : await stage.browserSession(authTime);
    expect(stage.signInPolicy.mustSignInAgain(asked, browserSession)).toBe(must);
  });

  test('the user need not sign in again to confirm unless the operator has configured a limit', async () => {
    const stage = createElicitationStage();
    const asked = await stage.confirm();
    expect(stage.signInPolicy.mustSignInAgain(asked, await stage.browserSession('unknown'))).toBe(false);
  });

  test('the user need not sign in again in loopback mode', async () => {
    const stage = createElicitationStage();
    const asked: Elicitation = { ...(await stage.pay()), identityMode: 'loopback' };
    expect(stage.signInPolicy.mustSignInAgain(asked, undefined)).toBe(false);
  });
});
