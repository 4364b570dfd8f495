import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptFormIn, type RawBrowser } from '../support/raw-browser.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const asking = (...scopes: string[]) => ({ authorization: { provider: 'forge', scopes } });

/** Accepts and allows everything. @returns the requested scopes */
async function connect(raw: RawBrowser, elicitationId: string): Promise<string[]> {
  const authorizationUrl = await raw.accept(elicitationId);
  await raw.get(await raw.decideAtProvider(authorizationUrl, 'alice'));
  expect((await world.api.read(elicitationId)).body.status).toBe('completed');
  return authorizationUrl.searchParams.get('scope')?.split(' ').sort() ?? [];
}

async function isServed(user: string, ...scopes: string[]): Promise<boolean> {
  const issuer = world.identityProvider.issuer;
  const { body } = await world.api.issue({
    kind: 'authorization',
    subject: { issuer, subject: user },
    ...asking(...scopes),
  });
  return body.status === 'completed';
}

describe('S19: two tools of one MCP server that need different scopes', () => {
  it('keep each other’s scopes: existing scopes are requested again and shown', async () => {
    const user = world.subject();
    const raw = world.raw();
    const first = await world.ask(user, asking('repo'));
    await raw.signIn(first.elicitationId, user);
    await connect(raw, first.elicitationId);

    const second = await world.ask(user, asking('issues'));
    const page = await raw.get(`/e/${second.elicitationId}`);
    expect(page.body).toContain('read the list of your repositories');
    expect(page.body).toContain('create issues in your name');
    expect(await connect(raw, second.elicitationId)).toEqual(['issues', 'openid', 'profile', 'repo']);
    expect(await isServed(user, 'repo')).toBe(true);
    expect(await isServed(user, 'issues')).toBe(true);
  });

  it('share one elicitation until the user agrees to it', async () => {
    const user = world.subject();
    const raw = world.raw();
    const first = await world.ask(user, asking('repo'));
    const second = await world.api.issue(askFor(world, user, asking('issues')));
    expect([second.status, second.body.elicitationId]).toEqual([200, first.elicitationId]);
    await raw.signIn(first.elicitationId, user);
    const page = await raw.get(`/e/${first.elicitationId}`);
    expect(page.body).toContain('read the list of your repositories');
    expect(page.body).toContain('create issues in your name');
    expect(await connect(raw, first.elicitationId)).toEqual(['issues', 'openid', 'profile', 'repo']);
    expect(await isServed(user, 'issues', 'repo')).toBe(true);
  });

  it('ask again if a scope was added after the page was rendered', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, asking('repo'));
    await raw.signIn(elicitationId, user);
    const form = await raw.acceptForm(elicitationId);
    await world.api.issue(askFor(world, user, asking('issues')));

    world.provider.clearRequests();
    const answer = await raw.post(`/e/${elicitationId}/accept`, { form });
    expect(answer.status).toBe(409);
    expect(answer.body).toContain('create issues in your name');
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    expect((await raw.get(`/e/${elicitationId}/leaving`)).location).toBe(`/e/${elicitationId}`);
    // The new page asks for consent.
    const accepted = await raw.post(`/e/${elicitationId}/accept`, { form: acceptFormIn(answer) });
    expect(accepted.location).toBe(`/e/${elicitationId}/leaving`);
  });

  it('get separate elicitations once the first is active, and keep each other’s scopes', async () => {
    const user = world.subject();
    const raw = world.raw();
    const first = await world.ask(user, asking('repo'));
    await raw.signIn(first.elicitationId, user);
    const underWay = await raw.accept(first.elicitationId);
    // An ask for the same scopes as those in progress joins the active elicitation.
    const same = await world.api.issue(askFor(world, user, asking('repo')));
    expect([same.status, same.body.elicitationId]).toEqual([200, first.elicitationId]);
    const second = await world.ask(user, asking('issues'));
    expect(second.elicitationId).not.toBe(first.elicitationId);

    expect(underWay.searchParams.get('scope')?.split(' ').sort()).toEqual(['openid', 'profile', 'repo']);
    await raw.get(await raw.decideAtProvider(underWay, 'alice'));
    expect((await world.api.read(first.elicitationId)).body.outcome?.scopes).toEqual(['openid', 'profile', 'repo']);
    expect(await connect(raw, second.elicitationId)).toEqual(['issues', 'openid', 'profile', 'repo']);
    expect(await isServed(user, 'issues', 'repo')).toBe(true);
  });

  it('get separate elicitations for another MCP server or another user', async () => {
    const [user, other] = [world.subject(), world.subject()];
    const raw = world.raw();
    const first = await world.ask(user, asking('repo'));
    await raw.signIn(first.elicitationId, user);
    await connect(raw, first.elicitationId);

    const foreign = world.raw();
    const theirs = await world.ask(other, asking('issues'));
    await foreign.signIn(theirs.elicitationId, other);
    expect(await connect(foreign, theirs.elicitationId)).toEqual(['issues', 'openid', 'profile']);
  });
});
