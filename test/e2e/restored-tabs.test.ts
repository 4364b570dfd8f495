import { afterAll, beforeAll, expect, it } from 'vitest';
import { registeredRoutes } from '../support/registered-routes.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

it('a GET of every path that accepts only forms redirects to a page that exists', async () => {
  const routes = registeredRoutes(world.gateways[0]?.app ?? expect.unreachable());
  const user = world.subject();
  const { elicitationId } = await world.ask(user);
  const raw = world.raw();
  await raw.signIn(elicitationId, user);
  const forms = routes
    .filter(({ method, path }) => method === 'POST' && !/^\/(v1|webhooks|login\/back-channel-logout)\//.test(path))
    .map(({ path }) => path);
  expect(forms).toEqual(expect.arrayContaining(['/logout', '/e/:elicitationId/accept', '/e/:elicitationId/decline']));
  expect(forms.filter(form => !routes.some(({ method, path }) => method === 'GET' && path === form))).toEqual([]);
  const page = `/e/${elicitationId}`;
  for (const [path, location] of [
    [`${page}/accept`, page],
    [`${page}/decline`, page],
    [`${page}/passkey/new`, `${page}/passkey`],
    [`/logout?e=//evil.example`, '/me'],
  ] as const)
    expect(await raw.get(path)).toMatchObject({ status: 303, location });
  expect((await raw.get(page)).status).toBe(200);
  expect((await raw.get('/e/%2F%2Fevil.example/accept')).location).toBe('/e/%2F%2Fevil.example');
  expect((await world.api.read(elicitationId)).body.status).toBe('pending');
});
