import { randomBytes } from 'node:crypto';
import { createLogger, startGateway } from '@postern/gateway';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, visitorFor } from '../support/asks.ts';
import { createRawBrowser } from '../support/raw-browser.ts';
import { createApi, keyOf, startWorld, type World } from '../support/world.ts';

const stack = new AsyncDisposableStack();
let world: World;
beforeAll(async () => {
  world = stack.use(await startWorld());
});
afterAll(() => stack.disposeAsync());

it('a credential whose key is lost cannot be read, but its user still sees it and can delete it', async () => {
  const { config } = world.gateways[0]?.deps ?? {};
  if (config === undefined) throw new Error('no gateway');
  const user = world.subject();
  const credential = { ...apiKeyRequest, retention: 'lasting' } as const;
  const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
  const raw = await visitorFor(world, user, elicitationId);
  await acceptWith(raw, elicitationId, { api_key: 'ak_0123456789abcdef' });
  const id = (await world.api.read(elicitationId)).body.outcome?.credentialId ?? '';

  const keys = [{ kid: 'another', key: new Uint8Array(randomBytes(32)) }];
  const listen = { host: '127.0.0.1', port: 0 };
  const logger = createLogger({ level: 'silent' });
  const gateway = stack.use(await startGateway({ ...config, listen, vault: { ...config.vault, keys } }, { logger }));
  expect((await createApi(gateway.address, keyOf('tracker')).credential(id)).status).toBe(500);

  const later = createRawBrowser({ address: gateway.address, publicUrl: world.publicUrl });
  for (const [name, value] of raw.cookies) later.cookies.set(name, value);
  const me = await later.get('/me');
  expect(me.status).toBe(200);
  expect(me.body).toContain(apiKeyRequest.title);
  const page = await later.get(`/me/credentials/${id}/delete`);
  expect(page.status).toBe(200);
  const token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
  const deleted = await later.post(`/me/credentials/${id}/delete`, { form: { csrf_token: token } });
  expect(deleted.status).toBe(200);
  expect((await later.get('/me')).body).not.toContain(apiKeyRequest.title);
});
