import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RawAnswer } from '../support/raw-browser.ts';
import { dumpStore } from '../support/store-dump.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    otherMcpServers: [
      { id: 'embedded', identity: { mode: 'external', verifyUrl: 'https://application.example/verify' } },
    ],
  });
});
afterEach(() => world.provider.clearRequests());
afterAll(() => world?.[Symbol.asyncDispose]());

const tokenRequests = () => world.provider.requests('token').length;
const isSignedIn = ({ setCookies }: RawAnswer) => setCookies.some(line => line.startsWith('postern_session=bs_'));

/** Every sealed value that the gateway issues during the flow of an application's user. */
async function sealedValues() {
  const api = world.apiOf({ apiKey: keyOf('embedded') });
  const ask = askFor(world, world.subject());
  const { elicitationId } = (await api.issue(ask)).body;
  const raw = world.raw();
  const opening = new URL((await raw.get(`/login?e=${elicitationId}`)).location ?? '').searchParams.get(
    'verificationId',
  );
  const verify = (verificationId: string) =>
    api.call<{ continueUrl?: string; code?: string }>('POST', `/v1/elicitations/${elicitationId}/verify`, {
      verificationId,
      subject: ask.subject,
    });
  const { body } = await verify(opening ?? '');
  const ticket = new URL(body.continueUrl ?? '').searchParams.get('ticket') ?? '';
  await raw.get('/login?to=me');
  const login = raw.cookies.get('postern_login0') ?? '';
  return { raw, verify, opening: opening ?? '', ticket, login };
}

const garbage = [
  'x',
  '....',
  'a.b.c.d.e',
  '%00',
  '%E2%80%AE',
  '"quoted"',
  '{"state":"x"}',
  `${Buffer.from('{"alg":"none"}').toString('base64url')}....`,
  `${Buffer.from('{"alg":"dir","enc":"A256GCM","kid":"test"}').toString('base64url')}..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA`,
  `${Buffer.from('{"alg":"PBES2-HS512+A256KW","p2c":2147483647,"p2s":"AAAA","enc":"A256GCM","kid":"test"}').toString('base64url')}.AAAA.AAAA.AAAA.AAAA`,
  'A'.repeat(3000),
];

describe('planted values', () => {
  it('a value sealed for one purpose is rejected for another', async () => {
    const { raw, verify, opening, ticket, login } = await sealedValues();
    for (const foreign of [opening, login, `${ticket.slice(0, -2)}AA`, ...garbage]) {
      const answer = await raw.get(`/login/continue?ticket=${encodeURIComponent(foreign)}`);
      expect([foreign.slice(0, 40), answer.status, isSignedIn(answer)]).toEqual([foreign.slice(0, 40), 400, false]);
    }
    for (const foreign of [ticket, login, ...garbage.filter(value => value !== '')])
      expect([foreign.slice(0, 40), (await verify(foreign)).body.code]).toEqual([
        foreign.slice(0, 40),
        'verification_unknown',
      ]);
    for (const foreign of [opening, ticket, ...garbage]) {
      const thief = world.raw();
      for (const slot of [0, 1, 2, 3]) thief.cookies.set(`postern_login${slot}`, foreign);
      const answer = await thief.get(
        `/login/callback/example-id?code=x&state=${'A'.repeat(43)}&iss=${world.identityProvider.issuer}`,
      );
      expect([foreign.slice(0, 40), answer.status, isSignedIn(answer)]).toEqual([foreign.slice(0, 40), 400, false]);
    }
    // None of these attempts consumed the ticket.
    expect((await raw.get(`/login/continue?ticket=${ticket}`)).status).toBe(303);
  });

  it('truncated, doubled, foreign or malformed cookies create no session and cause no error', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const session = raw.cookies.get('postern_session') ?? '';
    const before = await dumpStore(world);
    const values = [
      session.slice(0, -1),
      `${session}A`,
      session.toUpperCase(),
      session.replace('bs_', 'el_'),
      ...garbage,
    ];
    for (const value of values) {
      for (const cookie of [`postern_session=${value}`, `postern_session=${value}; postern_browser=${value}`]) {
        const stranger = world.raw();
        for (const path of [`/e/${elicitationId}`, `/e/${elicitationId}/leaving`]) {
          const answer = await stranger.get(path, { headers: { cookie } });
          expect([value.slice(0, 40), answer.status]).toEqual([value.slice(0, 40), 200]);
          expect(answer.body).not.toContain('csrf_token');
        }
        const form = { csrf_token: 'x' };
        const decided = await stranger.post(`/e/${elicitationId}/accept`, { form, headers: { cookie } });
        expect([value.slice(0, 40), decided.status]).toEqual([value.slice(0, 40), 401]);
      }
    }
    expect(await dumpStore(world)).toEqual(before);
  });

  it('S04: a callback needs the browser id cookie in addition to the session', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const [raw, swapped] = [world.raw(), world.raw()];
    await raw.signIn(elicitationId, user);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    swapped.cookies.set('postern_session', raw.cookies.get('postern_session') ?? '');
    swapped.cookies.set('postern_browser', 'A'.repeat(43));
    expect((await swapped.get(callback)).status).toBe(400);
    expect(tokenRequests()).toBe(0);
  });

  it('A5: a code in a POST or without its state is rejected', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    const fields = Object.fromEntries(callback.searchParams);
    expect(
      (await raw.post(callback.pathname, { form: fields, headers: { 'sec-fetch-site': 'cross-site' } })).status,
    ).toBe(404);
    const { state = '', ...stateless } = fields;
    for (const query of [stateless, { ...stateless, state: '' }, { ...stateless, state: state.slice(0, -1) }])
      expect((await raw.get(`${callback.pathname}?${new URLSearchParams(query)}`)).status).toBe(400);
    expect(tokenRequests()).toBe(0);
    // None of these requests belonged to the transaction, so none consumed it.
    expect((await raw.get(callback)).status).toBe(303);
    expect(tokenRequests()).toBe(1);
  });

  it('A7, nonce: an ID token of another transaction of the same user is rejected', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const destination = await raw.accept(elicitationId);
    const tampered = new URL(destination);
    tampered.searchParams.set('nonce', 'chosen-by-somebody-else');
    const callback = await raw.decideAtProvider(tampered, 'alice');
    await raw.get(callback);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    const swapped = new URL(await raw.accept(elicitationId));
    swapped.searchParams.set('code_challenge', 'A'.repeat(43));
    await raw.get(await raw.decideAtProvider(swapped, 'alice'));
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  it('an edited link without a session leads to sign-in', async () => {
    for (const id of [
      'x',
      '%00',
      '%0d%0aSet-Cookie:x=y',
      '%22%3E%3Cscript%3E',
      '%E2%80%AE',
      '..%2f..%2f',
      'A'.repeat(3000),
    ]) {
      for (const query of ['', '?switch=1', '?switch=1&switch=2', '?switch[]=1', '?__proto__=x']) {
        const answer = await world.raw().get(`/e/${id}${query}`);
        expect([id.slice(0, 40), query, answer.status]).toEqual([id.slice(0, 40), query, 200]);
        expect(answer.body).not.toMatch(/<script(?! src="\/assets\/postern-)/);
        expect(answer.setCookies).toEqual([]);
      }
    }
  });
});
