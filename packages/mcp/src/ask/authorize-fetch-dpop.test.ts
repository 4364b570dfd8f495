import { accessTokenRequestSchema } from '@postern/api';
import { expect, test } from 'vitest';
import { accountWorld } from '../testing/account-world.ts';

async function boundWorld() {
  const world = await accountWorld();
  world.api.boundTo = await world.connections.bindTokens();
  return world;
}
type World = Awaited<ReturnType<typeof boundWorld>>;

const proofRequests = (world: World) =>
  world.gateway.requests
    .filter(({ path }) => path.endsWith('/access-token'))
    .flatMap(({ body }) => accessTokenRequestSchema.parse(body).dpop ?? []);

test('every request carries a new proof, without query and fragment', async () => {
  await using world = await boundWorld();
  const statuses = await world.use(async account => [
    (await account.fetch(`${world.api.url}/repos?page=2#top`)).status,
    (await account.fetch(`${world.api.url}/repos`, { method: 'patch', body: 'title' })).status,
  ]);
  expect(statuses).toEqual([200, 200]);
  expect(proofRequests(world)).toEqual([
    { method: 'GET', url: `${world.api.url}/repos` },
    { method: 'PATCH', url: `${world.api.url}/repos` },
  ]);
});

test('every proof contains the nonce once the API has required it', async () => {
  await using world = await boundWorld();
  world.api.nonce = 'nonce-1';
  await world.use(async account => {
    expect((await account.fetch(world.api.url)).status).toBe(200);
    expect((await account.fetch(world.api.url)).status).toBe(200);
    world.api.nonce = 'nonce-2';
    expect((await account.fetch(world.api.url)).status).toBe(200);
    // A body that cannot be sent twice uses the known nonce.
    const body = new Blob(['title']).stream();
    expect((await account.fetch(world.api.url, { method: 'POST', body, duplex: 'half' })).status).toBe(200);
  });
  expect(world.api.statuses).toEqual([401, 200, 200, 401, 200, 200]);
  const nonces = proofRequests(world).map(({ nonce }) => nonce);
  expect(nonces).toEqual([undefined, 'nonce-1', 'nonce-1', 'nonce-1', 'nonce-2', 'nonce-2']);
  expect(world.connections.renewals).toBe(0);
});

test('a nonce of one API is not sent to another', async () => {
  await using world = await boundWorld();
  await using other = await boundWorld();
  other.api.boundTo = world.api.boundTo;
  other.api.accepts = world.api.accepts;
  world.api.nonce = 'nonce-1';
  await world.use(async account => {
    await account.fetch(world.api.url);
    expect((await account.fetch(other.api.url)).status).toBe(200);
  });
  expect(proofRequests(world).at(-1)).toEqual({ method: 'GET', url: `${other.api.url}/` });
});

test('a nonce received after a redirect belongs to the other API', async () => {
  await using world = await boundWorld();
  await using other = await boundWorld();
  world.api.location = `${other.api.url}/repos`;
  other.api.nonce = 'nonce-1';
  await world.use(async account => {
    await account.fetch(`${world.api.url}/moved`, { redirect: 'follow' });
    expect((await account.fetch(world.api.url)).status).toBe(200);
  });
  expect(other.api.statuses).toEqual([401]);
  expect(proofRequests(world).map(({ nonce }) => nonce)).toEqual([undefined, undefined]);
});

test('returns the challenge for a body that cannot be sent twice', async () => {
  await using world = await boundWorld();
  world.api.nonce = 'nonce-1';
  const init = { method: 'POST', body: new Blob(['title']).stream(), duplex: 'half' } as const;
  expect(await world.use(async account => (await account.fetch(world.api.url, init)).status)).toBe(401);
  expect(world.api.requests).toMatchObject([{ body: 'title' }]);
});

test('a rejected token is refreshed with proof and nonce', async () => {
  await using world = await boundWorld();
  world.api.nonce = 'nonce-1';
  world.api.accepts = token => world.connections.renewals === 1 && token === world.connections.current('co-el-1');
  expect(await world.use(async account => (await account.fetch(world.api.url)).status)).toBe(200);
  expect(world.api.statuses).toEqual([401, 401, 200]);
  expect(world.connections.renewals).toBe(1);
});

test.each([
  ['a proof that the API does not believe', 'DPoP error="invalid_dpop_proof"', undefined],
  ['a nonce that changes with every request', 'DPoP error="use_dpop_nonce"', 'next'],
  ['a nonce that no proof can carry', 'DPoP error="use_dpop_nonce"', 'a b'],
])('%s does not count as a rejection of the token', async (_name, challenge, nonce) => {
  await using world = await boundWorld();
  world.api.challenge = challenge;
  world.api.nonce = nonce;
  world.api.boundTo = 'another key';
  expect(await world.use(async account => (await account.fetch(world.api.url)).status)).toBe(401);
  expect(world.api.statuses.length).toBe(nonce === 'next' ? 2 : 1);
  expect(world.connections.renewals).toBe(0);
});

test('a response without the requested proof is an invalid_response', async () => {
  await using world = await boundWorld();
  world.connections.tamper = ({ dpopProof: _, ...answer }) => answer;
  await expect(world.use(account => account.fetch(world.api.url))).rejects.toMatchObject({ code: 'invalid_response' });
  expect(world.api.requests).toEqual([]);
});
