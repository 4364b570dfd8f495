import { setTimeout as delay } from 'node:timers/promises';
import type { AccessTokenRequest, PlainAccessToken, ProblemBody } from '@postern/api';
import type { GatewayConfigInput } from '@postern/gateway';
import { tokenDigest } from '@postern/testkit/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { type Random, seeded } from '../support/seeded-random.ts';
import { endRefreshLease, expireAccessToken, settleTokenSet } from '../support/token-expiry.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

/** Long run: `POSTERN_STAMPEDE_ROUNDS=200 POSTERN_STAMPEDE_SEED=7 vitest run test/replicas/refresh-stampede`. */
const ROUNDS = Number(process.env['POSTERN_STAMPEDE_ROUNDS'] ?? 5);
const SEED = Number(process.env['POSTERN_STAMPEDE_SEED'] ?? 20_261_121);
const CALLERS = 100;
const REPLICAS = 3;
const MOMENTS = 5;
/** Only turns a hang into a failure. */
const HANG_MS = 300_000;
/** Pause before a caller tries all replicas again. */
const PAUSE_MS = 20;

let world: World;
const replicas: GatewayProcess[] = [];
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  world = stack.use(
    await startWorld({
      mcpServer: { limits: { requestsPerMinute: 1_000_000 } },
    }),
  );
  await startReplicas(world.config);
});
afterAll(async () => {
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
  await stack.disposeAsync();
});

async function startReplicas(of: GatewayConfigInput): Promise<void> {
  replicas.push(...(await Promise.all(Array.from({ length: REPLICAS }, () => startGatewayProcess(of)))));
}

async function newConnection(): Promise<string> {
  const user = world.subject();
  const issued = await world.ask(user);
  await connectAccount(world.raw(), issued.elicitationId, user);
  return (await world.api.read(issued.elicitationId)).body.outcome?.connectionId ?? '';
}

