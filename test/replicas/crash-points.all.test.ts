import { parseConnectionId } from '@postern/elicitation';
import type { RefreshTokenMode } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ConnectedPerson, connectPerson } from '../support/connected-person.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { endRefreshLease, expireAccessToken, settleTokenSet } from '../support/token-expiry.ts';
import { listenForWakeUp } from '../support/wake-up.ts';
import { createApi, keyOf, startWorld, type World } from '../support/world.ts';

// Killed right after a commit, or with a refresh token rotated and nothing stored: P6 and P9 of the fault catalogue.

let world: World;
/** The process that is killed, stopped and started again. The gateway of the world lives through everything. */
let victim: GatewayProcess;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  world = stack.use(await startWorld({ isRedisKilled: true }));
});
beforeEach(async () => {
  world.provider.clearFaults();
  world.provider.clearRequests();
  world.provider.switches.refreshGrace = { uses: 10, seconds: 60 };
  victim = await startGatewayProcess(world.config);
});
afterEach(() => victim?.[Symbol.asyncDispose]());
afterAll(() => stack.disposeAsync());

const atVictim = () => createApi(victim.address, keyOf('tracker'));
const statusOf = (accessToken: string) => world.provider.tokens.statusOf(accessToken);
const refreshRequests = () =>
  world.provider.requests('token').filter(({ form }) => form['grant_type'] === 'refresh_token').length;

/** Once, when the provider has rotated and nobody has its answer yet. */
function whenRotated(hook: () => Promise<void> | void): void {
  world.provider.onRefresh(async () => {
    world.provider.onRefresh(undefined);
    await hook();
  });
}

/** A person whose access token is over. */
async function personInNeed(mode: RefreshTokenMode) {
  world.provider.switches.refreshTokens = mode;
  const person = await connectPerson(world);
  const first = await person.token();
  await expireAccessToken(world.redis.url, person.connectionId);
  /** What the provider knows of the grant. */
  const grant = () => world.provider.tokens.grantOf(first.accessToken);
  return { person, first, grant };
}

/** Asked again, the person is told why, agrees, and has a connection that works. */
async function expectReconnects(person: ConnectedPerson): Promise<void> {
  expect((await person.listed())?.status).toBe('reauthorization_required');
  const { elicitationId, page } = await person.askedAgain();
  expect(page).toContain('no longer accepts the connection you made');
  await person.connectAgain(elicitationId);
  expect(statusOf((await person.token()).accessToken)).toBe('current');
}

describe('killed right after the new tokens were stored', () => {
  it('another replica hands them out and asks nobody', async () => {
    const { person, first, grant } = await personInNeed('rotate-strict');
    const { woken } = await listenForWakeUp(world.redis.url, person.connectionId);
    const answered = atVictim()
      .accessToken(person.connectionId)
      .catch(() => undefined);
    await woken;
    await victim.kill();
    await answered;
    const token = await person.token();
    expect(token.generation).toBe(first.generation + 1);
    expect(statusOf(token.accessToken)).toBe('current');
    expect(refreshRequests()).toBe(1);
    expect(grant()).toMatchObject({ status: 'live', rotations: 1, reuses: 0 });
  });
});

describe('T10: stopped for longer than the lease, and going on', () => {
  /** One process is stopped with the provider's answer before it; the other one asks when the lease is over. */
  async function stoppedInRefresh(mode: RefreshTokenMode) {
    const need = await personInNeed(mode);
    whenRotated(() => victim.suspend());
    const late = atVictim().accessToken(need.person.connectionId);
    await expect.poll(() => need.grant()?.rotations).toBe(1);
    await endRefreshLease(world.redis.url, need.person.connectionId);
    const other = await world.api.accessToken(need.person.connectionId);
    victim.resume();
    return { ...need, other, late: await late };
  }

  it('a provider with grace: both hand out the same token, the provider has rotated once', async () => {
    const { person, first, grant, other, late } = await stoppedInRefresh('rotate-grace');
    expect(other.body.generation).toBe(first.generation + 1);
    expect(late.body).toEqual(other.body);
    expect(await person.token()).toEqual(other.body);
    expect(statusOf(other.body.accessToken)).toBe('current');
    expect(grant()).toMatchObject({ status: 'live', rotations: 1, graceAnswers: 1, reuses: 0 });
  });

  it('a provider without has ended the grant: whoever still gets a token learns it with the first report', async () => {
    const { person, grant, other, late } = await stoppedInRefresh('rotate-strict');
    // Seen by the provider: one rotation, one use of the old refresh token, the end of the family.
    expect(grant()).toMatchObject({ status: 'revoked', rotations: 1, reuses: 1 });
    expect(other).toMatchObject({ status: 409, body: { code: 'reauthorization_required' } });
    // The late answer is stored where it got through: a provider that only refuses would have left it good.
    if (late.status === 200) {
      await settleTokenSet(world.redis.url, person.connectionId);
      const rejectedGeneration = late.body.generation;
      expect(await person.refusal({ rejectedGeneration })).toMatchObject({ code: 'reauthorization_required' });
    } else {
      expect(late).toMatchObject({ status: 409, body: { code: 'reauthorization_required' } });
    }
    await expectReconnects(person);
  });
});

describe('Redis away in a refresh', () => {
  const redis = () => {
    const { server } = world.redis;
    if (server === undefined) throw new Error('this world has no Redis of its own');
    return server;
  };
  const readiness = async () => (await fetch(`${world.gateways[0]?.address}/readyz`)).status;
  const untilReady = () => expect.poll(readiness).toBe(200);

  it.each([
    { how: 'killed', away: () => redis().kill(), back: () => redis().restart() },
    { how: 'frozen', away: async () => redis().suspend(), back: async () => redis().resume() },
  ])('T10: $how between the answer of the provider and the store: kept, because storing is tried again', async p => {
    const { person, first, grant } = await personInNeed('rotate-strict');
    whenRotated(p.away);
    const call = person.token();
    await expect.poll(() => grant()?.refreshes.at(-1)?.answer).toBe('sent');
    await expect.poll(readiness).toBe(503);
    await p.back();
    const token = await call;
    expect(token.generation).toBe(first.generation + 1);
    expect(statusOf(token.accessToken)).toBe('current');
    expect(grant()).toMatchObject({ status: 'live', rotations: 1, reuses: 0 });
    await untilReady();
    expect(await person.token()).toEqual(token);
  });

  it('R1: a restart forgets neither who is asking nor that the provider is in trouble', async () => {
    const { person } = await personInNeed('rotate-strict');
    const { connections } = world.gateways[0]?.deps.stores ?? {};
    const id = parseConnectionId(person.connectionId);
    const current = id === undefined ? undefined : await connections?.read(id);
    if (connections === undefined || current === undefined) throw new Error('no such connection');
    const begin = (holder: string) => connections.beginRefresh({ current, holder, leaseMs: 60_000 });
    const restart = async () => {
      await redis().kill();
      await redis().restart();
      await untilReady();
    };

    expect((await begin('one')).result).toBe('begun');
    await restart();
    expect((await begin('another')).result).toBe('held');
    await connections.postponeRefresh({ current, holder: 'one', delayMs: 60_000 });
    await restart();
    expect((await begin('another')).result).toBe('postponed');
    // So nobody asks the provider, and nobody gets the token that is over.
    expect(await person.refusal()).toMatchObject({ status: 502, code: 'upstream_unavailable' });
    expect(refreshRequests()).toBe(0);
  });
});
