import type { Elicitation } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { createAsksStage } from '../testing/asks-stage.ts';

const MINUTE = 60_000;

describe('a payment', () => {
  test.each([
    [2489, true],
    [2490, false],
  ])('above %i needs a passkey: %s', async (EUR, passkey) => {
    const stage = createAsksStage({ payment: { passkeyAbove: { EUR } } });
    expect(stage.approvalPolicy.requirementsOf(await stage.pay())).toEqual({ freshSignInMs: 5 * MINUTE, passkey });
  });

  test('of nothing at all above needs one always', async () => {
    const stage = createAsksStage({ payment: { passkeyAbove: { EUR: 0 } } });
    const asked = await stage.pay({ amount: { currency: 'EUR', minorUnits: 1 } });
    expect(stage.approvalPolicy.requirementsOf(asked).passkey).toBe(true);
  });

  test('asks for what is configured now, not when it was issued', async () => {
    const lax = createAsksStage();
    const strict = createAsksStage({ payment: { passkeyAbove: { EUR: 0 }, freshSignInSeconds: 30 } });
    const asked = await lax.pay();
    expect(strict.approvalPolicy.requirementsOf(asked)).toEqual({ freshSignInMs: 30_000, passkey: true });
  });
});

describe('a confirmation', () => {
  test.each([
    ['destructive', { freshSignInMs: MINUTE, passkey: false }],
    ['caution', { passkey: false }],
    ['normal', { passkey: false }],
  ] as const)('%s', async (danger, requirements) => {
    const stage = createAsksStage({ mcpServer: { confirmation: { freshSignInSeconds: 60 } } });
    expect(stage.approvalPolicy.requirementsOf(await stage.confirm({ danger }))).toEqual(requirements);
  });

  test('needs no fresh sign-in unless one is configured', async () => {
    const stage = createAsksStage();
    const asked = await stage.confirm();
    expect(stage.approvalPolicy.mustSignInAgain(asked, await stage.browserSession('unknown'))).toBe(false);
  });
});

test('what is typed needs the person, not the hour', async () => {
  const stage = createAsksStage();
  expect(stage.approvalPolicy.requirementsOf(await stage.credential())).toEqual({ passkey: false });
});

describe('who must sign in again', () => {
  test.each([
    ['nobody is there', undefined, true],
    ['signed in lately', 0, false],
    ['long ago', 5 * MINUTE + 1, true],
    ['nobody knows when', 'unknown', true],
    ['in the future', -10 * MINUTE, true],
  ] as const)('%s', async (_, ago, must) => {
    const stage = createAsksStage();
    const asked = await stage.pay();
    const authTime = ago === undefined || ago === 'unknown' ? 'unknown' : stage.clock.now() - ago;
    const browserSession = ago === undefined ? undefined : await stage.browserSession(authTime);
    expect(stage.approvalPolicy.mustSignInAgain(asked, browserSession)).toBe(must);
  });

  test('to add a passkey: right before, though an hour suffices to approve', async () => {
    const stage = createAsksStage({ payment: { passkeyAbove: { EUR: 0 }, freshSignInSeconds: 3600 } });
    const asked = await stage.pay();
    for (const [ago, must] of [
      [4 * MINUTE, false],
      [6 * MINUTE, true],
    ] as const) {
      const browserSession = await stage.browserSession(stage.clock.now() - ago, asked);
      expect(stage.approvalPolicy.mustSignInAgain(asked, browserSession)).toBe(false);
      expect(stage.approvalPolicy.mustSignInToAddPasskey(asked, browserSession)).toBe(must);
    }
    expect(stage.approvalPolicy.mustSignInToAddPasskey({ ...asked, identityMode: 'loopback' }, undefined)).toBe(false);
  });

  test('S67: to add a passkey: at an identity provider, in a sign-in for this very payment', async () => {
    const stage = createAsksStage();
    const [asked, another] = [await stage.pay(), await stage.pay({ reference: 'order-2' })];
    for (const [provedFor, must] of [
      [asked, false],
      [another, true],
      [undefined, true],
    ] as const) {
      const browserSession = await stage.browserSession(stage.clock.now(), provedFor);
      expect(stage.approvalPolicy.mustSignInToAddPasskey(asked, browserSession)).toBe(must);
      const external = { ...asked, identityMode: 'external' } as const;
      expect(stage.approvalPolicy.mustSignInToAddPasskey(external, browserSession)).toBe(false);
    }
  });

  test('not the one person of a machine, whom nobody signs in', async () => {
    const stage = createAsksStage({ payment: { passkeyAbove: { EUR: 0 } } });
    const asked: Elicitation = { ...(await stage.pay()), identityMode: 'loopback' };
    expect(stage.approvalPolicy.mustSignInAgain(asked, undefined)).toBe(false);
    expect(stage.approvalPolicy.requirementsOf(asked)).toEqual({ passkey: true });
  });
});
