import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawBrowser } from '../support/raw-browser.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import type { World } from '../support/world.ts';
import { consoleBrowser, operators, signedIn, startConsoleWorld } from './console-world.ts';

let world: World;
let browsers: Readonly<Record<'viewer' | 'support' | 'operator' | 'signed_out', RawBrowser>>;
beforeAll(async () => {
  world = await startConsoleWorld();
  browsers = {
    viewer: await signedIn(world, operators.viewer),
    support: await signedIn(world, operators.support),
    operator: await signedIn(world, operators.operator),
    signed_out: consoleBrowser(world),
  };
});
afterAll(() => world[Symbol.asyncDispose]());

const ROLES = ['viewer', 'support', 'operator'] as const;

/** The least role of every route. A route that is missing here fails the test. */
const leastRoles: Readonly<Record<string, (typeof ROLES)[number] | 'anyone'>> = {
  '/': 'viewer',
  '/elicitations': 'viewer',
  '/elicitations/:elicitationId': 'support',
  '/connections': 'viewer',
  '/credentials': 'viewer',
  '/payments': 'viewer',
  '/payments/:elicitationId': 'viewer',
  '/payments/:elicitationId/refund': 'operator',
  '/webhooks': 'viewer',
  '/audit': 'viewer',
  '/find': 'viewer',
  '/api-keys': 'viewer',
  '/api-keys/:apiKeyId/revoke': 'operator',
  '/people': 'support',
  '/people/disconnect': 'operator',
  '/people/disconnect/confirmed': 'operator',
  '/people/sign-out': 'operator',
  '/people/sign-out/confirmed': 'operator',
  '/disconnect': 'operator',
  '/connections/:connectionId/disconnect': 'operator',
  '/elicitations/:elicitationId/cancel': 'operator',
  '/webhooks/:endpoint/redeliver': 'operator',
  '/webhooks/:endpoint/enable': 'operator',
  '/jobs': 'viewer',
  '/jobs/:jobId': 'viewer',
  '/jobs/:jobId/stop': 'operator',
  '/logout': 'viewer',
  '/login': 'anyone',
  '/login/callback/console': 'anyone',
  '/login/back-channel-logout/:identityProvider': 'anyone',
  '/logout/callback/console': 'anyone',
  '/signed-out': 'anyone',
};

const routes = async () => {
  const app = await world.gateways[0]?.console?.app();
  if (app === undefined) throw new Error('no console');
  return registeredRoutes(app).filter(({ path }) => !path.startsWith('/assets/'));
};

describe('S137: each route admits the roles that it is for, and no others', () => {
  it('knows every route', async () => {
    expect([...new Set((await routes()).map(({ path }) => path))].sort()).toEqual(Object.keys(leastRoles).sort());
  });

  it.each(['signed_out', ...ROLES] as const)('%s', async who => {
    for (const { method, path } of await routes()) {
      const least = leastRoles[path] ?? 'operator';
      if (least === 'anyone' || path === '/logout') continue;
      const isAllowed = who !== 'signed_out' && ROLES.indexOf(who) >= ROLES.indexOf(least);
      const target = path
        .replace(':elicitationId', `el_00${'A'.repeat(43)}`)
        .replace(':connectionId', `cn_00${'A'.repeat(43)}`)
        .replace(/:\w+/, 'unknown')
        .replace(/^\/disconnect$/, '/disconnect?provider=forge');
      const { status } = await browsers[who].request(method, target, method === 'POST' ? { form: {} } : {});
      const refused = who === 'signed_out' ? 401 : 403;
      // A form without its fields is refused as such, and no elicitation has this id.
      const allowed = method === 'POST' ? 400 : path.includes(':') ? 404 : 200;
      expect([who, method, path, status]).toEqual([who, method, path, isAllowed ? allowed : refused]);
    }
  });

  it('has the same answer for unknown paths, signed in or not', async () => {
    expect((await browsers.signed_out.get('/nothing')).status).toBe(404);
    expect((await browsers.operator.get('/nothing')).status).toBe(404);
  });
});

it('S137: an operator who opens many pages at once does not exhaust the connection to Redis', async () => {
  // Pages that queue are served in turn, and refused with 429 beyond the queue: operator-turns.test.ts.
  const flood = Array.from({ length: 60 }, async () => (await browsers.viewer.get('/')).status);
  const meanwhile = Array.from({ length: 20 }, async () => (await world.api.call('GET', '/v1/me')).status);
  expect((await Promise.all(flood)).filter(status => status !== 200 && status !== 429)).toEqual([]);
  expect(new Set(await Promise.all(meanwhile))).toEqual(new Set([200]));
  expect((await browsers.operator.get('/')).status).toBe(200);
});
