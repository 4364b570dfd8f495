import { setTimeout as delay } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { handlerTimeoutPlugin } from './handler-timeout-plugin.ts';

it('responds with 503 if a handler does not end, even after the body is read, except on routes with their own time limit', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  await app.register(handlerTimeoutPlugin, { timeoutMs: 20 });
  app.get('/stuck', () => new Promise(() => undefined));
  app.post('/stuck', () => new Promise(() => undefined));
  app.get('/held', { config: { endsByItself: true } }, async () => {
    await delay(100);
    return 'over';
  });
  // A real connection: the request is closed once its body is read.
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  const [stuck, posted, held] = await Promise.all([
    fetch(`${address}/stuck`),
    fetch(`${address}/stuck`, body),
    fetch(`${address}/held`),
  ]);
  for (const response of [stuck, posted]) {
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'FST_ERR_HANDLER_TIMEOUT' });
  }
  expect([held.status, await held.text()]).toEqual([200, 'over']);
});
