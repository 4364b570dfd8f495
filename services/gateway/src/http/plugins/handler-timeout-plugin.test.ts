import { setTimeout as delay } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { handlerTimeoutPlugin } from './handler-timeout-plugin.ts';

it('a handler that does not end is answered for, one that ends by itself is waited for', async () => {
  const app = Fastify();
  await app.register(handlerTimeoutPlugin, { timeoutMs: 20 });
  app.get('/stuck', () => new Promise(() => undefined));
  app.get('/held', { config: { endsByItself: true } }, async () => {
    await delay(100);
    return 'over';
  });
  const [stuck, held] = await Promise.all([app.inject('/stuck'), app.inject('/held')]);
  expect(stuck.statusCode).toBe(503);
  expect(stuck.json()).toMatchObject({ code: 'FST_ERR_HANDLER_TIMEOUT' });
  expect([held.statusCode, held.body]).toEqual([200, 'over']);
  await app.close();
});
