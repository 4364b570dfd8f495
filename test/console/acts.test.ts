import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connected } from '../support/connections.ts';
import type { RawAnswer, RawBrowser } from '../support/raw-browser.ts';
import type { World } from '../support/world.ts';
import { csrfTokenIn, operators, signedIn, startConsoleWorld } from './console-world.ts';

let world: World;
let operator: RawBrowser;
beforeAll(async () => {
  world = await startConsoleWorld({ otherMcpServers: [{ id: 'other' }], sweepPauseMs: 50 });
  operator = await signedIn(world, operators.operator, '/login?to=%2F&fresh=1');
});
afterAll(() => world[Symbol.asyncDispose]());

const reason = 'ticket 4711';
const jobIn = ({ location }: RawAnswer): string => /^\/jobs\/jb_[\w-]{22}$/.exec(location ?? '')?.[0] ?? 'no job';

/** Waits for the end of a job as an operator does: by the page, which reloads itself. */
async function ended(path: string): Promise<RawAnswer> {
  await expect
    .poll(async () => (await operator.get(path)).headers['refresh'], { timeout: 60_000, interval: 300 })
    .toBeUndefined();
  return operator.get(path);
}

const confirm = async (page: RawAnswer, path: string, fields: Record<string, string> = {}) =>
  operator.post(path, { form: { csrf_token: csrfTokenIn(page), reason, ...fields } });

const connectionsOf = async (user: string) => {
  const subject = new URLSearchParams({ issuer: world.identityProvider.issuer, subject: user });
  return (await world.api.call('GET', `/v1/connections?${subject}`)).body;
};

describe('S155: every act says what it will do, and runs once it is confirmed', () => {
  it('disconnects one connection, as a job with a page', async () => {
    const { connectionId } = await connected(world, { user: 'alice' });
    const path = `/connections/${connectionId}/disconnect`;
    expect((await operator.get('/connections')).body).toContain(path);
    const page = await operator.get(path);
    expect(page.body).toMatch(/<b><bdi>1<\/bdi><\/b> <bdi>connection</);
    const done = await ended(jobIn(await confirm(page, path)));
    expect(done.body).toContain('value="100"');
    expect(done.body).toContain(connectionId);
    expect(JSON.stringify(await connectionsOf('alice'))).not.toContain(connectionId);
    expect((await operator.get(path)).status).toBe(404);
    expect((await operator.get('/audit?event=admin.disconnect_started')).body).toContain(reason);
    expect((await operator.get('/jobs')).body).toContain(operators.operator);
  });

  it('disconnects all of a provider since a date, and none that are older', async () => {
    const { connectionId } = await connected(world, { user: 'bob' });
    const today = new Date(world.clock.now()).toISOString().slice(0, 10);
    const tomorrow = new Date(world.clock.now() + 86_400_000).toISOString().slice(0, 10);
    expect((await operator.get(`/disconnect?provider=forge&since=${tomorrow}`)).body).not.toContain('name="reason"');
    const page = await operator.get(`/disconnect?provider=forge&since=${today}`);
    expect(page.body).toContain('name="reason"');
    await ended(jobIn(await confirm(page, '/disconnect', { provider: 'forge', mcpServer: '', since: today })));
    expect(JSON.stringify(await connectionsOf('bob'))).not.toContain(connectionId);
  });

  it.each(['', '?since=2026-01-01', '?provider=forge&all=1', '?provider=forge&since=yesterday'])(
    'never starts a job for everything or for what it does not understand: /disconnect%s',
    async query => {
      expect((await operator.get(`/disconnect${query}`)).status).toBe(400);
      const page = await operator.get('/disconnect?provider=forge');
      const form = { csrf_token: csrfTokenIn(page), reason, ...Object.fromEntries(new URLSearchParams(query)) };
      expect((await operator.post('/disconnect', { form })).status).toBe(400);
    },
  );

  it('cancels one elicitation, and shows its end', async () => {
    const { elicitationId } = await world.ask('carol');
    const path = `/elicitations/${elicitationId}/cancel`;
    expect((await operator.get(`/elicitations/${elicitationId}`)).body).toContain(path);
    const done = await confirm(await operator.get(path), path);
    expect(done).toMatchObject({ status: 303, location: `/elicitations/${elicitationId}` });
    expect((await operator.get(`/elicitations/${elicitationId}`)).body).toContain('cancelled');
    expect((await operator.get(path)).body).not.toContain('name="reason"');
  });

  it.each(['session', 'csrf', 'origin', 'reason', 'freshness'] as const)('refuses without %s', async missing => {
    const { elicitationId } = await world.ask(`without-${missing}`);
    const path = `/elicitations/${elicitationId}/cancel`;
    const form = { csrf_token: csrfTokenIn(await operator.get(path)), reason };
    const attempt = async () => {
      switch (missing) {
        case 'session':
          return world.raw().post(path, { form });
        case 'csrf':
          return operator.post(path, { form: { ...form, csrf_token: 'x' } });
        case 'origin':
          return operator.post(path, {
            form,
            headers: { origin: 'https://evil.example', 'sec-fetch-site': undefined },
          });
        case 'reason':
          return operator.post(path, { form: { ...form, reason: ' ' } });
        case 'freshness':
          world.clock.pass(301);
          return operator.post(path, { form });
      }
    };
    try {
      expect((await attempt()).status).toBeGreaterThanOrEqual(400);
    } finally {
      world.clock.backToNow();
    }
    expect((await world.api.read(elicitationId)).body).toMatchObject({ status: 'pending' });
  });
});

describe('S156: acts about a person', () => {
  it('disconnect and sign out a person, whose subject is in no URL', async () => {
    const { connectionId, raw } = await connected(world, { user: 'alice' });
    const person = { issuer: world.identityProvider.issuer, subject: 'alice' };
    const found = await operator.post('/people', {
      form: { csrf_token: csrfTokenIn(await operator.get('/people')), ...person, reason },
    });
    const csrf_token = csrfTokenIn(found);
    for (const act of ['disconnect', 'sign-out']) {
      expect(found.body).toContain(`action="/people/${act}"`);
      expect((await operator.get(`/people/${act}?subject=alice`)).status).toBe(404);
    }
    const plan = await operator.post('/people/disconnect', { form: { csrf_token, ...person } });
    expect(plan.body).toMatch(/<b><bdi>1<\/bdi><\/b> <bdi>connection</);
    expect(plan.body).not.toMatch(/href="[^"]*alice/);
    world.clock.pass(301);
    const stale = await operator.post('/people/disconnect', { form: { csrf_token, ...person } });
    expect(stale.body).toContain('/login?to=%2Fpeople');
    expect(stale.body).not.toMatch(/href="[^"]*alice/);
    world.clock.backToNow();
    const done = await ended(jobIn(await confirm(plan, '/people/disconnect/confirmed', person)));
    expect(done.body).not.toContain('alice');
    expect(JSON.stringify(await connectionsOf('alice'))).not.toContain(connectionId);

    expect((await raw.get('/me')).status).toBe(200);
    const signOut = await operator.post('/people/sign-out', { form: { csrf_token, ...person } });
    expect(signOut.body).toMatch(/<b><bdi>[1-9]\d*<\/bdi><\/b> <bdi>browser session/);
    expect((await raw.get('/me')).location).toBeUndefined();
    expect((await confirm(signOut, '/people/sign-out/confirmed', person)).status).toBe(303);
    expect((await raw.get('/me')).body).not.toContain('alice Example');
  });
});
