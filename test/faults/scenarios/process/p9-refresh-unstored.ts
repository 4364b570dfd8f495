import assert from 'node:assert/strict';
import { expireAccessToken } from '../../../support/token-expiry.ts';
import { createApi, keyOf } from '../../../support/world.ts';
import { crashAt } from '../../crash-points.ts';
import type { FaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import type { ApiAnswer } from '../../traffic/caller.ts';
import type { Traffic } from '../../traffic.ts';
import { reached, startStricken } from './kills.ts';

type Mode = 'rotate-grace' | 'rotate-strict';

interface Held {
  readonly connectionId: string;
  readonly mcpServerId: string;
}

type Answered = ApiAnswer | undefined;

/** Connections that people have made and kept. */
async function connectionsOf({ mcpServerIds, people, world, gateways }: FaultWorld): Promise<Held[]> {
  const found: Held[] = [];
  for (const mcpServerId of mcpServerIds) {
    const api = createApi(gateways[0]?.address ?? '', keyOf(mcpServerId));
    for (const subject of people) {
      const { body } = await api.connections({ issuer: world.identityProvider.issuer, subject });
      found.push(...body.connections.map(({ connectionId }) => ({ connectionId, mcpServerId })));
    }
  }
  return found;
}

function refreshUnstored(mode: Mode, name: string): Scenario {
  return {
    item: 'P9',
    name,
    async run(run) {
      const provider = { refreshTokens: mode, refreshGrace: { uses: 10, seconds: 60 } };
      const stricken = await startStricken(run, {
        world: { provider, config: { outbound: { timeoutSeconds: 1 } } },
        traffic: { kinds: ['authorization', 'confirmation'], shares: { disconnect: 0, walkAway: 0, decline: 0 } },
      });
      const { world, gateways, traffic } = stricken;
      await traffic.more(24, 60_000);
      await traffic.stop();
      const held = await connectionsOf(world);
      assert.ok(held.length > 0, 'nobody has connected an account');
      for (const { connectionId } of held) await expireAccessToken(world.world.redis.url, connectionId);
      const crashed = crashAt(gateways, 'refresh_unstored', run.random.between(1, Math.min(held.length, 4)));
      const asked = tokensOf(run, traffic, held);
      const { gateway } = await reached('a refresh', crashed);
      const answers = await asked;
      await gateway.restart();
      expectNothingStale(run, world, mode, answers);
      await traffic.settle();
    },
  };
}

/** One after the other, so that one kill meets one refresh. */
async function tokensOf(run: FaultRun, traffic: Traffic, held: readonly Held[]): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (const { connectionId, mcpServerId } of held) {
    const path = `/v1/connections/${connectionId}/access-token`;
    const operation = { op: 'access_token', method: 'POST', path, connectionId, isSecret: true } as const;
    answers.push(await traffic.caller(mcpServerId).insist(operation, run.random.fork(connectionId)));
  }
  return answers;
}

/** Every token that was handed out is the newest of its grant, and whoever got none was told to ask the person. */
function expectNothingStale(run: FaultRun, { world }: FaultWorld, mode: Mode, answers: readonly Answered[]): void {
  let lost = 0;
  for (const answer of answers) {
    const token = answer?.body['accessToken'];
    if (answer?.http === 200 && typeof token === 'string') {
      run.history.secret('access token', token);
      assert.equal(world.provider.tokens.statusOf(token), 'current');
    } else {
      lost += 1;
      assert.equal(answer?.body['code'], 'reauthorization_required');
    }
  }
  run.measure('connections to be made again', lost, '');
  if (mode === 'rotate-grace') assert.equal(lost, 0, 'the provider had granted grace');
  else assert.ok(lost <= 1, `${lost} connections were lost to one kill`);
}

export const refreshesUnstored: readonly Scenario[] = [
  refreshUnstored(
    'rotate-grace',
    'refresh: killed when the provider has rotated and nothing is stored; its grace brings the connection back',
  ),
  refreshUnstored(
    'rotate-strict',
    'refresh: the same at a provider without grace; the person is asked, and nobody gets a stale token',
  ),
];
