import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, visitorFor } from '../support/asks.ts';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

describe('S03: credentials of other users at /me', () => {
  it('are neither shown nor deleted', async () => {
    const [user, other] = [world.subject(), world.subject()];
    const lasting = { kind: 'credential', credential: { ...apiKeyRequest, retention: 'lasting' } } as const;
    const mine = await issueFor(world, user, lasting);
    const owner = await visitorFor(world, user, mine.elicitationId);
    await acceptWith(owner, mine.elicitationId, { api_key: 'ak_0123456789' });
    const theirs = await issueFor(world, other, lasting);
    const stranger = await visitorFor(world, other, theirs.elicitationId);
    await acceptWith(stranger, theirs.elicitationId, { api_key: 'ak_9876543210' });
    const linkOf = async (raw: RawBrowser) =>
      /\/me\/credentials\/[^"]+\/delete/.exec((await raw.get('/me')).body)?.[0] ?? '';
    const [link, ownLink] = [await linkOf(owner), await linkOf(stranger)];
    expect(link).not.toBe(ownLink);
    const unknownLink = `/me/credentials/cr_00${'A'.repeat(43)}/delete`;
    const unknown = await stranger.get(unknownLink);
    const foreign = await stranger.get(link);
    // The form of the language leads back to the path that was requested.
    expect([foreign.status, foreign.body.replace(`value="${link}"`, `value="${unknownLink}"`)]).toEqual([
      404,
      unknown.body,
    ]);
    const form = { csrf_token: csrfTokenIn(await stranger.get(ownLink)) };
    expect(await stranger.post(link, { form })).toMatchObject({ status: 303, location: '/me' });
    expect((await owner.post(link, { form })).status).toBe(403);
    expect((await owner.post(link, { form: {} })).status).toBe(400);
    const own = { csrf_token: csrfTokenIn(await owner.get(link)) };
    expect((await owner.post(link, { form: own, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    expect((await world.api.credentials(subject)).body.credentials).toHaveLength(1);
    expect((await owner.post(link, { form: own })).status).toBe(200);
    expect((await world.api.credentials(subject)).body.credentials).toEqual([]);
  });
});
