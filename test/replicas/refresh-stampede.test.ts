import type { PlainAccessToken, ProblemBody } from '@postern/api';
import type { GatewayConfigInput } from '@postern/gateway';
import { tokenDigest } from '@postern/testkit/providers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { type Random, seeded } from '../support/seeded-random.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { expireAccessToken } from '../support/token-expiry.ts';
import { keyOf } from '../support/world.ts';

/** `POSTERN_STAMPEDE_ROUNDS=200 POSTERN_STAMPEDE_SEED=… vitest run …` for the long run. */
const ROUNDS = Number(process.env['POSTERN_STAMPEDE_ROUNDS'] ?? 10);
const SEED = Number(process.env['POSTERN_STAMPEDE_SEED'] ?? 20_261_121);
const CALLERS = 100;
const REPLICAS = 3;
const ROUND_MS = 20_000;

let stage: Stage;
let config: GatewayConfigInput;
const replicas: GatewayProcess[] = [];
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  stage = stack.use(
    await startStage({
      // A killed process may take an answer with it. A provider that rotates without any grace then loses the grant (P9).
      provider: { refreshTokens: 'rotate-grace', refreshGrace: { uses: 3, seconds: 60 } },
      config: ({ base }) => {
        // The lease of a killed process is over the sooner.
        const changes = { outbound: { timeoutSeconds: 1 }, limits: { pageRequestsPerMinute: 1_000_000 } };
        config = { ...base, ...changes };
        return changes;
      },
    }),
  );
  replicas.push(...(await Promise.all(Array.from({ length: REPLICAS }, () => startGatewayProcess(config)))));
}, 60_000);
afterAll(async () => {
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
  await stack.disposeAsync();
});

/** Asks one replica after another, as an MCP server behind a balancer does, until one answers. */
async function accessToken(connectionId: string, first: number): Promise<PlainAccessToken> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const replica = replicas[(first + attempt) % REPLICAS];
    if (replica === undefined) throw new TypeError('no such replica');
    let answer: Response;
    try {
      answer = await fetch(`${replica.address}/v1/connections/${connectionId}/access-token`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keyOf('tracker')}` },
      });
    } catch {
      // This replica is the one that was killed.
      continue;
    }
    if (answer.ok) return (await answer.json()) as PlainAccessToken;
    const problem = (await answer.json()) as ProblemBody;
    if (answer.status < 500) throw new Error(`refused: ${problem.code}`);
  }
  throw new Error('no replica answered');
}

/** Kills one replica at a moment of its own: at once, when the provider has rotated but not answered, or when one has its token. */
function killSomewhere(random: Random, firstAnswer: Promise<unknown>): { victim: number; killed: Promise<void> } {
  const victim = random.below(REPLICAS);
  const kill = () => replicas[victim]?.kill() ?? Promise.resolve();
  const { provider } = stage.world;
  switch (random.below(3)) {
    case 0:
      return { victim, killed: kill() };
    case 1: {
      const { promise, resolve } = Promise.withResolvers<void>();
      provider.onRefresh(async () => {
        provider.onRefresh(undefined);
        await kill();
        resolve();
      });
      return { victim, killed: promise };
    }
    default:
      return { victim, killed: firstAnswer.then(kill) };
  }
}

it(`S22: ${CALLERS} callers on an expired rotating token, ${REPLICAS} processes, one killed: one refresh per generation`, {
  timeout: ROUNDS * ROUND_MS,
}, async () => {
  const random = seeded(SEED);
  const user = stage.subject();
  const issued = await stage.ask(user);
  await connectAccount(stage.raw(), issued.elicitationId, user);
  const connectionId = (await stage.api.read(issued.elicitationId)).body.outcome?.connectionId ?? '';
  const { provider } = stage.world;
  let generation = (await accessToken(connectionId, 0)).generation;

  for (let round = 1; round <= ROUNDS; round += 1) {
    const where = `seed ${SEED}, round ${round}`;
    await expireAccessToken(stage.world.redis.url, connectionId);
    const calls = Array.from({ length: CALLERS }, (_, nth) => accessToken(connectionId, nth));
    const { victim, killed } = killSomewhere(random, Promise.race(calls));
    const answers = await Promise.all(calls);
    await killed;
    provider.onRefresh(undefined);

    // Everybody has the same token, and it is the newest that the provider gave out.
    expect(new Set(answers.map(answer => answer.accessToken)).size, where).toBe(1);
    const [answer] = answers;
    if (answer === undefined) throw new TypeError('nobody asked');
    expect(answer.generation, where).toBe(generation + 1);
    generation = answer.generation;
    expect(provider.tokens.statusOf(answer.accessToken), where).toBe('current');

    // One refresh was carried out for this generation. What a killed process took with it was answered again, not made again.
    const grant = provider.tokens.grantOf(answer.accessToken);
    expect(grant?.status, where).toBe('live');
    expect(grant?.refreshes.length, where).toBe(round);
    expect(grant?.refreshes.at(-1)?.accessToken, where).toBe(tokenDigest(answer.accessToken));
    expect(grant?.reuses, where).toBe(0);
    await replicas[victim]?.[Symbol.asyncDispose]();
    replicas[victim] = await startGatewayProcess(config);
  }
});
