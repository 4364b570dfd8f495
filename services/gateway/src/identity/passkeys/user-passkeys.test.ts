import type { NewPasskey } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { createElicitationStage } from '../../testing/elicitation-stage.ts';
import { createPasskeyNotice } from './user-passkeys.ts';

const DAY = 24 * 3_600_000;

async function createBench() {
  const stage = createElicitationStage();
  const browserSession = await stage.browserSession();
  const notice = createPasskeyNotice(stage);
  const { passkeys } = stage.stores;
  const { subject } = stage;
  return {
    clock: stage.clock,
    shown: () => notice(browserSession),
    async add(permittedBy?: NewPasskey): Promise<NewPasskey> {
      const passkey = samples.passkeyFor(subject);
      expect(await passkeys.add(passkey, 10, permittedBy?.passkeyId)).toBe('added');
      return passkey;
    },
    use: ({ passkeyId }: NewPasskey) => passkeys.use({ subject, passkeyId, signCount: 0, backedUp: false }),
    remove: ({ passkeyId }: NewPasskey) => passkeys.remove(subject, passkeyId),
    reset: () => passkeys.reset(subject),
  };
}

describe('S67: the notice that passkeys have changed', () => {
  test('is shown for 14 days', async () => {
    const { clock, shown, add } = await createBench();
    expect(await shown()).toBeUndefined();
    const at = new Date(clock.now());
    await add();
    clock.advance(14 * DAY - 1);
    expect(await shown()).toEqual(at);
    clock.advance(1);
    expect(await shown()).toBeUndefined();
  });

  test('disappears when a passkey from before the change is used after it', async () => {
    const { clock, shown, add, use } = await createBench();
    const older = await add();
    clock.advance(15 * DAY);
    await use(older);
    clock.advance(1_000);
    await add(older);
    expect(await shown()).toBeDefined();
    clock.advance(1_000);
    await use(older);
    expect(await shown()).toBeUndefined();
  });

  test('stays when the added passkey is used, and when a passkey is removed', async () => {
    const { clock, shown, add, use, remove } = await createBench();
    const first = await add();
    clock.advance(1_000);
    await use(first);
    clock.advance(1_000);
    const second = await add(first);
    clock.advance(1_000);
    await use(first);
    await use(second);
    expect(await shown()).toBeDefined();
    clock.advance(1_000);
    await remove(first);
    await remove(second);
    expect(await shown()).toEqual(new Date(clock.now()));
  });

  test('is shown after a reset', async () => {
    const { clock, shown, add, reset } = await createBench();
    await add();
    clock.advance(15 * DAY);
    await reset();
    expect(await shown()).toEqual(new Date(clock.now()));
  });
});
