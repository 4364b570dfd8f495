import { randomBytes } from 'node:crypto';
import { startOpenIdProvider, type TestProvider } from '@postern/testkit/providers';
import { sampled } from '@postern/testkit/run-size';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, deletion, issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { declineOnPage } from '../support/person-at-gateway.ts';
import type { RawAnswer, RawBrowser } from '../support/raw-browser.ts';
import { askFor, freePort, keyOf, startWorld, type World, worldUsers } from '../support/world.ts';

let world: World;
let second: TestProvider;
beforeAll(async () => {
  const publicUrl = `http://localhost:${await freePort()}`;
  const client = { clientId: 'postern', clientSecret: 'other-secret' };
  second = await startOpenIdProvider({
    name: 'Other ID',
    consent: 'skip',
    users: worldUsers,
    clients: [{ ...client, redirectUris: [`${publicUrl}/login/callback/other-id`] }],
  });
  const payment = paymentPolicy();
  const confirmation = { freshSignInSeconds: 60 };
  world = await startWorld({
    publicUrl,
    mcpServer: { payment, confirmation },
    otherMcpServers: [
      { id: 'neighbour', payment, issuers: [second.issuer] },
      { id: 'app', payment, identity: { mode: 'external', verifyUrl: 'https://application.example/verify' } },
    ],
    config: ({ base }) => ({
      identityProviders: [...(base.identityProviders ?? []), { name: 'other-id', issuer: second.issuer, ...client }],
    }),
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await second?.close();
});

const randomId = (like: string) => `${like.slice(0, 5)}${randomBytes(32).toString('base64url')}`;
const masked = (value: string) => `(${value.length})`;

/** A response with random values replaced by their length. */
function shapeOf({ status, rawHeaders, location = '', body }: RawAnswer, elicitationId: string): object {
  const to = new URL(location, world.publicUrl);
  const parameters = [...to.searchParams].map(([name, value]) => {
    if (value === elicitationId) return [name, 'the id'];
    return [name, /^(?:state|nonce|code_challenge|verificationId)$/.test(name) ? masked(value) : value];
  });
  const headers = rawHeaders.flatMap((name, at) => {
    const value = rawHeaders[at + 1] ?? '';
    if (at % 2 === 1 || /^(?:date|location|x-request-id|x-ratelimit-remaining|x-ratelimit-reset)$/i.test(name))
      return [];
    return [[name, /^set-cookie$/i.test(name) ? value.replace(/=[^;]*/, masked) : value]];
  });
  return { status, headers, to: to.origin + to.pathname, parameters, body: body.length };
}

async function shapeAt(raw: RawBrowser, elicitationId: string, query = ''): Promise<string> {
  const cookies = new Map(raw.cookies);
  const shape = shapeOf(await raw.get(`/login?e=${elicitationId}${query}`), elicitationId);
  raw.cookies.clear();
  for (const [name, value] of cookies) raw.cookies.set(name, value);
  return JSON.stringify(shape);
}

/** Ids of every status, kind, user and MCP server, by the sign-in method of their user. */
async function realIds(): Promise<Record<'login' | 'neighbour' | 'app', string[]>> {
  const [user, other] = [world.subject(), world.subject()];
  const pending = await issueFor(world, user, paymentOf({ processor: 'none' }));
  const guarded = await issueFor(world, other, { kind: 'confirmation', confirmation: deletion });
  const plain = await world.ask(user);
  const declined = await issueFor(world, other, paymentOf({ processor: 'none' }));
  await declineOnPage(world.raw(), declined.elicitationId, other);
  const cancelled = await world.ask(other, { authorization: { provider: 'forge', scopes: ['issues'] } });
  await world.api.cancel(cancelled.elicitationId);
  const approved = await issueFor(world, other, { kind: 'confirmation', confirmation: { ...deletion, title: 'x' } });
  await acceptWith(await visitorFor(world, other, approved.elicitationId), approved.elicitationId);
  const of = async (id: string, issuer: string) => {
    const subject = { issuer, subject: world.subject() };
    const api = world.apiOf({ apiKey: keyOf(id) });
    const { body } = await api.issue({ ...paymentOf({ processor: 'none' }), subject } as Parameters<
      typeof api.issue
    >[0]);
    const ask = { ...askFor(world, subject.subject), subject };
    return [body.elicitationId, (await api.issue(ask)).body.elicitationId];
  };
  return {
    login: [pending, guarded, plain, declined, cancelled, approved].map(({ elicitationId }) => elicitationId),
    neighbour: await of('neighbour', second.issuer),
    app: await of('app', world.identityProvider.issuer),
  };
}

describe('S76: /login?e= does not reveal whether an elicitation id exists', () => {
  const browsers: readonly (readonly [string, string, boolean])[] = [
    ['an anonymous browser', '', false],
    ['an anonymous browser that asks for a fresh sign-in', '&fresh=1', false],
    ['an anonymous browser that switches users', '&switch=1', false],
    ['another user', '', true],
    ['another user who asks for a fresh sign-in', '&fresh=1', true],
  ];
  it.each(sampled(browsers, 4))(
    '%s gets the same response for a random id as for a real one',
    async (_, query, isSignedIn) => {
      const ids = await realIds();
      const raw = isSignedIn ? await visitorFor(world, world.subject(), ids.login[0] ?? '') : world.raw();
      const ways = new Set<string>();
      for (const group of Object.values(ids)) {
        const shapes: string[] = [];
        for (const id of group) shapes.push(await shapeAt(raw, id, query));
        expect(new Set(shapes).size).toBe(1);
        ways.add(shapes[0] ?? '');
      }
      expect(ways.size).toBe(3);
      const seen = new Set<string>();
      for (let round = 0; round < 60; round += 1) {
        const id = randomId(ids.login[0] ?? '');
        const shape = await shapeAt(raw, id, query);
        expect([...ways]).toContain(shape);
        expect(await shapeAt(raw, id, query)).toBe(shape);
        seen.add(shape);
      }
      // Sixty ids miss one of three methods once in a billion times.
      expect(seen).toEqual(ways);
      for (const way of ways) expect(way).not.toContain('max_age');
    },
  );

  it('only the right user is asked for a fresh sign-in, after check 1 and without another click', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf({ processor: 'none' }));
    const raw = world.raw();
    const answer = await raw.get(await raw.signInAnswer(elicitationId, user));
    expect(answer).toMatchObject({ status: 303, location: `/login?e=${elicitationId}` });
    const stepUp = new URL((await raw.get(answer.location ?? '')).location ?? '');
    expect(stepUp.searchParams.get('max_age')).toBe('300');
    const wrong = world.raw();
    expect(await wrong.get(await wrong.signInAnswer(elicitationId, world.subject()))).toMatchObject({
      location: `/e/${elicitationId}`,
    });
    expect(await shapeAt(wrong, elicitationId)).not.toContain('max_age');
  });
});

it('S02: without identity providers, a random id gets the page of a real id in identity mode external', async () => {
  await using alone = await startWorld({
    mcpServer: { identity: { mode: 'external', verifyUrl: 'https://application.example/verify' } },
    config: { identityProviders: [] },
  });
  const { elicitationId } = await alone.ask(alone.subject());
  const random = randomId(elicitationId);
  const [real, unknown] = [await alone.raw().get(`/e/${elicitationId}`), await alone.raw().get(`/e/${random}`)];
  expect(real.status).toBe(200);
  expect(unknown.status).toBe(200);
  expect(unknown.body.replaceAll(random, elicitationId)).toBe(real.body);
  const destination = ({ location = '' }: RawAnswer) => new URL(location).origin;
  expect(destination(await alone.raw().get(`/login?e=${random}`))).toBe('https://application.example');
});

describe('S82: a fresh sign-in is requested only if the elicitation needs it', () => {
  it('a plain authorization never requests max_age, even if other elicitations of the same MCP server would', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    expect(await raw.get(await raw.signInAnswer(elicitationId, user))).toMatchObject({
      location: `/e/${elicitationId}`,
    });
    expect(await shapeAt(raw, elicitationId)).not.toContain('max_age');
  });
});
