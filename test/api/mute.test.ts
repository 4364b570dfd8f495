import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from '../support/contract.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

const OPEN = 3;
let world: World;
beforeAll(async () => {
  world = await startWorld({
    mcpServer: { limits: { openElicitationsPerSubject: OPEN } },
    otherMcpServers: [{ id: 'wiki' }],
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const another = (user: string, nth: number) =>
  askFor(world, user, { authorization: { provider: 'forge', scopes: ['repo'], expectedAccount: `account-${nth}` } });

it('S104: the request above the limit gets 429 with a retry time, for one user and one MCP server', async () => {
  const user = world.subject();
  const issued = await Promise.all(Array.from({ length: 3 * OPEN }, (_, nth) => world.api.issue(another(user, nth))));
  const created = issued.filter(({ status }) => status === 201);
  expect(created).toHaveLength(OPEN);
  for (const refused of issued.filter(({ status }) => status !== 201)) {
    expectProblem(refused, 'too_many_open_elicitations');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await world.apiOf({ apiKey: keyOf('wiki') }).issue(askFor(world, user))).status).toBe(201);
  expect((await world.api.issue(askFor(world, world.subject()))).status).toBe(201);
  await world.api.cancel(created[0]?.body.elicitationId ?? '');
  expect((await world.api.issue(another(user, 100))).status).toBe(201);
});

it('S105: a muted MCP server gets 403 with the page for undoing it, but still the elicitation that is open', async () => {
  const user = world.subject();
  const open = await world.ask(user);
  const { issuer, subject } = askFor(world, user).subject as { issuer: string; subject: string };
  await world.gateways[0]?.deps.stores.mutes.mute({ issuer, subject }, 'tracker');
  const refused = await world.api.issue(another(user, 1));
  expectProblem(refused, 'muted');
  expect(refused.body).toMatchObject({ undoUrl: `${world.publicUrl}/me` });
  expect(await world.api.issue(askFor(world, user))).toMatchObject({
    status: 200,
    body: { elicitationId: open.elicitationId },
  });
  expect((await world.apiOf({ apiKey: keyOf('wiki') }).issue(askFor(world, user))).status).toBe(201);
});
