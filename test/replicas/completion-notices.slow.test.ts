import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBalancer } from '../support/balancer.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type McpServerProcess, startMcpServerProcess, startRequestBalancer } from '../support/mcp-server-process.ts';
import { declineOnPage } from '../support/person-at-gateway.ts';
import { connectVerbHost, type VerbHost } from '../support/verb-host.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
/** The Redis that the replicas of the MCP server share. */
let shared: RedisServer;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  world = stack.use(await startWorld({}));
  shared = stack.use(await startRedis());
});
afterAll(() => stack.disposeAsync());

const gatewayAddress = () => world.gateways[0]?.address ?? '';

const startReplica = (sdk: 'v2' | 'v1', gatewayUrl = gatewayAddress(), isShared = true): Promise<McpServerProcess> =>
  startMcpServerProcess({
    sdk,
    gatewayUrl,
    apiKey: keyOf('tracker'),
    shared: isShared,
    issuer: world.identityProvider.issuer,
    redisUrl: shared.url,
  });

const connect = (url: URL, sdk: 'v2' | 'v1', subject: string): Promise<VerbHost> =>
  connectVerbHost(url, {
    sdk,
    revision: '2025-11-25',
    subject,
    elicitation: { url: {} },
    openUrl: () => 'cancel',
    fillForm: () => ({ action: 'cancel' }),
  });

const requiredSchema = z.object({
  code: z.literal(-32042),
  data: z.object({ elicitations: z.tuple([z.object({ elicitationId: z.string() })]) }),
});

let orders = 0;

/** Makes a new call, which must not depend on earlier ones at any replica. */
async function ask(host: VerbHost): Promise<string> {
  orders += 1;
  const { error } = await host.call('authorize', { order: `order-${orders}` });
  return requiredSchema.parse(error).data.elicitations[0].elicitationId;
}

const decline = (elicitationId: string, user: string) => declineOnPage(world.raw(), elicitationId, user);

/** Elicits, declines on the page, and waits for the completion notice. */
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
      const [subject, otherSubject] = [world.subject(), world.subject()];
      const [host, other] = [
        own.use(await connect(balancer.url, sdk, subject)),
        own.use(await connect(balancer.url, sdk, otherSubject)),
      ];
      return { replicas, balancer, host, other, subject, [Symbol.asyncDispose]: () => own.disposeAsync() };
    }

    it('calls alternate between the replicas: each session gets its own notices only, once', async () => {
      await using fixture = await setUp();
      const ids: string[] = [];
      for (let round = 0; round < 5; round += 1) ids.push(await goRound(fixture.host, fixture.subject));
      expect(fixture.host.completions).toEqual(ids);
      expect(fixture.other.completions).toEqual([]);
    });

    it('after a kill of the eliciting replica, the replica with the stream sends the notice', async () => {
      await using fixture = await setUp();
      const own = world.subject();
      await using host = await connect(fixture.balancer.url, sdk, own);
      const holder = fixture.balancer.streamAt;
      fixture.balancer.lead(1 - holder);
      const elicitationId = await ask(host);
      await fixture.replicas[1 - holder]?.kill();
      fixture.balancer.lead(holder);
      await decline(elicitationId, own);
      await host.untilCompleted(elicitationId);
      const next = await goRound(host, own);
      expect(host.completions).toEqual([elicitationId, next]);
      expect(fixture.host.completions).toEqual([]);
    });

    it('after a kill of the replica with the stream, the replica where the client reconnects sends the notice', async () => {
      await using fixture = await setUp();
      const own = world.subject();
      await using host = await connect(fixture.balancer.url, sdk, own);
      const holder = fixture.balancer.streamAt;
      fixture.balancer.lead(holder);
      const elicitationId = await ask(host);
      fixture.balancer.lead(1 - holder);
      await fixture.replicas[holder]?.kill();
      await decline(elicitationId, own);
      await host.untilCompleted(elicitationId);
      expect(host.completions).toEqual([elicitationId]);
    });
  });

  describe('a gateway of two replicas, one of which is killed', () => {
    /** An MCP server whose requests all go to the victim until the balancer switches. */
    async function setUp() {
      const own = new AsyncDisposableStack();
      const victim = own.use(await startGatewayProcess(world.config));
      const balancer = own.use(await startBalancer(victim.address));
      const mcpServer = own.use(await startReplica(sdk, balancer.url, false));
      const subject = world.subject();
      const host = own.use(await connect(new URL(`http://127.0.0.1:${mcpServer.port}/mcp`), sdk, subject));
      const kill = async () => {
        balancer.lead(gatewayAddress());
        await victim.kill();
      };
      return { balancer, host, subject, kill, [Symbol.asyncDispose]: () => own.disposeAsync() };
    }

    const waitingRead = (elicitationId: string) => `GET /v1/elicitations/${elicitationId}?wait=`;

    it('during a waiting read: the MCP server retries at the other replica and sends the notice', async () => {
      await using fixture = await setUp();
      const { balancer, host, subject } = fixture;
      const elicitationId = await ask(host);
      await balancer.untilForwarded(waitingRead(elicitationId), 1);
      await fixture.kill();
      await decline(elicitationId, subject);
      await host.untilCompleted(elicitationId);
      expect(balancer.forwarded(waitingRead(elicitationId))).toBeGreaterThan(1);
      const next = await goRound(host, subject);
      expect(host.completions).toEqual([elicitationId, next]);
    });
  });
});
