import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawBrowser } from '../support/raw-browser.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const asking = (...scopes: string[]) => ({ authorization: { provider: 'forge', scopes } });

/** Accepts and allows everything that is asked; tells what was asked. */
async function connect(raw: RawBrowser, elicitationId: string): Promise<string[]> {
  const authorizationUrl = await raw.accept(elicitationId);
  await raw.get(await raw.decideAtProvider(authorizationUrl, 'alice'));
  expect((await stage.api.read(elicitationId)).body.status).toBe('completed');
  return authorizationUrl.searchParams.get('scope')?.split(' ').sort() ?? [];
}

async function isServed(user: string, ...scopes: string[]): Promise<boolean> {
  const issuer = stage.world.identityProvider.issuer;
  const { body } = await stage.api.issue({
    kind: 'authorization',
    subject: { issuer, subject: user },
    ...asking(...scopes),
  });
  return body.status === 'completed';
}

describe('S19 two tools of one MCP server that need different scopes', () => {
  it('do not take each other’s away: what is there is asked for again, and shown', async () => {
    const user = stage.subject();
    const raw = stage.raw();
    const first = await stage.ask(user, asking('repo'));
    await raw.signIn(first.elicitationId, user);
    await connect(raw, first.elicitationId);

    const second = await stage.ask(user, asking('issues'));
    const page = await raw.get(`/e/${second.elicitationId}`);
    expect(page.body).toContain('read the list of your repositories');
    expect(page.body).toContain('create issues in your name');
    expect(await connect(raw, second.elicitationId)).toEqual(['issues', 'openid', 'profile', 'repo']);
    expect(await isServed(user, 'repo')).toBe(true);
    expect(await isServed(user, 'issues')).toBe(true);
  });

  it('may both be waiting for an answer before either has one', async () => {
    const user = stage.subject();
    const raw = stage.raw();
    const first = await stage.ask(user, asking('repo'));
    const second = await stage.ask(user, asking('issues'));
    await raw.signIn(first.elicitationId, user);
    expect(await connect(raw, first.elicitationId)).toEqual(['openid', 'profile', 'repo']);
    expect(await connect(raw, second.elicitationId)).toEqual(['issues', 'openid', 'profile', 'repo']);
    expect(await isServed(user, 'issues', 'repo')).toBe(true);
  });

  it('keep apart for another MCP server and another person', async () => {
    const [user, other] = [stage.subject(), stage.subject()];
    const raw = stage.raw();
    const first = await stage.ask(user, asking('repo'));
    await raw.signIn(first.elicitationId, user);
    await connect(raw, first.elicitationId);

    const foreign = stage.raw();
    const theirs = await stage.ask(other, asking('issues'));
    await foreign.signIn(theirs.elicitationId, other);
    expect(await connect(foreign, theirs.elicitationId)).toEqual(['issues', 'openid', 'profile']);
  });
});
