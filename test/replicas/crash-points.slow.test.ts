import { parseConnectionId } from '@postern/elicitation';
import type { RefreshTokenMode } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ConnectedPerson, connectPerson } from '../support/connected-person.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { endRefreshLease, expireAccessToken, settleTokenSet } from '../support/token-expiry.ts';
import { listenForWakeUp } from '../support/wake-up.ts';
import { createApi, keyOf, startWorld, type World } from '../support/world.ts';

// P6 and P9 of the fault catalogue: kills right after a commit, or after the provider rotated a refresh token and
// before it is stored.

let world: World;
/** The process that tests kill, stop and restart. The gateway of the world keeps running. */
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

/** Runs the hook once, after the provider has rotated the token and before its response arrives. */
function whenRotated(hook: () => Promise<void> | void): void {
  world.provider.onRefresh(async () => {
    world.provider.onRefresh(undefined);
    await hook();
  });
}

/** A user whose access token has expired. */
async function personInNeed(mode: RefreshTokenMode) {
  world.provider.switches.refreshTokens = mode;
  const person = await connectPerson(world);
  const first = await person.token();
  await expireAccessToken(world.redis.url, person.connectionId);
  /** The grant according to the provider. */
  const grant = () => world.provider.tokens.grantOf(first.accessToken);
  return { person, first, grant };
}

/** The next elicitation shows the reason; after the user agrees, the connection works. */
async function expectReconnects(person: ConnectedPerson): Promise<void> {
  expect((await person.listed())?.status).toBe('reauthorization_required');
  const { elicitationId, page } = await person.askedAgain();
  expect(page).toContain('no longer accepts the connection you made');
  await person.connectAgain(elicitationId);
  expect(statusOf((await person.token()).accessToken)).toBe('current');
}

describe('killed right after the new tokens were stored', () => {
  it('another replica returns them without a refresh', async () => {
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

describe('T10: a process stopped for longer than the lease', () => {
  /**
   * One process is stopped before it reads the provider's response; the other one asks the provider after the lease has
   * expired.
   */
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

  it('a provider with a grace period rotates once, and both replicas return the same token', async () => {
    const { person, first, grant, other, late } = await stoppedInRefresh('rotate-grace');
    expect(other.body.generation).toBe(first.generation + 1);
    expect(late.body).toEqual(other.body);
    expect(await person.token()).toEqual(other.body);
    expect(statusOf(other.body.accessToken)).toBe('current');
    expect(grant()).toMatchObject({ status: 'live', rotations: 1, graceAnswers: 1, reuses: 0 });
  });

  it('a provider without a grace period revokes the grant, and the first rejected token reports it', async () => {
    const { person, grant, other, late } = await stoppedInRefresh('rotate-strict');
    // The provider sees one rotation and one use of the old refresh token, and then revokes the token family.
    expect(grant()).toMatchObject({ status: 'revoked', rotations: 1, reuses: 1 });
    expect(other).toMatchObject({ status: 409, body: { code: 'reauthorization_required' } });
    // The late response is stored if its request succeeded: a provider that only rejects reuse would have kept the new
    // token valid.
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

describe('Redis down during a refresh', () => {
  const redis = () => {
    const { server } = world.redis;
    if (server === undefined) throw new Error('this world has no private Redis');
    return server;
  };
  const readiness = async () => (await fetch(`${world.gateways[0]?.address}/readyz`)).status;
  const untilReady = () => expect.poll(readiness).toBe(200);

  it.each([
    { how: 'killed', away: () => redis().kill(), back: () => redis().restart() },
    { how: 'frozen', away: async () => redis().suspend(), back: async () => redis().resume() },
  ])(
    'T10: $how between the provider’s response and the store: the tokens are kept, because the gateway retries the write',
    async p => {
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
    },
  );

  it('R1: a restart of Redis keeps the refresh lease and the back-off from the provider', async () => {
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
    // So the gateway neither calls the provider nor returns the expired token.
    expect(await person.refusal()).toMatchObject({ status: 502, code: 'upstream_unavailable' });
    expect(refreshRequests()).toBe(0);
  });
});
