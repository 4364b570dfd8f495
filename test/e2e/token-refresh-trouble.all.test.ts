import { parseConnectionId } from '@postern/elicitation';
import {
  type EvilAnswer,
  type EvilProvider,
  honestRefresh,
  honestTokens,
  malformedTokenAnswers,
  startEvilProvider,
} from '@postern/testkit/providers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ConnectedPerson, connectPerson } from '../support/connected-person.ts';
import { dumpRedis } from '../support/redis-dump.ts';
import { ageAccessToken, expireAccessToken } from '../support/token-expiry.ts';
import { startWorld, type World } from '../support/world.ts';

const LONGEST_BACK_OFF_MS = 60_000;
/** Revocations that could not be told at once are told by a sweeper. */
const UNTIL_SWEPT = { timeout: 100_000 };

let world: World;
let evil: EvilProvider;
let logged = 0;

beforeAll(async () => {
  evil = await startEvilProvider({ clientId: 'postern-at-evil' });
  evil.offer('revocation_endpoint');
  world = await startWorld({
    replicas: 2,
    mcpServer: { providers: ['forge', 'evil'] },
    config: ({ base }) => ({
      providers: [
        ...(base.providers ?? []),
        {
          name: 'evil',
          displayName: 'Evil Forge',
          issuer: evil.issuer,
          clientId: 'postern-at-evil',
          clientSecret: 'evil-client-secret',
          baseScopes: ['openid'],
          account: { from: 'id_token' as const },
          revocation: { reach: 'grant' as const },
        },
      ],
    }),
  });
});
beforeEach(() => {
  world.clock.ahead = 0;
  world.provider.clearFaults();
  world.provider.clearRequests();
  world.provider.switches.refreshTokens = 'rotate-strict';
  audited();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await evil?.close();
});

interface AuditLine {
  readonly event: string;
  readonly code?: string;
  readonly delayMs?: number;
  readonly reason?: string;
  readonly generation?: number;
  readonly subject?: string;
}

/** Audit events about connections since the last call. */
function audited(): AuditLine[] {
  const text = world.log();
  const lines = text.slice(logged).split('\n');
  logged = text.length;
  return lines
    .filter(line => line.includes('"event":"connection.'))
    .map(line => JSON.parse(line) as AuditLine)
    .filter(({ event }) => event !== 'connection.token_read');
}

const expire = ({ connectionId }: ConnectedPerson) =>
  expireAccessToken(world.redis.url, connectionId, world.clock.now());
const age = ({ connectionId }: ConnectedPerson) => ageAccessToken(world.redis.url, connectionId, world.clock.now());
const refreshesAt = (provider: Pick<EvilProvider, 'requests'>) =>
  provider.requests('token').filter(({ form }) => form['grant_type'] === 'refresh_token').length;
const fail = (fault: { status: number; body?: string; headers?: Record<string, string>; times?: number }) =>
  world.provider.fault({ endpoint: 'token', grantType: 'refresh_token', ...fault });

/** Of the evil provider, which also issues refresh tokens. */
async function honest(form: URLSearchParams): Promise<EvilAnswer> {
  if (form.get('grant_type') === 'refresh_token') return { body: honestRefresh() };
  return { body: await honestTokens(evil, { refresh_token: 'evil-refresh-token' }) };
}

/** As if the provider had been in trouble for a while already: the next failure is followed by the longest back-off. */
async function hasFailedOften({ connectionId }: ConnectedPerson): Promise<void> {
  const { connections } = world.gateways[0]?.deps.stores ?? {};
  const id = parseConnectionId(connectionId);
  const current = id === undefined ? undefined : await connections?.read(id);
  if (connections === undefined || current === undefined) throw new Error('no such connection');
  for (let nth = 0; nth < 10; nth += 1) {
    const holder = `trouble-${nth}`;
    await connections.beginRefresh({ current, holder, leaseMs: 1_000 });
    await connections.postponeRefresh({ current, holder, delayMs: 0 });
  }
}

