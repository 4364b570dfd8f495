import type { GatewayConfigInput } from '@postern/gateway';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type McpServerProcess, startMcpServerProcess, startRequestBalancer } from '../support/mcp-server-process.ts';
import { declineOnPage } from '../support/person-at-gateway.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { connectVerbHost, type VerbHost } from '../support/verb-host.ts';
import { keyOf } from '../support/world.ts';

let stage: Stage;
let config: GatewayConfigInput;
/** What the replicas of the MCP server share. */
let shared: RedisServer;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  stage = stack.use(
    await startStage({
      config: ({ base }) => {
        config = base;
        return {};
      },
    }),
  );
  shared = stack.use(await startRedis());
});
afterAll(() => stack.disposeAsync());

const gatewayAddress = () => stage.world.gateways[0]?.address ?? '';

const startReplica = (sdk: 'v2' | 'v1', gatewayUrl = gatewayAddress(), isShared = true): Promise<McpServerProcess> =>
  startMcpServerProcess({
    ...{ sdk, gatewayUrl, apiKey: keyOf('tracker'), shared: isShared },
    ...{ issuer: stage.world.identityProvider.issuer, redisUrl: shared.url },
  });

const connect = (url: URL, sdk: 'v2' | 'v1', subject: string): Promise<VerbHost> =>
  connectVerbHost(url, {
    ...{ sdk, revision: '2025-11-25', subject, elicitation: { url: {} } },
    openUrl: () => 'decline',
    fillForm: () => ({ action: 'cancel' }),
  });

const requiredSchema = z.object({
  code: z.literal(-32042),
  data: z.object({ elicitations: z.tuple([z.object({ elicitationId: z.string() })]) }),
});

let orders = 0;

/** Every time another call: what became of an earlier one is none of its business, on no replica. */
async function ask(host: VerbHost): Promise<string> {
  orders += 1;
  const { error } = await host.call('authorize', { order: `order-${orders}` });
  return requiredSchema.parse(error).data.elicitations[0].elicitationId;
}

const decline = (elicitationId: string, user: string) => declineOnPage(stage.raw(), elicitationId, user);

/** Asks, is refused on the page, and hears of it. */
async function goRound(host: VerbHost, user: string): Promise<string> {
  const elicitationId = await ask(host);
  await decline(elicitationId, user);
  await host.untilCompleted(elicitationId);
  return elicitationId;
}

describe.each(['v2', 'v1'] as const)('SDK %s', sdk => {
  describe('two replicas of the MCP server behind a balancer without affinity', () => {
    async function setUp() {
      const own = new AsyncDisposableStack();
      const replicas = await Promise.all([startReplica(sdk), startReplica(sdk)]);
      for (const replica of replicas) own.use(replica);
      const balancer = own.use(await startRequestBalancer(replicas));
      const [subject, otherSubject] = [stage.subject(), stage.subject()];
      const [host, other] = [
        own.use(await connect(balancer.url, sdk, subject)),
        own.use(await connect(balancer.url, sdk, otherSubject)),
      ];
      return { ...{ replicas, balancer, host, other, subject }, [Symbol.asyncDispose]: () => own.disposeAsync() };
    }

    it('each call on another one: every notice comes to its session alone, once', async () => {
      await using world = await setUp();
      const ids: string[] = [];
      for (let round = 0; round < 5; round += 1) ids.push(await goRound(world.host, world.subject));
      expect(world.host.completions).toEqual(ids);
      expect(world.other.completions).toEqual([]);
    });

    it('the one that asked is killed: the notice comes from the one with the stream', async () => {
      await using world = await setUp();
      const own = stage.subject();
      await using host = await connect(world.balancer.url, sdk, own);
      const holder = world.balancer.streamAt;
      world.balancer.lead(1 - holder);
      const elicitationId = await ask(host);
      await world.replicas[1 - holder]?.kill();
      world.balancer.lead(holder);
      await decline(elicitationId, own);
      await host.untilCompleted(elicitationId);
      const next = await goRound(host, own);
      expect(host.completions).toEqual([elicitationId, next]);
      expect(world.host.completions).toEqual([]);
    });

    it('the one with the stream is killed: the notice comes from where the stream is opened again', async () => {
      await using world = await setUp();
      const own = stage.subject();
      await using host = await connect(world.balancer.url, sdk, own);
      const holder = world.balancer.streamAt;
      world.balancer.lead(holder);
      const elicitationId = await ask(host);
      world.balancer.lead(1 - holder);
      await world.replicas[holder]?.kill();
      await decline(elicitationId, own);
      await host.untilCompleted(elicitationId);
      expect(host.completions).toEqual([elicitationId]);
    });
  });

  it('the replica of the gateway that carries the stream is killed', async () => {
    await using victim = await startGatewayProcess(config);
    await using balancer: Balancer = await startBalancer(victim.address);
    await using mcpServer = await startReplica(sdk, balancer.url, false);
    const url = new URL(`http://127.0.0.1:${mcpServer.port}/mcp`);
    const subject = stage.subject();
    await using host = await connect(url, sdk, subject);
    // The first one shows that events come.
    const first = await goRound(host, subject);
    await balancer.untilForwarded('GET /v1/events', 1);
    const second = await ask(host);
    balancer.lead(gatewayAddress());
    await victim.kill();
    await decline(second, subject);
    await host.untilCompleted(second);
    await balancer.untilForwarded('GET /v1/events', 2);
    expect(host.completions).toEqual([first, second]);
  });
});
