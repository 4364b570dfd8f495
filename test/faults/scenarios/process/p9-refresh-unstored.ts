import assert from 'node:assert/strict';
import { endRefreshLease, expireAccessToken } from '../../../support/token-expiry.ts';
import { createApi, keyOf } from '../../../support/world.ts';
import { crashAt } from '../../crash-points.ts';
import type { FaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { reached, type Stricken, startStricken } from './kills.ts';

type Mode = 'rotate-grace' | 'rotate-strict';

interface Held {
  readonly connectionId: string;
  readonly mcpServerId: string;
}

interface Asked extends Held {
  /** Undefined: the user must be asked again. */
  readonly accessToken: string | undefined;
}

/** Returns the connections that users have made and kept. */
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
        world: { provider },
        traffic: { kinds: ['authorization', 'confirmation'], shares: { disconnect: 0, walkAway: 0, decline: 0 } },
      });
      const { world, gateways, traffic } = stricken;
      await traffic.more(24);
      await traffic.stop();
      const held = await connectionsOf(world);
      assert.ok(held.length > 0, 'no user has connected an account');
      for (const { connectionId } of held) await expireAccessToken(world.world.redis.url, connectionId);
      const crashed = crashAt(gateways, 'refresh_unstored', run.random.between(1, Math.min(held.length, 4))).then(
        async crash => {
          await endRefreshLease(world.world.redis.url, crash.connectionId ?? '');
          return crash;
        },
      );
      const [crash, asked] = await Promise.all([reached('a refresh', crashed), tokensOf(run, stricken, held)]);
      await crash.gateway.restart();
      expectLost(run, mode, asked, crash.connectionId ?? '');
      await traffic.settle();
    },
  };
}

/** Reads the tokens one by one, so that one kill hits one refresh. Every returned token is the newest one of its exchange. */
async function tokensOf(run: FaultRun, { world, traffic }: Stricken, held: readonly Held[]): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (const each of held) {
    const { connectionId, mcpServerId } = each;
    const path = `/v1/connections/${connectionId}/access-token`;
    const operation = { op: 'access_token', method: 'POST', path, connectionId, isSecret: true } as const;
    const answer = await traffic.caller(mcpServerId).insist(operation, run.random.fork(connectionId));
    const token = answer?.body['accessToken'];
    const accessToken = answer?.http === 200 && typeof token === 'string' ? token : undefined;
    if (accessToken === undefined) assert.equal(answer?.body['code'], 'reauthorization_required');
    else {
      run.history.secret('access token', accessToken);
      assert.equal(world.world.provider.tokens.statusOf(accessToken), 'current');
    }
    asked.push({ ...each, accessToken });
  }
  return asked;
}

/**
 * A provider without a grace period treats the retry as theft and revokes the whole grant (RFC 9700 section 4.14.2). So the connection
 * whose refresh was cut off is lost, and with it those of the same grant that were still to be read: this provider uses one grant per
 * account. All other connections stay usable.
 */
function expectLost(run: FaultRun, mode: Mode, asked: readonly Asked[], struckId: string): void {
  const grants = new Map<string, string>();
  for (const entry of run.history.entries)
    if (entry.what === 'token_set') grants.set(entry.connectionId, entry.grantId);
  const struck = asked.findIndex(({ connectionId }) => connectionId === struckId);
  assert.ok(struck >= 0, 'the interrupted refresh belongs to no connection');
  const endedGrant = grants.get(struckId);
  assert.ok(endedGrant !== undefined, 'the grant of the connection is unknown');
  const expected = asked.slice(struck).filter(({ connectionId }) => grants.get(connectionId) === endedGrant);
  const lost = asked.filter(({ accessToken }) => accessToken === undefined);
  run.measure('connections to be made again', lost.length, '');
  assert.deepEqual(idsOf(lost), mode === 'rotate-grace' ? [] : idsOf(expected));
}

const idsOf = (list: readonly Held[]) => list.map(({ connectionId }) => connectionId);

export const refreshesUnstored: readonly Scenario[] = [
  refreshUnstored(
    'rotate-grace',
    'refresh: killed after the provider rotated, before the store; the grace period of the provider saves the connection',
  ),
  refreshUnstored(
    'rotate-strict',
    'refresh: killed at the same point, provider without grace period; the user is asked, and no caller gets a stale token',
  ),
];
