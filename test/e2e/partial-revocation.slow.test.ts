import type { ProviderConfigInput } from '@postern/authorization';
import { expect, it } from 'vitest';
import { connected, disconnectPathOf, textOf } from '../support/connections.ts';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import { untilNothingIsPending } from '../support/revocations.ts';
import { startWorld, type World, type WorldOptions } from '../support/world.ts';

/** A provider that revokes only the token in the request. */
const start = (
  revocation?: ProviderConfigInput['revocation'],
  provider: WorldOptions['provider'] = { revocationCascades: false },
) =>
  startWorld({
    provider,
    sweepPauseMs: 20,
    config: ({ base }) => ({
      providers: (base.providers ?? []).map(each => Object.assign({}, each, revocation && { revocation })),
    }),
  });

async function connection(world: World) {
  const { raw, connectionId } = await connected(world, { user: world.subject() });
  const { accessToken, expiresAt } = (await world.api.accessToken(connectionId)).body;
  const apiStatus = async () => {
    const headers = { authorization: `Bearer ${accessToken}` };
    return (await fetch(`${world.provider.origin}/api/me`, { headers })).status;
  };
  return { raw, connectionId, expiresAt, apiStatus };
}

async function disconnectOnPage(raw: RawBrowser, connectionId: string) {
  const path = disconnectPathOf(connectionId);
  return raw.post(path, { form: { csrf_token: csrfTokenIn(await raw.get(path)) } });
}

it('S81: the provider rejects the access token after the user disconnected', async () => {
  await using world = await start();
  const { raw, connectionId, apiStatus } = await connection(world);
  expect(await apiStatus()).toBe(200);
  expect((await disconnectOnPage(raw, connectionId)).body).not.toContain('<time');
  expect(await apiStatus()).toBe(401);
  expect(world.provider.revocations()).toMatchObject([{ kind: 'refresh_token' }, { kind: 'access_token' }]);
});

it('S81: the gateway retries both revocations after a 503 for the access token', async () => {
  await using world = await start();
  const { raw, connectionId, expiresAt, apiStatus } = await connection(world);
  world.provider.fault({ endpoint: 'revocation', tokenTypeHint: 'access_token', status: 503, times: 1 });
  expect((await disconnectOnPage(raw, connectionId)).body).toContain(`datetime="${expiresAt}"`);
  expect(world.log()).toMatch(/"event":"revocation\.postponed".*"confirmed":"refresh_token"/);
  expect(await apiStatus()).toBe(200);
  world.clock.ahead = 3_600_000;
  await untilNothingIsPending(world);
  expect(await apiStatus()).toBe(401);
  expect(world.log()).toMatch(/"event":"revocation\.ended".*"outcome":"revoked"/);
});

it('S81: the page names an access token that the provider does not revoke, with its expiry', async () => {
  await using world = await start({ token: 'refresh_token' });
  const { connectionId, expiresAt, apiStatus } = await connection(world);
  expect((await world.api.remove(connectionId)).body).toEqual({
    connectionId,
    revocation: 'refresh_token_revoked',
    accessTokenExpiresAt: expiresAt,
  });
  expect(await apiStatus()).toBe(200);
  expect(world.log()).toMatch(/"event":"revocation\.ended".*"outcome":"refresh_token_revoked"/);
});

it('S81: the disconnect page says if the metadata has no revocation endpoint', async () => {
  await using world = await start(undefined, { revocation: 'off' });
  const { raw, connectionId, expiresAt, apiStatus } = await connection(world);
  const page = await raw.get(disconnectPathOf(connectionId));
  expect(textOf(page)).toContain('Code Forge offers no way to end the access from here');
  expect(page.body).toContain(`datetime="${expiresAt}"`);
  expect((await world.api.remove(connectionId)).body).toMatchObject({
    revocation: 'unsupported',
    accessTokenExpiresAt: expiresAt,
  });
  expect(await apiStatus()).toBe(200);
});