describe('N1: a provider in trouble, and a token that is good for now', () => {
  it('is handed out, the provider is left alone for a growing while, and renewing works afterwards', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    fail({ status: 503 });
    for (let nth = 0; nth < 8; nth += 1) {
      await age(person);
      // The first call asks the provider, the others know.
      for (let call = 0; call < 3; call += 1) expect((await person.token()).accessToken).toBe(first.accessToken);
      expect(refreshesAt(world.provider)).toBe(nth + 1);
      const [postponed, ...others] = audited();
      const longest = Math.min(1_000 * 2 ** nth, LONGEST_BACK_OFF_MS);
      expect(postponed).toMatchObject({ event: 'connection.refresh_postponed', code: 'provider_unavailable' });
      expect(postponed?.delayMs).toBeGreaterThanOrEqual(longest / 2);
      expect(postponed?.delayMs).toBeLessThanOrEqual(longest);
      expect(others).toEqual([]);
      world.clock.ahead += LONGEST_BACK_OFF_MS;
    }
    expect((await person.listed())?.status).toBe('usable');

    world.provider.clearFaults();
    await age(person);
    expect((await person.token()).generation).toBe(first.generation + 1);
    // Trouble that is over does not count towards the next.
    fail({ status: 503, times: 1 });
    await age(person);
    await person.token();
    const [renewed, postponed] = audited();
    expect(renewed?.event).toBe('connection.refreshed');
    expect(postponed?.delayMs).toBeLessThanOrEqual(1_000);
  });

  it.each([
    ['the operator’s slip', { status: 401, body: '{"error":"invalid_client"}' }],
    ['a refusal of the request', { status: 400, body: '{"error":"invalid_request"}' }],
    ['a client that may not refresh', { status: 400, body: '{"error":"unauthorized_client"}' }],
    ['a scope that is gone', { status: 400, body: '{"error":"invalid_scope"}' }],
    ['too many requests', { status: 429, headers: { 'retry-after': '7' } }],
    ['nothing but a status', { status: 400 }],
  ])('%s does not end the grant', async (_, fault) => {
    const person = await connectPerson(world);
    const first = await person.token();
    fail({ ...fault, headers: { 'content-type': 'application/json', ...('headers' in fault ? fault.headers : {}) } });
    await age(person);
    expect((await person.token()).accessToken).toBe(first.accessToken);
    expect(refreshesAt(world.provider)).toBe(1);
    world.provider.clearFaults();
    world.clock.ahead = LONGEST_BACK_OFF_MS;
    await expire(person);
    expect((await person.token()).generation).toBe(first.generation + 1);
  });
});

describe('N1: a provider in trouble, and a token that is over', () => {
  it('a moment of it is not noticed by who asks', async () => {
    const person = await connectPerson(world);
    const { generation } = await person.token();
    await expire(person);
    fail({ status: 503, times: 1 });
    expect((await person.token()).generation).toBe(generation + 1);
    expect(refreshesAt(world.provider)).toBe(2);
  });

  it('502 with Retry-After, the provider is not asked more often than that, and the grant is kept', async () => {
    const person = await connectPerson(world);
    const { generation } = await person.token();
    await expire(person);
    await hasFailedOften(person);
    fail({ status: 500 });
    const refusal = await person.refusal();
    expect(refusal).toMatchObject({ status: 502, code: 'upstream_unavailable' });
    expect(Number(refusal.retryAfter)).toBeGreaterThanOrEqual(LONGEST_BACK_OFF_MS / 2 / 1_000);
    for (let call = 0; call < 5; call += 1) expect((await person.refusal()).status).toBe(502);
    expect(refreshesAt(world.provider)).toBe(1);
    expect((await person.listed())?.status).toBe('usable');

    world.clock.ahead += LONGEST_BACK_OFF_MS;
    expect((await person.refusal()).status).toBe(502);
    expect(refreshesAt(world.provider)).toBe(2);

    world.provider.clearFaults();
    expect((await person.refusal()).status).toBe(502);
    world.clock.ahead += LONGEST_BACK_OFF_MS;
    expect((await person.token()).generation).toBe(generation + 1);
    expect(refreshesAt(world.provider)).toBe(3);
  });
});

describe('N2: the provider has renewed, and its answer is lost', () => {
  const faults = [
    ['a broken connection', { drop: 'after' }],
    ['a proxy’s 504', { when: 'after', status: 504 }],
    ['half an answer', { when: 'after', status: 200, body: '{"access_token":"at' }],
  ] as const;
  const lose = (fault: (typeof faults)[number][1]) =>
    world.provider.fault({ endpoint: 'token', grantType: 'refresh_token', times: 1, ...fault });

  it.each(faults)('%s: a provider with grace answers again', async (_, fault) => {
    world.provider.switches.refreshTokens = 'rotate-grace';
    const person = await connectPerson(world);
    const { generation } = await person.token();
    await expire(person);
    lose(fault);
    const token = await person.token();
    expect(token.generation).toBe(generation + 1);
    const { tokens } = world.provider;
    expect(tokens.statusOf(token.accessToken)).toBe('current');
    expect(tokens.grantOf(token.accessToken)).toMatchObject({ rotations: 1, graceAnswers: 1, reuses: 0 });
  });

  it.each(faults)('%s: a provider without ends the grant, and its person is asked', async (_, fault) => {
    const person = await connectPerson(world);
    await expire(person);
    lose(fault);
    expect(await person.refusal()).toMatchObject({ status: 409, code: 'reauthorization_required' });
    const { elicitationId } = await person.askedAgain();
    await person.connectAgain(elicitationId);
    expect((await person.listed())?.status).toBe('usable');
  });
});

