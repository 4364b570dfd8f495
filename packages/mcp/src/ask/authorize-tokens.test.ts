import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { accountWorld } from '../testing/account-world.ts';
import { ACCESS_TOKEN } from '../testing/contract-connections.ts';

const requestsTo = (world: Awaited<ReturnType<typeof accountWorld>>) =>
  world.gateway.requests.filter(({ path }) => path.endsWith('/access-token')).map(({ body }) => body);

test('a request for a token names the tool, and nothing else', async () => {
  await using world = await accountWorld();
  expect(await world.use(account => account.accessToken())).toBe(world.connections.current('co-el-1'));
  expect(requestsTo(world)).toEqual([{ tool: 'create_issue' }]);
  expect(world.connections.tools).toEqual(['create_issue']);
});

test('an account has the members of the callback that the gateway keeps', async () => {
  await using world = await accountWorld();
  expect(await world.use(account => account.callbackMembers())).toEqual({});
  world.connections.tamper = answer => ({ ...answer, callbackMembers: { realmId: '9130347798120106' } });
  expect(await world.use(account => account.callbackMembers())).toEqual({ realmId: '9130347798120106' });
});

test('a rejected token is reported by its generation, and refreshed once however often it is reported', async () => {
  await using world = await accountWorld();
  const tokens = await world.use(async account => {
    const first = await account.accessToken();
    const others = await Promise.all([1, 2, 3].map(() => account.accessToken({ rejected: first })));
    return [first, ...others, await account.accessToken({ rejected: first })];
  });
  expect(new Set(tokens).size).toBe(2);
  expect(world.connections.renewals).toBe(1);
});

test('the generation of a token is remembered however many newer tokens were read', async () => {
  await using world = await accountWorld();
  await world.use(async account => {
    const first = await account.accessToken();
    world.connections.renew('co-el-1');
    for (let count = 0; count < 20; count += 1) await account.accessToken();
    expect(await account.accessToken({ rejected: first })).toBe(world.connections.current('co-el-1'));
  });
  expect(requestsTo(world).at(-1)).toEqual({ tool: 'create_issue', rejectedGeneration: 1 });
  expect(world.connections.renewals).toBe(0);
});

test('a token of an earlier run is refreshed if it is still the current one', async () => {
  await using world = await accountWorld();
  const earlier = await world.use(account => account.accessToken());
  const renewed = await world.use(account => account.accessToken({ rejected: earlier ?? '' }));
  expect(renewed).not.toBe(earlier);
  expect(world.connections.renewals).toBe(1);
  expect(await world.use(account => account.accessToken({ rejected: earlier ?? '' }))).toBe(renewed);
  expect(world.connections.renewals).toBe(1);
});

test('suspends the handler and asks the user if the token cannot be refreshed', async () => {
  await using world = await accountWorld();
  world.connections.refreshable = false;
  const outcome = await world.run(async gate => {
    const github = await gate.try.authorize('github');
    if (github.action !== 'accept') throw new Error(github.reason);
    return await github.accessToken({ rejected: await github.accessToken() });
  });
  expect(outcome.type).toBe('plain');
  expect(world.gateway.elicitations.at(-1)).toMatchObject({ elicitationId: 'el-2', status: 'pending' });
});

test('a generation of one connection is not compared with another connection', async () => {
  await using world = await accountWorld();
  const tokens = await world.use(async account => {
    const first = await account.accessToken();
    world.connections.lose('co-el-1');
    // Another call on another replica has asked the user and got the answer.
    const elsewhere = world.gateway.requests.find(({ path }) => path === '/v1/elicitations');
    await fetch(`${world.gateway.url}/v1/elicitations`, {
      method: 'POST',
      headers: { authorization: elsewhere?.authorization ?? '' },
      body: JSON.stringify(elsewhere?.body),
    });
    world.gateway.end('completed');
    const second = await account.accessToken({ rejected: first });
    return [second, await account.accessToken({ rejected: first })];
  });
  const current = world.connections.current('co-el-2');
  expect(tokens).toEqual([current, current]);
  expect(world.connections.renewals).toBe(0);
});

test.each([
  ['a line break', 'canary\nsecret'],
  ['a letter beyond ASCII', 'canary-sécret'],
  ['nothing', ''],
])('a token with %s is refused without being quoted', async (_name, accessToken) => {
  await using world = await accountWorld();
  world.connections.tamper = answer => ({ ...answer, accessToken });
  const error = await world.use(account => account.fetch(world.api.url)).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'invalid_response' });
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary');
});

test('refuses a token type that is invalid in a header', async () => {
  await using world = await accountWorld();
  world.connections.tamper = answer => ({ ...answer, tokenType: 'Bearer\r\nx:' });
  await expect(world.use(account => account.accessToken())).rejects.toMatchObject({ code: 'invalid_response' });
});

test('inspecting the account shows no token', async () => {
  await using world = await accountWorld();
  const shown = await world.use(async account => {
    await account.accessToken();
    return inspect(account, { depth: 9, showHidden: true }) + JSON.stringify(account);
  });
  expect(shown).toContain('co-el-1');
  expect(shown).not.toContain(ACCESS_TOKEN);
});

test("a signal ends one token request, the call's signal ends all, and that of authorize ends none", async () => {
  await using world = await accountWorld();
  const asking = new AbortController();
  await world.run(async gate => {
    const github = await gate.try.authorize('github', { signal: asking.signal });
    if (github.action !== 'accept') throw new Error(github.reason);
    asking.abort();
    expect(await github.accessToken()).toBe(world.connections.current('co-el-1'));
    await expect(github.accessToken({ signal: AbortSignal.abort(new Error('mine')) })).rejects.toThrow('mine');
    world.abort.abort(new Error('gone'));
    await expect(github.accessToken()).rejects.toThrow('gone');
    await expect(github.fetch(world.api.url)).rejects.toThrow('gone');
  });
  expect(world.api.requests).toEqual([]);
});
