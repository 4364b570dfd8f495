import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type GatewayConfigInput, parseConfig } from '@postern/gateway';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { consoleBrowser, operators, signIn, startConsoleWorld } from '../console/console-world.ts';
import { issueFor, visitorFor } from '../support/asks.ts';
import { ownLinksIn } from '../support/raw-browser.ts';
import { startWorld } from '../support/world.ts';
import type { PayingWorld } from '../support/world-parts.ts';

/** Each section that a running gateway loads anew, beside those of reload.test.ts. */
let world: PayingWorld;
beforeAll(async () => {
  world = await startConsoleWorld({ payment: {} });
});
afterAll(() => world[Symbol.asyncDispose]());
afterEach(() => reload({}));

const reload = (changes: Partial<GatewayConfigInput>) =>
  world.gateways[0]?.reload(() => parseConfig({ ...world.config, ...changes }));
const urlOf = (path: string) => new URL(path, world.gateways[0]?.address);
const reloaded = (...sections: string[]) => expect.objectContaining({ result: 'reloaded', sections });

it('trustProxy: an address that a proxy forwards has its own limit only if the proxy is trusted', async () => {
  const limits = { pageRequestsPerMinute: 3 };
  const statuses = async () => {
    const asked: number[] = [];
    for (let n = 1; n <= 6; n += 1)
      asked.push((await fetch(urlOf('/nowhere'), { headers: { 'x-forwarded-for': `198.51.100.${n}` } })).status);
    return asked;
  };
  await reload({ limits });
  expect(await statuses()).toContain(429);
  expect(await reload({ limits, trustProxy: ['127.0.0.1', '::1'] })).toEqual(reloaded('trustProxy'));
  expect(new Set(await statuses())).toEqual(new Set([404]));
});

it('browserSession: a sign-in ends after the new time', async () => {
  expect(await reload({ browserSession: { idleMinutes: 1 } })).toEqual(reloaded('browserSession'));
  const user = world.subject();
  const { elicitationId } = await world.ask(user);
  const browser = await visitorFor(world, user, elicitationId);
  expect((await browser.get('/me')).status).toBe(200);
  world.clock.pass(120);
  expect(ownLinksIn(await browser.get('/me')).some(link => link.startsWith('/login'))).toBe(true);
  world.clock.backToNow();
});

it('identityProviders: sign-ins go to the new client', async () => {
  const clientOf = async () => {
    const browser = world.raw();
    const link = ownLinksIn(await browser.get('/me')).find(each => each.startsWith('/login')) ?? '';
    return new URL((await browser.get(link)).location ?? '').searchParams.get('client_id');
  };
  expect(await clientOf()).toBe('postern');
  const identityProviders = (world.config.identityProviders ?? []).map(each => ({ ...each, clientId: 'postern-next' }));
  expect(await reload({ identityProviders })).toEqual(reloaded('identityProviders'));
  expect(await clientOf()).toBe('postern-next');
});

it('processors: webhooks of a new one are checked, those of a removed one unknown', async () => {
  const send = async (name: string) =>
    (await fetch(urlOf(`/webhooks/${name}`), { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } }))
      .status;
  expect(await send('stripe-next')).toBe(404);
  const [main] = world.config.processors ?? [];
  const next = { ...Object(main), name: 'stripe-next' };
  expect(await reload({ processors: [...(world.config.processors ?? []), next] })).toEqual(reloaded('processors'));
  expect(await send('stripe-next')).toBe(401);
  await reload({});
  expect(await send('stripe-next')).toBe(404);
});

it('receipts: the new key is published', async () => {
  const { privateKey } = await generateKeyPair('Ed25519', { extractable: true });
  const receipts = { keys: [{ kid: 'r2', key: JSON.stringify(await exportJWK(privateKey)) }] };
  expect(await reload({ receipts })).toEqual(reloaded('receipts'));
  expect(await (await fetch(urlOf('/.well-known/jwks.json'))).json()).toMatchObject({ keys: [{ kid: 'r2' }] });
});

it('outbound: requests go through the new proxy', async () => {
  const asked: (string | undefined)[] = [];
  const proxy = createServer().on('connect', ({ url }, socket) => {
    asked.push(url);
    socket.destroy();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  try {
    const providers = (world.config.providers ?? []).map(each => ({
      ...Object(each),
      issuer: 'https://forge.invalid',
    }));
    const outbound = { proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    expect(await reload({ providers, outbound })).toEqual(reloaded('providers', 'outbound'));
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, {
      kind: 'authorization',
      authorization: { provider: 'forge', scopes: ['repo'] },
    });
    const browser = await visitorFor(world, user, elicitationId);
    await browser.accept(elicitationId).catch(() => undefined);
    expect(asked).toContain('forge.invalid:443');
  } finally {
    proxy.close();
  }
});

it('console: its roles change, and its listener needs a restart', async () => {
  const { console } = world.config;
  if (console === undefined) throw new Error('no console');
  const signInAs = async (sub: string) => (await signIn(consoleBrowser(world), sub)).status;
  expect(await signInAs(operators.none)).toBe(403);
  const roles = { ...console.roles, viewer: [operators.none] };
  expect(await reload({ console: { ...console, roles } })).toEqual(reloaded('console'));
  expect(await signInAs(operators.none)).toBe(303);
  expect(await signInAs(operators.viewer)).toBe(403);
  const refused = { result: 'refused', faults: [{ path: 'console.listen' }] };
  expect(await reload({ console: { ...console, listen: { port: 1 } } })).toMatchObject(refused);
  const { console: _, ...without } = world.config;
  expect(await world.gateways[0]?.reload(() => parseConfig(without))).toMatchObject(refused);
});

it('stop: a replica drains for the new time', async () => {
  await using other = await startWorld({ config: { stop: { drainSeconds: 120 } } });
  const [gateway] = other.gateways;
  const next = () => parseConfig({ ...other.config, stop: { drainSeconds: 0 } });
  expect(await gateway?.reload(next)).toEqual(reloaded('stop'));
  await gateway?.drain();
  expect(gateway?.deps.stopping.draining.aborted).toBe(true);
});
