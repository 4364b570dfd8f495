import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { securityHeadersPlugin } from './security-headers-plugin.ts';

async function headersOf(publicUrl: string, path: string) {
  const app = Fastify();
  await app.register(securityHeadersPlugin, { publicUrl });
  app.get('/plain', (_request, reply) => reply.send('plain'));
  app.get('/page', (_request, reply) => reply.header('content-security-policy', "default-src 'self'").send('page'));
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
