import type { GatewayConfigInput } from '@postern/gateway';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  // The gateways of this world send no webhooks. Separate processes send them, which tests can kill.
  world = await startWorld({});
});
afterAll(() => world[Symbol.asyncDispose]());

function telling(receiver: { readonly url: string; readonly secret: string }, id: string): GatewayConfigInput {
  const webhooks = [{ id, url: receiver.url, secrets: [receiver.secret] }];
  return { ...world.config, mcpServers: world.config.mcpServers.map(mcpServer => ({ ...mcpServer, webhooks })) };
}

describe('a gateway that is killed during a webhook delivery', () => {
  it('P7, P8: repeats the delivery under the same id within half a minute after its restart', async () => {
    await using receiver = await startWebhookReceiver(nth => (nth === 1 ? undefined : 204));
    await using gateway = await startGatewayProcess(telling(receiver, 'killed'));
    const { elicitationId } = await world.ask(world.subject());
    await world.api.cancel(elicitationId);
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1), { timeout: 100_000 });
    await gateway.kill();
    // Committed and relayed while no process delivers webhooks.
    const meanwhile = await world.ask(world.subject());
    await world.api.cancel(meanwhile.elicitationId);
    await gateway.restart();
    await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThanOrEqual(3), { timeout: 100_000 });
    expect(receiver.received.map(({ payload }) => payload.data.elicitationId).sort()).toEqual(
      [elicitationId, elicitationId, meanwhile.elicitationId].sort(),
    );
    const [first, again] = receiver.received.filter(({ payload }) => payload.data.elicitationId === elicitationId);
    expect(again).toEqual(first);
    expect(receiver.refused).toEqual([]);
  });
});