/** Tries the replicas in turn, like an MCP server behind a load balancer, until one responds. */
async function accessToken(
  connectionId: string,
  first: number,
  request: AccessTokenRequest = {},
): Promise<PlainAccessToken> {
  for (let attempt = 0; ; attempt += 1) {
    const replica = replicas[(first + attempt) % REPLICAS];
    if (replica === undefined) throw new TypeError('no such replica');
    let answer: Response;
    try {
      answer = await fetch(`${replica.address}/v1/connections/${connectionId}/access-token`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keyOf('tracker')}`, 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
      if (answer.ok) return (await answer.json()) as PlainAccessToken;
    } catch {
      // This replica has been killed.
      continue;
    }
    const problem = (await answer.json()) as ProblemBody;
    if (answer.status < 500) throw new Error(`refused: ${problem.code}`);
    await delay(PAUSE_MS);
  }
}

/** When a replica is killed, and whether all callers try that replica first. */
interface Murder {
  readonly victim: number;
  readonly allAskVictim: boolean;
  /** The provider has rotated, and its response is lost with the victim. */
  readonly losesAnswer: boolean;
  /** Called when all callers have sent their request. Resolves when the victim is dead. */
  carryOut(firstAnswer: Promise<unknown>): Promise<void>;
}

/** The first rounds cover all moments in turn; later rounds choose one at random. */
function plan(round: number, random: Random, connectionId: string): Murder {
  const victim = random.below(REPLICAS);
  const kill = () => replicas[victim]?.kill() ?? Promise.resolve();
  /** Ends the refresh lease of the victim, for whose expiry the other replicas would wait. */
  const killHolder = async () => {
    await kill();
    await endRefreshLease(world.redis.url, connectionId);
  };
  const { provider } = world;
  const whenRotated = (killIt: () => Promise<void>) => () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.onRefresh(async () => {
      provider.onRefresh(undefined);
      await killIt();
      resolve();
    });
    return promise;
  };
  switch (round <= MOMENTS ? round - 1 : random.below(MOMENTS)) {
    case 0:
      // Before any response, possibly before any request.
      return { victim, allAskVictim: false, losesAnswer: false, carryOut: kill };
    case 1:
      // While the provider responds; the victim may be the replica that sent the refresh.
      return { victim, allAskVictim: false, losesAnswer: false, carryOut: whenRotated(kill) };
    case 2:
      // While the provider responds; the victim is the replica that sent the refresh.
      return { victim, allAskVictim: true, losesAnswer: true, carryOut: whenRotated(killHolder) };
    case 3: {
      // The victim has sent the refresh, and the provider has not processed it yet.
      const asked = provider.requests('token').length;
      provider.fault({ endpoint: 'token', grantType: 'refresh_token', hang: true, times: 1 });
      const carryOut = async () => {
        await expect
          .poll(() => provider.requests('token').length, { interval: 1, timeout: HANG_MS })
          .toBeGreaterThan(asked);
        await killHolder();
      };
      return { victim, allAskVictim: true, losesAnswer: false, carryOut };
    }
    default:
      // The tokens are stored, and replicas are returning them.
      return { victim, allAskVictim: false, losesAnswer: false, carryOut: firstAnswer => firstAnswer.then(kill) };
  }
}

describe(`S22: ${CALLERS} callers on an expired rotating token, ${REPLICAS} processes: one refresh per generation`, () => {
  it('callers never get a stale token and the grant survives when one process is killed', {
    timeout: ROUNDS * HANG_MS,
  }, async () => {
    const random = seeded(SEED);
    const { provider } = world;
    // A killed process may lose a response. At a provider without a grace period the grant is then lost (P9).
    Object.assign(provider.switches, { refreshTokens: 'rotate-grace', refreshGrace: { uses: 10, seconds: 60 } });
    const connectionId = await newConnection();
    let { generation } = await accessToken(connectionId, 0);
    let lostAnswers = 0;

    for (let round = 1; round <= ROUNDS; round += 1) {
      const where = `seed ${SEED}, round ${round}`;
      await expireAccessToken(world.redis.url, connectionId);
      const { victim, allAskVictim, losesAnswer, carryOut } = plan(round, random, connectionId);
      const calls = Array.from({ length: CALLERS }, (_, nth) => accessToken(connectionId, allAskVictim ? victim : nth));
      const killed = carryOut(Promise.race(calls));
      const answers = await Promise.all(calls);
      await killed;
      provider.clearFaults();

      // All callers have the same token, and it is the newest that the provider issued.
      expect(new Set(answers.map(answer => answer.accessToken)).size, where).toBe(1);
      const [answer] = answers;
      if (answer === undefined) throw new TypeError('no caller');
      expect(answer.generation, where).toBe(generation + 1);
      generation = answer.generation;
      expect(provider.tokens.statusOf(answer.accessToken), where).toBe('current');

      // The provider refreshed this generation once. It repeated a lost response instead of rotating again.
      const grant = provider.tokens.grantOf(answer.accessToken);
      expect(grant?.status, where).toBe('live');
      expect(grant?.refreshes.length, where).toBe(round);
      expect(grant?.refreshes.at(-1)?.accessToken, where).toBe(tokenDigest(answer.accessToken));
      expect(grant?.reuses, where).toBe(0);
      lostAnswers += losesAnswer ? 1 : 0;
      expect(grant?.graceAnswers, where).toBeGreaterThanOrEqual(lostAnswers);
      await replicas[victim]?.[Symbol.asyncDispose]();
      replicas[victim] = await startGatewayProcess(world.config);
    }
    // Some kills did lose a response.
    if (ROUNDS >= MOMENTS) expect(lostAnswers).toBeGreaterThan(0);
  });

  it('no refresh token is used twice at a provider that treats reuse as theft', {
    timeout: ROUNDS * HANG_MS,
  }, async () => {
    const random = seeded(SEED);
    const { provider } = world;
    provider.switches.refreshTokens = 'rotate-strict';
    const connectionId = await newConnection();
    let { generation } = await accessToken(connectionId, 0);

    for (let round = 1; round <= ROUNDS; round += 1) {
      const where = `seed ${SEED}, round ${round}`;
      // The token has expired, or an API has rejected it and all callers report it.
      const isExpiry = random.below(2) === 0;
      await (isExpiry ? expireAccessToken : settleTokenSet)(world.redis.url, connectionId);
      const request = isExpiry ? {} : { rejectedGeneration: generation };
      const answers = await Promise.all(
        Array.from({ length: CALLERS }, (_, nth) => accessToken(connectionId, nth, request)),
      );
      expect([...new Set(answers.map(answer => answer.generation))], where).toEqual([generation + 1]);
      generation += 1;
      const token = answers[0]?.accessToken ?? '';
      expect(answers.every(answer => answer.accessToken === token)).toBe(true);
      expect(provider.tokens.statusOf(token), where).toBe('current');
      expect(provider.tokens.grantOf(token), where).toMatchObject({ status: 'live', rotations: round, reuses: 0 });
    }
  });
});

describe('a replica that stops in the middle of a refresh', () => {
  const at = (replica: number, connectionId: string) =>
    fetch(`${replicas[replica]?.address}/v1/connections/${connectionId}/access-token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyOf('tracker')}`, 'content-type': 'application/json' },
      body: '{}',
    });
  const refreshes = () => {
    const asked = world.provider.requests('token');
    return asked.filter(({ form }) => form['grant_type'] === 'refresh_token').length;
  };
  /** The provider has received a refresh of the first replica, and responds when released. */
  async function inFlight(connectionId: string) {
    const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.provider.onRefresh(async () => {
      world.provider.onRefresh(undefined);
      started.resolve();
      await released.promise;
    });
    await expireAccessToken(world.redis.url, connectionId);
    world.provider.clearRequests();
    const call = at(0, connectionId).catch(() => undefined);
    await started.promise;
    return { call, release: () => released.resolve() };
  }

  it('S190: a replica frozen for five seconds at a rotating provider leaves one refresh in flight, and its tokens count', {
    timeout: HANG_MS,
  }, async () => {
    world.provider.switches.refreshTokens = 'rotate-strict';
    const connectionId = await newConnection();
    const { generation } = await accessToken(connectionId, 1);
    const { call, release } = await inFlight(connectionId);
    replicas[0]?.suspend();
    try {
      // It waits for five seconds.
      const refused = await at(1, connectionId);
      expect([refused.status, ((await refused.json()) as ProblemBody).code]).toEqual([503, 'unavailable']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(refreshes()).toBe(1);
    } finally {
      replicas[0]?.resume();
      release();
    }
    expect((await call)?.status).toBe(200);
    const token = await accessToken(connectionId, 1);
    expect(token.generation).toBe(generation + 1);
    expect(refreshes()).toBe(1);
    expect(world.provider.tokens.grantOf(token.accessToken)).toMatchObject({ status: 'live', rotations: 1, reuses: 0 });
  });

  it('a killed replica delays no caller beyond five seconds where refresh tokens do not rotate', {
    timeout: HANG_MS,
  }, async () => {
    world.provider.switches.refreshTokens = 'static';
    const connectionId = await newConnection();
    await accessToken(connectionId, 1);
    // Shows that the token does not rotate.
    await expireAccessToken(world.redis.url, connectionId);
    const { generation } = await accessToken(connectionId, 1);
    const { call, release } = await inFlight(connectionId);
    await replicas[0]?.kill();
    const answer = await at(1, connectionId);
    expect([answer.status, ((await answer.json()) as PlainAccessToken).generation]).toEqual([200, generation + 1]);
    expect(refreshes()).toBe(2);
    release();
    await call;
  });
});
