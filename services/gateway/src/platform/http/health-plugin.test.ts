import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../logger.ts';
import { createStopping } from '../stopping.ts';
import { healthPlugin } from './health-plugin.ts';

/** Creates an application with a store that responds when the test tells it to. */
async function createApp({
  readyNeedsWrites = false,
  refusals = [] as readonly string[],
  faulty = undefined as readonly string[] | undefined,
} = {}) {
  const asked: PromiseWithResolvers<void>[] = [];
  const ping = () => {
    const answer = Promise.withResolvers<void>();
    asked.push(answer);
    return answer.promise;
  };
  const app = Fastify();
  const stopping = createStopping();
  await app.register(healthPlugin, {
    deps: {
      config: { redis: { readyNeedsWrites } },
      stores: { ping, refusals: () => refusals },
      stopping,
      keyFaults: faulty && new Map(faulty.map(kid => [kid, 'timeout'])),
      logger: createLogger({ level: 'silent' }),
    },
  });
  const ready = async (): Promise<number> => (await app.inject('/readyz')).statusCode;
  return { app, asked, ready, stopping };
}

const turn = () => new Promise(resolve => setImmediate(resolve));

describe('readyz', () => {
  it('sends one PING for concurrent checks', async () => {
    const { asked, ready } = await createApp();
    const answers = Promise.all(Array.from({ length: 50 }, ready));
    await turn();
    expect(asked).toHaveLength(1);
    asked[0]?.resolve();
    expect(new Set(await answers)).toEqual(new Set([200]));
  });

  it('sends another PING for the next check, also after a failure', async () => {
    const { asked, ready } = await createApp();
    for (const [at, status] of [503, 200, 503].entries()) {
      const answer = ready();
      await turn();
      expect(asked).toHaveLength(at + 1);
      if (status === 200) asked[at]?.resolve();
      else asked[at]?.reject(new Error('no answer'));
      expect(await answer).toBe(status);
    }
  });

  it('fails without a PING as soon as the process is stopping', async () => {
    const { app, asked, ready, stopping } = await createApp();
    stopping.drain();
    expect(await ready()).toBe(503);
    expect(asked).toHaveLength(0);
    expect((await app.inject('/livez')).statusCode).toBe(200);
  });

  it.each([
    { refusals: [], readyNeedsWrites: true, status: 200, body: { status: 'ready', writes: true } },
    { refusals: ['OOM'], readyNeedsWrites: false, status: 200, body: { status: 'ready', writes: false } },
    { refusals: ['OOM'], readyNeedsWrites: true, status: 503, body: { status: 'not_ready', code: 'writes_refused' } },
  ])('S77: reports whether Redis accepts writes: $status', async ({ status, body, ...p }) => {
    const { app, asked } = await createApp(p);
    const answer = app.inject('/readyz');
    await turn();
    asked[0]?.resolve();
    expect([(await answer).statusCode, (await answer).json()]).toEqual([status, body]);
  });

  it.each([
    { faulty: [], keyServices: true },
    { faulty: ['kms'], keyServices: false },
  ])('S122: is ready without its key service, and reports it: $keyServices', async ({ faulty, keyServices }) => {
    const { app, asked } = await createApp({ faulty });
    const answer = app.inject('/readyz');
    await turn();
    asked[0]?.resolve();
    expect([(await answer).statusCode, (await answer).json()]).toEqual([
      200,
      { status: 'ready', writes: true, keyServices },
    ]);
  });

  it('livez sends no PING', async () => {
    const { app, asked } = await createApp();
    expect((await app.inject('/livez')).statusCode).toBe(200);
    expect(asked).toHaveLength(0);
  });
});
