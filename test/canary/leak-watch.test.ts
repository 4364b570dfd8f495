import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { type LeakWatch, watchForLeaks } from '../support/leak-watch.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { startWorld, type World } from '../support/world.ts';

/**
 * When a world of the system tests ends, it searches its log and Redis for its secrets. These tests plant some for it
 * to find.
 */
describe('S53: the leak check of every system test', () => {
  async function withStory(act: (world: World, watch: LeakWatch, browser: RawBrowser) => Promise<void>): Promise<void> {
    await using world = await startWorld();
    using watch = watchForLeaks(world);
    const user = world.subject();
    const browser = world.raw();
    const { elicitationId } = await world.ask(user);
    await connectAccount(browser, elicitationId, user);
    expect(watch.count()).toBeGreaterThan(10);
    await watch.assertNone();
    await act(world, watch, browser);
  }

  it('finds a cookie in Redis and reports its kind, not its value', async () => {
    await withStory(async (world, watch, browser) => {
      const cookie = browser.cookies.get('postern_session') ?? '';
      const redis = new Redis(world.redis.url);
      await redis.set('planted', `left behind: ${cookie}`);
      const error: unknown = await watch.assertNone().catch((reason: unknown) => reason);
      await redis.del('planted');
      redis.disconnect();
      expect(String(error)).toContain('cookie postern_session in redis');
      expect(String(error)).not.toContain(cookie);
    });
  });

  it('finds a key in the log', async () => {
    await using world = await startWorld({ plantsLeaks: true });
    using watch = watchForLeaks(world);
    await watch.assertNone();
    world.gateways[0]?.deps.logger.warn({ planted: 'pk_tracker_only-for-tests-0123456789' }, 'planted');
    await expect(watch.assertNone()).rejects.toThrow('API key in log');
  });
});
