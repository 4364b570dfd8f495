import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { startGatedEndpoint } from '../support/gated-endpoint.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { connectLegacyHost, elicitationOf } from '../support/legacy-host.ts';
import { modernCall, urlRequestOf } from '../support/modern-call.ts';
import { connectAccount, elicitationIdOf } from '../support/person-at-gateway.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
/** The replica that dies; a new one for every test. */
let victim: GatewayProcess;
/** What the MCP server knows as the gateway: leads to the victim while it lives. A new one too, without old connections. */
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

/** When the gateway has been asked that often to wait for this end; what was asked of the victim dies with it. */
const untilWaiting = (elicitationId: string, count: number) =>
  balancer.untilForwarded(`/${elicitationId}?wait=`, count);

// Waiting reads alone: what becomes of the stream of events is in completion-bus.all.test.ts.
const startEndpoint = async (postern = {}) =>
  stack.use(await startGatedEndpoint(world, { gatewayUrl: balancer.url, postern: { events: 'off', ...postern } }));

const finish = (elicitationId: string, user: string) => connectAccount(world.raw(), elicitationId, user);

// Killed in the middle of a flow: P1 to P6 of the fault catalogue.
// The MCP server waits up to 45 seconds: one that nobody wakes up runs into this.
describe('a replica that is killed in the middle of a wait', () => {
  it('over the API: the read is cut off and, made again at the other replica, answers', async () => {
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

  it('2026-07-28: the held retry goes on through the other replica', async () => {
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

  it('2025-11-25, pushed: the call goes on through the other replica', async () => {
    const endpoint = await startEndpoint({ legacy: 'push' });
    const subject = world.subject();
    await using host = await connectLegacyHost(endpoint.url, { subject, elicit: () => 'accept' });
    const call = host.call('connect');
    const { elicitationId } = await host.asked;
    // One wait of the call, one for the completion notice; each is made again.
    await untilWaiting(elicitationId, 2);
    await killVictim();
    await untilWaiting(elicitationId, 4);
    await finish(elicitationId, subject);
    expect((await call).text).toBe('accept alice');
    await host.untilCompleted(1);
    expect(host.completions).toEqual([elicitationId]);
  });

  it('2025-11-25, −32042: the completion notice comes and the call that is made again goes on', async () => {
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
