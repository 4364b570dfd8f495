import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyOf, type World } from '../support/world.ts';
import { csrfTokenIn, operators, signedIn, signIn, startConsoleWorld } from './console-world.ts';

let world: World;
beforeAll(async () => {
  world = await startConsoleWorld({ otherMcpServers: [{ id: 'leaky' }] });
});
afterAll(() => world[Symbol.asyncDispose]());

it('S140: an operator revokes a leaked API key, with a fresh sign-in and a reason', async () => {
  const leaked = world.apiOf({ apiKey: keyOf('leaky') });
  expect((await leaked.call('GET', '/v1/me')).status).toBe(200);
  const operator = await signedIn(world, operators.operator);
  const list = await operator.get('/api-keys');
  const path = /<bdi>leaky<\/bdi>.*?(\/api-keys\/[\w-]+\/revoke)/s.exec(list.body)?.[1] ?? '';
  const shown = await operator.get(path);
  expect(shown.body).toContain('has no other valid API key');
  const form = { csrf_token: csrfTokenIn(shown), reason: 'leaked in a build log' };

  // The sign-in becomes older than five minutes.
  world.clock.pass(301);
  expect((await operator.get(path)).body).toContain('/login?to=');
  expect((await operator.post(path, { form })).status).toBe(403);
  expect((await leaked.call('GET', '/v1/me')).status).toBe(200);
  world.clock.backToNow();

  await signIn(operator, operators.operator, `/login?to=${encodeURIComponent(path)}&fresh=1`);
  const fresh = { ...form, csrf_token: csrfTokenIn(await operator.get(path)) };
  expect((await operator.post(path, { form: { ...fresh, reason: '' } })).status).toBe(400);
  expect((await operator.post(path, { form: { ...fresh, csrf_token: form.csrf_token } })).status).toBe(403);
  expect(await operator.post(path, { form: fresh })).toMatchObject({ status: 303, location: '/api-keys' });
  await expect
    .poll(async () => (await leaked.call('GET', '/v1/me')).status, { timeout: 60_000, interval: 500 })
    .toBe(401);
  // Revoked already: there is nothing left to do.
  expect((await operator.post(path, { form: fresh })).status).toBe(404);
  const apiKeyId = path.split('/')[2] ?? '';
  expect(list.body).toContain(`/audit?apiKey=${apiKeyId}`);
  const ofKey = await operator.get(`/audit?apiKey=${apiKeyId}`);
  expect(ofKey.body).toContain('api_key.revoked');
  expect((await operator.get('/audit?apiKey=ak_other')).body).not.toContain('api_key.revoked');
  const audit = await operator.get('/audit?event=api_key.revoked');
  expect(audit.body).toContain('leaked in a build log');
  expect(audit.body).toContain(operators.operator);
});
