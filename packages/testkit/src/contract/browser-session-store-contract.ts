import type { NewBrowserSession } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContractStores, MakeStores } from './contract-stores.ts';
import { browserSessionIdOf, MINUTE, somebody } from './samples.ts';

const LIFETIME = { idleMs: 30 * MINUTE, absoluteMs: 100 * MINUTE };

export function describeBrowserSessionStore(name: string, makeStores: MakeStores): void {
  describe(`${name}: browser sessions`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    function signIn(): NewBrowserSession {
      const subject = somebody();
      const origin = { identityProvider: 'example' };
      return { id: browserSessionIdOf(subject), subject, origin, displayName: 'Alice' };
    }

    test('a session is read as it was created', async () => {
      for (const session of [
        signIn(),
        {
          ...signIn(),
          origin: { vouchedBy: 'issue-tracker' },
          detail: 'alice@example.com',
          authTime: 1_700_000_000_000,
        },
      ]) {
        const created = await stores.browserSessions.create(session, LIFETIME);
        const createdAt = stores.clock.now();
        expect(created).toEqual({ ...session, createdAt, endsAt: createdAt + LIFETIME.absoluteMs });
        expect(await stores.browserSessions.read(session.id)).toEqual(created);
      }
    });

    test('expires after the idle time; reading does not extend it', async () => {
      const { id } = await stores.browserSessions.create(signIn(), LIFETIME);
      stores.clock.advance(LIFETIME.idleMs - 1);
      expect(await stores.browserSessions.read(id)).toBeDefined();
      stores.clock.advance(1);
      expect(await stores.browserSessions.read(id)).toBeUndefined();
      await stores.browserSessions.touch(id);
      expect(await stores.browserSessions.read(id)).toBeUndefined();
    });

    test('touching restarts the idle time, up to the absolute expiry', async () => {
      const { id, endsAt } = await stores.browserSessions.create(signIn(), LIFETIME);
      for (let nth = 0; nth < 4; nth += 1) {
        stores.clock.advance(LIFETIME.idleMs - 10 * MINUTE);
        await stores.browserSessions.touch(id);
        expect(await stores.browserSessions.read(id)).toMatchObject({ endsAt });
      }
      // Not the last millisecond: Redis expires keys on the real clock.
      stores.clock.set(endsAt - MINUTE);
      await stores.browserSessions.touch(id);
      expect(await stores.browserSessions.read(id)).toBeDefined();
      stores.clock.set(endsAt);
      expect(await stores.browserSessions.read(id)).toBeUndefined();
    });

    test('an ended session is not found, and ending it again is harmless', async () => {
      const { id } = await stores.browserSessions.create(signIn(), LIFETIME);
      await stores.browserSessions.end(id);
      await stores.browserSessions.end(id);
      expect(await stores.browserSessions.read(id)).toBeUndefined();
    });

    test('returns undefined for an unknown id', async () => {
      expect(await stores.browserSessions.read(browserSessionIdOf(somebody()))).toBeUndefined();
    });
  });
}