describe('T10: a grant that the provider ends', () => {
  it('409, one audit event, and the next ask shows its person why; connecting again works', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    const { provider } = world;
    const grant = provider.tokens.grantOf(first.accessToken);
    await provider.endGrant(grant?.grantId ?? '');
    await expire(person);
    audited();
    const refusals = await Promise.all(Array.from({ length: 10 }, () => person.refusal()));
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ status: 409, code: 'reauthorization_required', retryAfter: null });
    expect(refreshesAt(provider)).toBe(1);
    const lines = audited();
    expect(lines).toMatchObject([{ event: 'connection.lost', reason: 'refused', generation: 1 }]);
    expect(lines[0]?.subject).toMatch(/^[A-Za-z0-9_-]{16}$/);
    expect((await person.listed())?.status).toBe('reauthorization_required');

    const { elicitationId, page } = await person.askedAgain();
    expect(page).toContain('no longer accepts the connection you made');
    await person.connectAgain(elicitationId);
    const second = await person.token();
    expect(provider.tokens.statusOf(second.accessToken)).toBe('current');
    expect(second.generation).toBeGreaterThan(first.generation);
    expect((await person.listed())?.status).toBe('usable');
  });

  it('a token that is good for now is not handed out either once that is known', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    await world.provider.endGrant(world.provider.tokens.grantOf(first.accessToken)?.grantId ?? '');
    expect((await person.refusal({ rejectedGeneration: first.generation })).status).toBe(409);
    expect((await person.refusal()).status).toBe(409);
  });
});

describe('T10: a refusal that comes when another replica has renewed', () => {
  it('does not end the newer tokens', async () => {
    evil.tokenAnswer = honest;
    const person = await connectPerson(world, { authorization: { provider: 'evil' } });
    const first = await person.token();
    await expire(person);
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    evil.tokenAnswer = async () => {
      evil.tokenAnswer = honest;
      asked.resolve();
      await released.promise;
      return { status: 400, body: { error: 'invalid_grant' } };
    };
    const late = person.token();
    await asked.promise;
    world.clock.ahead += LONGEST_BACK_OFF_MS;
    const other = await world.apiOf({ replica: 1 }).accessToken(person.connectionId);
    expect(other.body.generation).toBe(first.generation + 1);
    released.resolve();
    expect(await late).toEqual(other.body);
    expect(await person.token()).toEqual(other.body);
  });
});

describe('a disconnection while the provider answers', () => {
  it('ends what was just issued as well', async () => {
    const { provider } = world;
    const person = await connectPerson(world);
    const first = await person.token();
    await expire(person);
    provider.onRefresh(async () => {
      provider.onRefresh(undefined);
      expect((await world.api.remove(person.connectionId)).status).toBe(200);
    });
    expect(await person.refusal()).toMatchObject({ status: 404 });
    const issued = provider.tokens.grantOf(first.accessToken)?.refreshes.at(-1);
    await expect
      .poll(() => provider.revocations().map(({ digest }) => digest), UNTIL_SWEPT)
      .toContain(issued?.successor);
  });

  it('does not end what its person has connected anew, at a provider that revokes everything at once', async () => {
    evil.tokenAnswer = honest;
    const person = await connectPerson(world, { authorization: { provider: 'evil' } });
    await expire(person);
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    evil.tokenAnswer = async form => {
      if (form.get('grant_type') !== 'refresh_token') return honest(form);
      asked.resolve();
      await released.promise;
      return honest(form);
    };
    const late = person.token();
    await asked.promise;
    expect((await world.api.remove(person.connectionId)).status).toBe(200);
    expect(evil.requests('revocation')).toHaveLength(1);
    const { elicitationId } = await person.askedAgain();
    await person.connectAgain(elicitationId);
    released.resolve();
    // The call that waited gets the token of the new connection.
    expect(await late).toEqual(await person.token());
    // What the gateways are still to tell providers lies in Redis: nothing.
    expect(Object.keys(await dumpRedis(world.redis.url)).filter(key => key.includes(':rv:'))).toEqual([]);
    expect(evil.requests('revocation')).toHaveLength(1);
  });
});

describe('N3: malformed answers to a refresh', () => {
  const answers = malformedTokenAnswers(honestRefresh());

  it(`none of ${Object.keys(answers).length} ends the grant or is stored; the honest one afterwards is`, async () => {
    evil.tokenAnswer = honest;
    const person = await connectPerson(world, { authorization: { provider: 'evil' } });
    const first = await person.token();
    audited();
    for (const [name, answer] of Object.entries(answers)) {
      const asked = refreshesAt(evil);
      await age(person);
      evil.answerNext('token', answer);
      expect(await person.token(), name).toMatchObject({
        accessToken: first.accessToken,
        generation: first.generation,
      });
      expect(refreshesAt(evil), name).toBe(asked + 1);
      expect(audited(), name).toMatchObject([{ event: 'connection.refresh_postponed' }]);
      world.clock.ahead += LONGEST_BACK_OFF_MS;
    }
    await expire(person);
    expect(await person.token()).toMatchObject({
      accessToken: honestRefresh()['access_token'],
      generation: first.generation + 1,
    });
    // The refresh token was the same all the time, and is the next one now.
    expect(evil.requests('token').at(-1)?.form['refresh_token']).toBe('evil-refresh-token');
    await expire(person);
    await person.token();
    expect(evil.requests('token').at(-1)?.form['refresh_token']).toBe(honestRefresh()['refresh_token']);
  });
});
