import { describe, expect, test } from 'vitest';
import { createElicitationStage } from '../testing/elicitation-stage.ts';

const MINUTE = 60_000;

describe('a passkey is needed', () => {
  test.each([
    [2489, true],
    [2490, false],
  ])('for a payment of 2490 above %i: %s', async (EUR, isNeeded) => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR } } });
    expect(stage.passkeyPolicy.needsPasskey(await stage.pay())).toBe(isNeeded);
  });

  test('for every payment above 0', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    const asked = await stage.pay({ amount: { currency: 'EUR', minorUnits: 1 } });
    expect(stage.passkeyPolicy.needsPasskey(asked)).toBe(true);
  });

  test('by the current configuration, also for a payment that was issued before', async () => {
    const strict = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    expect(strict.passkeyPolicy.needsPasskey(await createElicitationStage().pay())).toBe(true);
  });

  test('in loopback mode too', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    expect(stage.passkeyPolicy.needsPasskey({ ...(await stage.pay()), identityMode: 'loopback' })).toBe(true);
  });

  test('never for a confirmation or a credential', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    expect(stage.passkeyPolicy.needsPasskey(await stage.confirm({ danger: 'destructive' }))).toBe(false);
    expect(stage.passkeyPolicy.needsPasskey(await stage.credential())).toBe(false);
  });
});

describe('a first passkey needs a sign-in', () => {
  test('of the last five minutes, even if an older one may approve', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 }, freshSignInSeconds: 3600 } });
    const asked = await stage.pay();
    for (const [ago, must] of [
      [4 * MINUTE, false],
      [6 * MINUTE, true],
    ] as const) {
      const browserSession = await stage.browserSession(stage.clock.now() - ago, asked);
      expect(stage.signInPolicy.mustSignInAgain(asked, browserSession)).toBe(false);
      expect(stage.passkeyPolicy.mustSignInToAddPasskey(asked, browserSession)).toBe(must);
    }
    expect(stage.passkeyPolicy.mustSignInToAddPasskey({ ...asked, identityMode: 'loopback' }, undefined)).toBe(false);
  });

  test.each([
    ['S67', 'login'],
    ['S88', 'external'],
  ] as const)('%s: that was required for this payment, in mode %s', async (_, identityMode) => {
    const stage = createElicitationStage();
    const [asked, another] = [await stage.pay(), await stage.pay({ reference: 'order-2' })];
    for (const [provedFor, must] of [
      [asked, false],
      [another, true],
      [undefined, true],
    ] as const) {
      const browserSession = await stage.browserSession(stage.clock.now(), provedFor);
      expect(stage.passkeyPolicy.mustSignInToAddPasskey({ ...asked, identityMode }, browserSession)).toBe(must);
    }
  });
});
