import { randomBytes } from 'node:crypto';
import { startFakeTransit } from '@postern/testkit/key-services';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectAccount } from '../support/person-at-gateway.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { startWorld, type World } from '../support/world.ts';

const transit = await startFakeTransit({ keys: ['postern'] });
let world: World;
beforeAll(async () => {
  world = await startWorld({
    config: ({ base }) => ({
      vault: {
        keys: [
          { kid: 'bao', service: 'vault-transit', key: 'postern', url: transit.url, token: transit.token },
          ...base.vault.keys,
        ],
        transactionKey: randomBytes(32).toString('base64'),
        keyServices: { timeoutSeconds: 10 },
      },
    }),
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await transit[Symbol.asyncDispose]();
});

async function connection(): Promise<string> {
  const subject = world.subject();
  const { elicitationId } = await world.ask(subject);
  await connectAccount(world.raw(), elicitationId, subject);
  return (await world.api.read(elicitationId)).body.outcome?.connectionId ?? '';
}

it('S120: reading a token 50 times takes no request to the key service', async () => {
  const connectionId = await connection();
  const before = transit.calls.length;
  for (let at = 0; at < 50; at += 1) expect((await world.api.accessToken(connectionId)).status).toBe(200);
  expect(transit.calls.length - before).toBe(0);
});

it('S121: no anonymous request to any route reaches the key service', async () => {
  await connection();
  const { app } = world.gateways[0] ?? {};
  if (app === undefined) throw new Error('no gateway');
  const before = transit.calls.length;
  const forged = `${Buffer.from('{"alg":"dir","enc":"A256GCM","kid":"bao"}').toString('base64url')}.AA.AA.AA.AA`;
  let requests = 0;
  for (const { method, path } of registeredRoutes(app)) {
    if (method !== 'GET' && method !== 'POST' && method !== 'DELETE') continue;
    const url = path.replaceAll(/:\w+(?:\([^)]*\))?/g, `el_00${'a'.repeat(43)}`).replaceAll('*', 'x');
    for (const query of ['', `?ticket=${forged}&verificationId=${forged}&state=st_00${'a'.repeat(43)}&code=x`]) {
      await app.inject({
        method,
        url: `${url}${query}`,
        headers: {
          cookie: `postern_login=${forged}; postern_browser=${'a'.repeat(43)}; postern_session=bs_00${'a'.repeat(43)}`,
        },
        ...(method === 'POST' ? { payload: { ceremony: forged, verificationId: forged } } : {}),
      });
      requests += 1;
    }
  }
  const login = await world.raw().get('/login');
  expect(login.status).toBeLessThan(500);
  expect(requests).toBeGreaterThan(40);
  expect(transit.calls.length - before).toBe(0);
});

it('S122: while the key service is sealed, tokens in memory are read, elicitations are issued, and connecting works again afterwards', async () => {
  const connectionId = await connection();
  transit.setMood('sealed');
  try {
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
    const { elicitationId } = await world.ask(world.subject());
    expect((await world.api.read(elicitationId)).status).toBe(200);
  } finally {
    transit.setMood('well');
  }
  expect((await world.api.accessToken(await connection())).status).toBe(200);
});
