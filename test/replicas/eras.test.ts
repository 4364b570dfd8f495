import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatedEndpoint, type GatedEndpointOptions, startGatedEndpoint } from '../support/gated-endpoint.ts';
import { connectLegacyHost, elicitationOf } from '../support/legacy-host.ts';
import { modernCall, urlRequestOf } from '../support/modern-call.ts';
import { createMovingBrowser } from '../support/moving-browser.ts';
import { elicitationIdOf } from '../support/person-at-gateway.ts';
import { startWorld, type World } from '../support/world.ts';

/** The replica that the MCP server calls, and the one that gets the OAuth callback. */
const WAITER = 1;
const CALLBACK = 0;

let world: World;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  world = stack.use(await startWorld({ replicas: 2 }));
});
afterAll(() => stack.disposeAsync());

async function endpointAt(replica: number, options: GatedEndpointOptions = {}): Promise<GatedEndpoint> {
  const gatewayUrl = world.gateways[replica]?.address ?? '';
  return stack.use(await startGatedEndpoint(world, { gatewayUrl, ...options }));
}

/** Accepts on one replica, reads the leaving page on the other, and returns to the first. */
async function finish(elicitationId: string, user: string): Promise<void> {
  const browser = createMovingBrowser({
    addresses: world.gateways.map(({ address }) => address),
    publicUrl: world.publicUrl,
  });
  await browser.at(WAITER).signIn(elicitationId, user);
  await browser.at(CALLBACK).accept(elicitationId);
  const leaving = await browser.at(WAITER).get(`/e/${elicitationId}/leaving`);
  expect(leaving.status).toBe(200);
  const destination = await browser.at(CALLBACK).accept(elicitationId);
  const answer = await browser.at(CALLBACK).decideAtProvider(destination, 'alice');
  expect((await browser.at(CALLBACK).get(answer)).status).toBe(303);
}

// The MCP server waits up to 45 seconds, so a missed wake-up from the other replica exceeds this limit.
describe('the callback on one replica of the gateway, the waiter on the other', () => {
  it('2026-07-28: the held retry answers', async () => {
    const endpoint = await endpointAt(WAITER);
    const subject = world.subject();
    const asked = urlRequestOf(await modernCall(endpoint.url, { tool: 'connect', subject }));
    const elicitationId = elicitationIdOf(asked.url);
    const retried = modernCall(endpoint.url, {
      tool: 'connect',
      subject,
      inputResponses: { [asked.key]: { action: 'accept' } },
      requestState: asked.requestState,
    });
    await endpoint.untilHolding(elicitationId);
    await finish(elicitationId, subject);
    expect((await retried).text).toBe('accept alice');
  });

  it('2025-11-25, pushed: the call answers', async () => {
    const endpoint = await endpointAt(WAITER);
    const subject = world.subject();
    await using host = await connectLegacyHost(endpoint.url, { subject, elicit: () => 'accept' });
    const call = host.call('connect');
    const { elicitationId } = await host.asked;
    await endpoint.untilHolding(elicitationId);
    await finish(elicitationId, subject);
    expect((await call).text).toBe('accept alice');
    await host.untilCompleted(1);
    expect(host.completions).toEqual([elicitationId]);
  });

  it('2025-11-25, −32042: the completion notice arrives and the repeated call succeeds', async () => {
    const endpoint = await endpointAt(WAITER);
    const subject = world.subject();
    await using host = await connectLegacyHost(endpoint.url, { subject });
    const { elicitationId } = elicitationOf(await host.call('connect'));
    await endpoint.untilHolding(elicitationId);
    await finish(elicitationId, subject);
    await host.untilCompleted(1);
    expect(host.completions).toEqual([elicitationId]);
    expect((await host.call('connect')).text).toBe('accept alice');
  });
});

describe('two replicas of an MCP server, each with its own gateway', () => {
  const old = { kid: 'old', key: new Uint8Array(randomBytes(32)) };
  const rotated = { kid: 'new', key: new Uint8Array(randomBytes(32)) };

  it.each([
    ['the key that both derive from the API key', undefined, undefined],
    ['a key that one of them has already rotated', { stateKeys: [old] }, { stateKeys: [rotated, old] }],
  ])('2026-07-28: the retry continues at the other replica, with %s', async (_name, here, there) => {
    const first = await endpointAt(0, here === undefined ? {} : { postern: here });
    const second = await endpointAt(1, there === undefined ? {} : { postern: there });
    const subject = world.subject();
    const asked = urlRequestOf(await modernCall(first.url, { tool: 'connect', subject }));
    const elicitationId = elicitationIdOf(asked.url);
    const retry = {
      tool: 'connect',
      subject,
      inputResponses: { [asked.key]: { action: 'accept' } },
      requestState: asked.requestState,
    };
    const retried = modernCall(second.url, retry);
    await second.untilHolding(elicitationId);
    await finish(elicitationId, subject);
    expect((await retried).text).toBe('accept alice');
    expect((await modernCall(first.url, retry)).text).toBe('accept alice');
  });

  it('2026-07-28: one replica continues a state-only round of the other', async () => {
    const [first, second] = await Promise.all([0, 1].map(replica => endpointAt(replica, { postern: { holdMs: 0 } })));
    if (first === undefined || second === undefined) throw new Error('two endpoints were started');
    const subject = world.subject();
    const asked = urlRequestOf(await modernCall(first.url, { tool: 'connect', subject }));
    const waiting = await modernCall(second.url, {
      tool: 'connect',
      subject,
      inputResponses: { [asked.key]: { action: 'accept' } },
      requestState: asked.requestState,
    });
    expect(waiting.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    await finish(elicitationIdOf(asked.url), subject);
    const { requestState } = waiting.result ?? {};
    expect((await modernCall(first.url, { tool: 'connect', subject, requestState })).text).toBe('accept alice');
  });

  it('2025-11-25: the notice arrives in one replica’s session, and the repeated call succeeds at the other', async () => {
    const [first, second] = await Promise.all([endpointAt(0), endpointAt(1)]);
    const subject = world.subject();
    await using asking = await connectLegacyHost(first.url, { subject });
    await using other = await connectLegacyHost(second.url, { subject });
    const { elicitationId } = elicitationOf(await asking.call('connect'));
    // The same ask at the other replica joins the elicitation, whose id that session has received as well.
    expect(elicitationOf(await other.call('connect')).elicitationId).toBe(elicitationId);
    await finish(elicitationId, subject);
    await Promise.all([asking.untilCompleted(1), other.untilCompleted(1)]);
    expect((await other.call('connect')).text).toBe('accept alice');
    expect((await asking.call('connect')).text).toBe('accept alice');
  });
});
