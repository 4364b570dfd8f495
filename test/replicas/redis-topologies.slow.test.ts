import type { GatewayConfigInput } from '@postern/gateway';
import {
  createRedisTls,
  type RedisCluster,
  type RedisSentinel,
  startRedisCluster,
  startRedisSentinel,
} from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { shippedAccess as access } from '../support/shipped-access.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { createApi, keyOf, startWorld, type World } from '../support/world.ts';

/** No step of these tests waits for a lost replica, so the load of the machine does not affect the result. */
const durability = { profile: 'ha', replicas: 1, timeoutMs: 5_000 } as const;

interface Topology {
  readonly redis: NonNullable<GatewayConfigInput['redis']>;
  /** Kills a master and promotes a replica. Resolves when that replica accepts writes. */
  failOver(): Promise<void>;
}

/** Silence after which a node counts as failed: so long that load alone never causes a fail-over. */
const SILENCE_MS = 30_000;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const tls = stack.use(await createRedisTls());
const files = { caFile: tls.ca.file, certFile: tls.cert.file, keyFile: tls.key.file };

const ofSentinel = (sentinel: RedisSentinel): Topology => ({
  redis: {
    sentinel: {
      nodes: [...sentinel.sentinelUrls],
      masterName: sentinel.masterName,
      username: access.user.name,
      password: access.user.password,
    },
    tls: files,
    durability,
  },
  async failOver() {
    const before = await sentinel.masterNow();
    await before.kill();
    await sentinel.failover();
    await sentinel.untilReplicas(1);
  },
});

const ofCluster = (cluster: RedisCluster): Topology => ({
  redis: { cluster: [...cluster.urls], tls: files, durability },
  async failOver() {
    const [before] = await cluster.mastersNow();
    if (before === undefined) throw new Error('a cluster without masters');
    const [successor] = await cluster.replicasOf(before);
    await before.kill();
    await successor?.ask('CLUSTER', 'FAILOVER', 'TAKEOVER');
    await cluster.untilMasterIsNot(before);
    // The new master has no replica until the old one returns as its replica.
    await before.restart();
  },
});

describe.each([
  ['Sentinel', async () => ofSentinel(stack.use(await startRedisSentinel({ tls, access, downAfterMs: SILENCE_MS })))],
  [
    'a Cluster',
    async () =>
      ofCluster(stack.use(await startRedisCluster({ tls, access, replicasPerMaster: 1, nodeTimeoutMs: SILENCE_MS }))),
  ],
] as const)('two gateways over %s with TLS and users, profile ha', (_name, start) => {
  let topology: Topology;
  let world: World;
  let other: GatewayProcess;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    topology = await start();
    world = stack.use(
      await startWorld({
        config: { redis: topology.redis },
      }),
    );
    receiver = stack.use(await startWebhookReceiver());
    const webhooks = [{ id: 'topologies', url: receiver.url, secrets: [receiver.secret] }];
    const mcpServers = world.config.mcpServers.map(mcpServer => ({ ...mcpServer, webhooks }));
    other = stack.use(await startGatewayProcess({ ...world.config, mcpServers }));
  });

  /** Issues at one gateway, waits at the other, and expects a webhook. */
  async function connect(): Promise<void> {
    const user = world.subject();
    const issued = await world.ask(user);
    const elsewhere = createApi(other.address, keyOf('tracker'));
    const waiting = elsewhere.read(issued.elicitationId, 55);
    await connectAccount(world.raw(), issued.elicitationId, user);
    const { body } = await waiting;
    expect(body).toMatchObject({ status: 'completed', outcome: { provider: 'forge' } });
    expect(await elsewhere.accessToken(body.outcome?.connectionId ?? '')).toMatchObject({ status: 200 });
    await expect
      .poll(() => receiver.received.map(({ payload }) => payload.data.elicitationId))
      .toContain(issued.elicitationId);
  }

  const ready = (address: string) => fetch(`${address}/readyz`).then(({ status }) => status);

  it('connects a person', connect);

  it('is ready again after a fail-over, and connects the next', async () => {
    await topology.failOver();
    const addresses = [other.address, world.gateways[0]?.address ?? ''];
    await expect.poll(() => Promise.all(addresses.map(ready))).toEqual([200, 200]);
    await connect();
  });
});
