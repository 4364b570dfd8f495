import { isShortRun } from '@postern/testkit/run-size';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { visitorFor } from '../support/asks.ts';
import { type AnyKind, allKinds, approvalForm, approve, askKind } from '../support/every-kind.ts';
import type { RawAnswer, RawBrowser } from '../support/raw-browser.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const SECRET_WORDS = 'words-for-alice-only';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({
    people: 160,
    payment: { passkeyAbove: { JPY: 100 } },
    mcpServer: { limits: { elicitationsPerSubject: 1000 } },
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

/** Every route through which a user decides about an elicitation of any kind. */
const decisions = ['accept', 'decline', 'passkey', 'passkey/new', 'charge'] as const;
const looks = ['', '/passkey', '/charge', '/leaving', '/device'] as const;
/** The short run has every kind and every route, and all routes of payments, the only kind that has all. */
const cases = allKinds
  .flatMap((kind, nth) => decisions.map((route, at) => [kind, route, (nth + at) % decisions.length] as const))
  .filter(([kind, , shift]) => !isShortRun || kind === 'payment' || shift < 2)
  .map(([kind, route]) => [kind, route] as const);

const eventsOf = (event: string, elicitationId: string): number =>
  world
    .log()
    .split('\n')
    .filter(line => line.includes(`"${event}"`) && line.includes(elicitationId)).length;

/** All form fields of these routes. */
async function stolenForm(owner: RawBrowser, elicitationId: string, kind: AnyKind): Promise<Record<string, string>> {
  return { ...(await approvalForm(owner, elicitationId, kind)), ceremony: 'x', response: '{}' };
}

const tokenIn = ({ body }: RawAnswer): string => /name="csrf_token" value="([^"]+)"/.exec(body)?.[1] ?? '';

describe('S03: another user at an elicitation of any kind', () => {
  it('the list contains every route', () => {
    const app = world.gateways[0]?.app;
    const found = (app === undefined ? [] : registeredRoutes(app))
      .filter(({ method, path }) => method === 'POST' && path.startsWith('/e/:elicitationId/'))
      .map(({ path }) => path.slice('/e/:elicitationId/'.length));
    expect(found.toSorted()).toEqual([...decisions, 'device'].toSorted());
  });

  it.each(allKinds)('%s: sees nothing on any page and writes nothing', async kind => {
    const [user, other] = [world.subject(), world.subject()];
    const { elicitationId } = await askKind(world, user, kind, { message: SECRET_WORDS });
    const raw = await visitorFor(world, other, elicitationId);
    const before = await storedElicitation(world, elicitationId);
    for (const look of looks) {
      const page = await raw.get(`/e/${elicitationId}${look}`);
      expect([look, page.status]).toEqual([look, 403]);
      for (const word of [SECRET_WORDS, 'Book Shop', '24.90', 'attic', 'API key', 'Delivery', 'order-', 'Match'])
        expect(page.body).not.toContain(word);
    }
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });

  it.each(cases)('%s, POST %s: decides and consumes nothing, and is recorded in the audit log', async (kind, route) => {
    const [user, other] = [world.subject(), world.subject()];
    const { elicitationId } = await askKind(world, user, kind, { message: SECRET_WORDS });
    const owner = await visitorFor(world, user, elicitationId);
    const form = await stolenForm(owner, elicitationId, kind);
    const raw = await visitorFor(world, other, elicitationId);
    const csrf_token = tokenIn(await raw.get(`/e/${elicitationId}`));
    world.provider.clearRequests();
    const before = await storedElicitation(world, elicitationId);
    const refused = eventsOf('elicitation.wrong_person', elicitationId);
    // A route that does not exist for the kind returns 404 to every user.
    const isThere = kind === 'payment' || route === 'accept' || route === 'decline';
    const stolen = form['csrf_token'] ?? '';
    for (const [token, status] of [
      [csrf_token, isThere ? 403 : 404],
      [stolen, 403],
      ['', 403],
    ] as const) {
      const answer = await raw.post(`/e/${elicitationId}/${route}`, { form: { ...form, csrf_token: token } });
      expect(answer.status).toBe(status);
      expect(answer.body).not.toContain(SECRET_WORDS);
    }
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
    expect(world.provider.requests('token')).toEqual([]);
    if (isThere) expect(eventsOf('elicitation.wrong_person', elicitationId)).toBe(refused + 1);
    // The right user can continue normally.
    expect(await approve(owner, elicitationId, kind)).toMatchObject({ status: 303 });
    expect((await world.api.read(elicitationId)).body.status).toBe('completed');
  });

  it.each(cases)('%s, POST %s: without a session gets the same 401 as an unknown id', async (kind, route) => {
    const { elicitationId } = await askKind(world, 'alice', kind, {
      message: SECRET_WORDS,
    });
    const before = await storedElicitation(world, elicitationId);
    const raw = world.raw();
    const real = await raw.post(`/e/${elicitationId}/${route}`, { form: { csrf_token: 'x' } });
    const unknown = await raw.post(`/e/el_00${'A'.repeat(43)}/${route}`, { form: { csrf_token: 'x' } });
    expect([real.status, unknown.status]).toEqual([401, 401]);
    expect(real.body.replaceAll(elicitationId, '')).toBe(unknown.body.replaceAll(`el_00${'A'.repeat(43)}`, ''));
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
    await world.api.cancel(elicitationId);
  });
});

describe('S26, T21: forms from other origins and without the CSRF token are refused', () => {
  it.each(cases)('%s, POST %s', async (kind, route) => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    const form = await stolenForm(raw, elicitationId, kind);
    const foreign = await visitorFor(world, 'bob', elicitationId);
    const foreignToken = tokenIn(await foreign.get(`/e/${elicitationId}`));
    const before = await storedElicitation(world, elicitationId);
    const post = (request: Parameters<RawBrowser['post']>[1]) => raw.post(`/e/${elicitationId}/${route}`, request);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { 'sec-fetch-site': undefined, origin: 'null' },
      { 'sec-fetch-site': undefined, origin: 'https://evil.example' },
      { 'sec-fetch-site': undefined, origin: undefined },
      { origin: 'https://evil.example' },
    ])
      expect([headers, (await post({ form, headers })).status]).toEqual([headers, 403]);
    for (const csrf_token of ['', 'x', foreignToken, form['csrf_token']?.slice(1) ?? ''])
      expect((await post({ form: { ...form, csrf_token } })).status).toBe(403);
    const { csrf_token: _, ...without } = form as Record<string, string>;
    expect((await post({ form: without })).status).toBe(400);
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });
});
