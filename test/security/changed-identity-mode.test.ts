import { createLogger, type Gateway, startGateway } from '@postern/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { type Api, askFor, createApi, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
/** The same gateway after the operator has changed the identity mode from `loopback` to `login`. */
let changed: Gateway;
let api: Api;

beforeAll(async () => {
  world = await startWorld({ mcpServer: { identity: { mode: 'loopback' } } });
  const { config } = world.gateways[0]?.deps ?? {};
  if (config === undefined) throw new Error('no gateway');
  changed = await startGateway(
    {
      ...config,
      listen: { host: '127.0.0.1', port: 0 },
      mcpServers: config.mcpServers.map(mcpServer => ({ ...mcpServer, identity: { mode: 'login' as const } })),
    },
    { logger: createLogger({ level: 'silent' }) },
  );
  api = createApi(changed.address, keyOf('tracker'));
});
afterAll(async () => {
  await changed?.close();
  await world?.[Symbol.asyncDispose]();
});

const atChanged = (): RawBrowser => createRawBrowser({ address: changed.address, publicUrl: world.publicUrl });

describe('an elicitation whose identity mode is no longer configured', () => {
  it('answers without a session like an unknown id', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const anonymous = atChanged();
    expect((await anonymous.get(`/e/${elicitationId}`)).body).not.toContain('csrf_token');
    const unknown = await anonymous.get(`/e/el_${elicitationId.slice(3, 5)}${'x'.repeat(43)}`);
    expect((await anonymous.get(`/e/${elicitationId}`)).status).toBe(unknown.status);
  });

  it('rejects an OAuth callback', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const raw = world.raw();
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    const later = atChanged();
    for (const [name, value] of raw.cookies) later.cookies.set(name, value);
    await later.get(callback);
    expect(world.provider.requests('token')).toHaveLength(0);
    expect((await api.read(elicitationId)).body.status).toBe('pending');
  });

  it('is not reused: the same ask starts a new elicitation', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const again = await api.issue(askFor(world, user));
    expect(again.status).toBe(201);
    expect(again.body.elicitationId).not.toBe(elicitationId);
    const person = atChanged();
    await person.signIn(again.body.elicitationId, user);
    expect((await person.get(`/e/${again.body.elicitationId}`)).body).toContain('csrf_token');
  });
});
