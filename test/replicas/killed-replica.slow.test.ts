import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { startGatedEndpoint } from '../support/gated-endpoint.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { connectLegacyHost, elicitationOf } from '../support/legacy-host.ts';
import { modernCall, urlRequestOf } from '../support/modern-call.ts';
import { connectAccount, elicitationIdOf } from '../support/person-at-gateway.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
/** The replica that is killed; a new one for every test. */
let victim: GatewayProcess;
/**
 * The gateway address of the MCP server, which leads to the victim while it runs. Also new for each test, without old
 * connections.
 */
let balancer: Balancer;
const stack = new AsyncDisposableStack();

const survivor = () => world.gateways[0]?.address ?? '';

beforeAll(async () => {
  world = stack.use(await startWorld({}));
});
beforeEach(async () => {
  victim = stack.use(await startGatewayProcess(world.config));
  balancer = stack.use(await startBalancer(victim.address));
});
afterAll(() => stack.disposeAsync());

async function killVictim(): Promise<void> {
  balancer.lead(survivor());
  await victim.kill();
}

/**
 * Resolves when the gateway has received `count` waiting reads for this elicitation. Those at the victim die with it.
 */
const untilWaiting = (elicitationId: string, count: number) =>
  balancer.untilForwarded(`/${elicitationId}?wait=`, count);

const startEndpoint = async (postern = {}) =>
  stack.use(await startGatedEndpoint(world, { gatewayUrl: balancer.url, postern }));

const finish = (elicitationId: string, user: string) => connectAccount(world.raw(), elicitationId, user);

// Kills in the middle of a flow: P1 to P6 of the fault catalogue. The MCP server waits up to 45 seconds, so a missed
// wake-up exceeds this limit.
describe('a replica that is killed during a waiting read', () => {
  it('the read over the API is aborted, and its retry at the other replica returns the outcome', async () => {
    const user = world.subject();
    const issued = await world.ask(user);
    const target = `/v1/elicitations/${issued.elicitationId}?wait=55`;
    const headers = { authorization: `Bearer ${keyOf('tracker')}` };
    const isCut = expect(fetch(`${balancer.url}${target}`, { headers })).rejects.toThrow();
    await untilWaiting(issued.elicitationId, 1);
    await killVictim();
    await isCut;
    const again = world.api.read(issued.elicitationId, 55);
    await finish(issued.elicitationId, user);
    expect((await again).body.status).toBe('completed');
  });

  it('2026-07-28: the held retry continues through the other replica', async () => {
    const endpoint = await startEndpoint();
    const subject = world.subject();
    const asked = urlRequestOf(await modernCall(endpoint.url, { tool: 'connect', subject }));
    const elicitationId = elicitationIdOf(asked.url);
    const retried = modernCall(endpoint.url, {
      tool: 'connect',
      subject,
      inputResponses: { [asked.key]: { action: 'accept' } },
      requestState: asked.requestState,
    });
    await untilWaiting(elicitationId, 1);
    await killVictim();
    await untilWaiting(elicitationId, 2);
    await finish(elicitationId, subject);
    expect((await retried).text).toBe('accept alice');
  });

  it('2025-11-25, pushed: the call continues through the other replica', async () => {
    const endpoint = await startEndpoint();
    const subject = world.subject();
    await using host = await connectLegacyHost(endpoint.url, { subject, elicit: () => 'accept' });
    const call = host.call('connect');
    const { elicitationId } = await host.asked;
    // The call and the completion notice share one read, which is retried.
    await untilWaiting(elicitationId, 1);
    await killVictim();
    await untilWaiting(elicitationId, 2);
    await finish(elicitationId, subject);
    expect((await call).text).toBe('accept alice');
    await host.untilCompleted(1);
    expect(host.completions).toEqual([elicitationId]);
  });

  it('2025-11-25, −32042: the completion notice arrives and the repeated call succeeds', async () => {
    const endpoint = await startEndpoint();
    const subject = world.subject();
    await using host = await connectLegacyHost(endpoint.url, { subject });
    const { elicitationId } = elicitationOf(await host.call('connect'));
    await untilWaiting(elicitationId, 1);
    await killVictim();
    await untilWaiting(elicitationId, 2);
    await finish(elicitationId, subject);
    await host.untilCompleted(1);
    expect((await host.call('connect')).text).toBe('accept alice');
  });
});
