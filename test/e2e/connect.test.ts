import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, launchBrowser, newPerson, signIn } from '../support/browser.ts';
import { ALICE, askFor, startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;

beforeAll(async () => {
  browser = await launchBrowser();
  world = await startWorld();
});
afterAll(async () => {
  await browser?.close();
  await world?.[Symbol.asyncDispose]();
});

describe('the main job', () => {
  it('connects a third-party account and hands the token to the MCP server over the API alone', async () => {
    await using alice = await newPerson(browser, ALICE);
    const api = world.api();
    const { body: issued } = await api.issue(askFor(world, ALICE));
    const waiting = api.read(issued.elicitationId, 50);

    await alice.page.goto(issued.url);
    await signIn(alice.page, ALICE);
    await expect(alice.page.getByText(issued.matchCode).first().isVisible()).resolves.toBe(true);
    await connect(alice.page, ALICE);
    await alice.page.waitForURL(issued.url);

    const { body: completed } = await waiting;
    expect(completed).toMatchObject({ status: 'completed', outcome: { provider: 'forge' } });
    expect(completed.outcome?.scopes).toContain('repo');
    const token = await api.accessToken(completed.outcome?.connectionId ?? '');
    expect(token).toMatchObject({ status: 200, body: { tokenType: 'Bearer' } });
    const userinfo = await fetch(`${world.provider.issuer}/me`, {
      headers: { authorization: `Bearer ${token.body.accessToken}` },
    });
    expect(await userinfo.json()).toMatchObject({ sub: ALICE });

    const served = await api.issue(askFor(world, ALICE));
    expect(served).toMatchObject({ status: 200, body: { status: 'completed', outcome: completed.outcome } });
  });
});
