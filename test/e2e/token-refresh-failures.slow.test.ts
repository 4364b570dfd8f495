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
import { dumpStore } from '../support/store-dump.ts';
import { ageAccessToken, expireAccessToken } from '../support/token-expiry.ts';
import { startWorld, type World } from '../support/world.ts';

const LONGEST_BACK_OFF_MS = 60_000;
/** The sweep sends revocations that failed at first. */
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

const expire = ({ connectionId }: ConnectedPerson) => expireAccessToken(world, connectionId, world.clock.now());
const age = ({ connectionId }: ConnectedPerson) => ageAccessToken(world, connectionId, world.clock.now());
const refreshesAt = (provider: Pick<EvilProvider, 'requests'>) =>
  provider.requests('token').filter(({ form }) => form['grant_type'] === 'refresh_token').length;
const fail = (fault: { status: number; body?: string; headers?: Record<string, string>; times?: number }) =>
  world.provider.fault({ endpoint: 'token', grantType: 'refresh_token', ...fault });

/** Connections at the evil provider, which also issues refresh tokens. */
async function honest(form: URLSearchParams): Promise<EvilAnswer> {
  if (form.get('grant_type') === 'refresh_token') return { body: honestRefresh() };
  return { body: await honestTokens(evil, { refresh_token: 'evil-refresh-token' }) };
}

/** Records so many failures that the longest back-off follows the next one. */
async function hasFailedOften({ connectionId }: ConnectedPerson): Promise<void> {
  const { connections } = world.gateways[0]?.deps.stores ?? {};
  const id = parseConnectionId(connectionId);
  const current = id === undefined ? undefined : await connections?.read(id);
  if (connections === undefined || current === undefined) throw new Error('no such connection');
  for (let nth = 0; nth < 10; nth += 1) {
    const holder = `holder-${nth}`;
    await connections.beginRefresh({ current, holder, leaseMs: 1_000 });
    await connections.postponeRefresh({ current, holder, delayMs: 0 });
  }
}

describe('N1: a failing provider and a valid token', () => {
  it('returns the token, backs off from the provider and refreshes later', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    fail({ status: 503 });
    for (let nth = 0; nth < 8; nth += 1) {
      await age(person);
      // The first call asks the provider; the others use the known result.
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
    // Failures before a success do not count.
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
    ['a scope that no longer exists', { status: 400, body: '{"error":"invalid_scope"}' }],
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

describe('N1: a failing provider and an expired token', () => {
  it('a short failure is invisible to the caller', async () => {
    const person = await connectPerson(world);
    const { generation } = await person.token();
    await expire(person);
    fail({ status: 503, times: 1 });
    expect((await person.token()).generation).toBe(generation + 1);
    expect(refreshesAt(world.provider)).toBe(2);
  });

  it('answers 502 with Retry-After, calls the provider no more often, and keeps the grant', async () => {
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

describe('N2: the response of a refresh is lost', () => {
  const faults = [
    ['a broken connection', { drop: 'after' }],
    ['a proxy’s 504', { when: 'after', status: 504 }],
    ['half an answer', { when: 'after', status: 200, body: '{"access_token":"at' }],
  ] as const;
  const lose = (fault: (typeof faults)[number][1]) =>
    world.provider.fault({ endpoint: 'token', grantType: 'refresh_token', times: 1, ...fault });

  it.each(faults)('%s: a provider with a grace period repeats it', async (_, fault) => {
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

  it.each(faults)('%s: a provider without a grace period ends the grant, and the user is asked', async (_, fault) => {
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
  it('answers 409 with one audit event, and the next ask shows the reason; reconnecting works', async () => {
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

  it('a token that has not expired is not returned either', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    await world.provider.endGrant(world.provider.tokens.grantOf(first.accessToken)?.grantId ?? '');
    expect((await person.refusal({ rejectedGeneration: first.generation })).status).toBe(409);
    expect((await person.refusal()).status).toBe(409);
  });
});

describe('T10: a rejected refresh after another replica has refreshed', () => {
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

describe('a disconnect during a refresh', () => {
  it('revokes the new tokens as well', async () => {
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

  it('keeps a new connection at a provider that revokes all tokens at once', async () => {
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
    // The waiting call gets the token of the new connection.
    expect(await late).toEqual(await person.token());
    // Redis contains no pending revocation.
    expect(Object.keys(await dumpStore(world)).filter(key => key.includes(':rv:'))).toEqual([]);
    expect(evil.requests('revocation')).toHaveLength(1);
  });
});

describe('N3: malformed refresh responses', () => {
  // A refresh does without a readable scope (S226).
  const { 'scope of another kind': _, ...answers } = malformedTokenAnswers(honestRefresh());

  it(`none of ${Object.keys(answers).length} ends the grant or is stored; a valid response afterwards is`, async () => {
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
    // The refresh token stayed the same during the failures, and is the next one now.
    expect(evil.requests('token').at(-1)?.form['refresh_token']).toBe('evil-refresh-token');
    await expire(person);
    await person.token();
    expect(evil.requests('token').at(-1)?.form['refresh_token']).toBe(honestRefresh()['refresh_token']);
  });
});
