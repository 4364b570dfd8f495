import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished, test } from 'vitest';
import { createLogger } from '../logger.ts';
import { createStopping } from '../stopping.ts';
import { createHttpApp, type HttpAppOptions } from './http-app.ts';
import { addJsonParser } from './request-input.ts';

const appWith = (p: Pick<HttpAppOptions, 'routes' | 'siteUrl'> & { readonly handlerMs?: number }) =>
  createHttpApp({
    config: { trustProxy: [] },
    limits: { bodyBytes: 1024, handlerMs: p.handlerMs ?? 1000 },
    unroutedHeaders: {},
    siteUrl: p.siteUrl,
    stopping: createStopping(),
    logger: createLogger({ level: 'silent' }),
    noteUnknownLayout: () => false,
    noteQuota: () => {},
    routes: p.routes,
  });

it('responds with 503 if a handler does not end, even after the body is read, except on routes with their own time limit', async () => {
  const app = await appWith({
    handlerMs: 20,
    async routes(app) {
      addJsonParser(app);
      app.get('/stuck', () => new Promise(() => undefined));
      app.post('/stuck', () => new Promise(() => undefined));
      app.get('/held', { config: { endsByItself: true } }, async () => {
        await delay(100);
        return 'over';
      });
    },
  });
  onTestFinished(() => app.close());
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
    expect(await response.json()).toMatchObject({ code: 'unavailable' });
  }
  expect([held.status, await held.text()]).toEqual([200, 'over']);
});

async function headersOf(siteUrl: string, path: string) {
  const app = await appWith({
    siteUrl,
    async routes(app) {
      app.get('/plain', (_request, reply) => reply.send('plain'));
      app.get('/page', (_request, reply) => reply.header('content-security-policy', "default-src 'self'").send('page'));
    },
  });
  const { headers } = await app.inject(path);
  await app.close();
  return headers;
}

test.each(['/plain', '/page', '/none'])(
  'S27, S28: the headers of %s forbid framing, caching, sniffing and cross-origin access',
  async path => {
    expect(await headersOf('https://gate.example', path)).toMatchObject({
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'strict-transport-security': expect.stringContaining('max-age=') as string,
    });
  },
);

test('S26: a response without its own content security policy allows nothing', async () => {
  const policy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";
  expect((await headersOf('https://gate.example', '/plain'))['content-security-policy']).toBe(policy);
  expect((await headersOf('https://gate.example', '/page'))['content-security-policy']).toBe("default-src 'self'");
});

test('responses require https only if the public URL has it', async () => {
  expect(await headersOf('http://localhost:8080', '/plain')).not.toHaveProperty('strict-transport-security');
});
