import type { GatewayConfigInput } from '@postern/gateway';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  // The gateways of this world tell nobody; those that do are processes that can be killed.
  world = await startWorld({});
});
afterAll(() => world[Symbol.asyncDispose]());

function telling(receiver: { readonly url: string; readonly secret: string }, id: string): GatewayConfigInput {
  const webhooks = [{ id, url: receiver.url, secrets: [receiver.secret] }];
  return { ...world.config, mcpServers: world.config.mcpServers.map(mcpServer => ({ ...mcpServer, webhooks })) };
}

describe('a gateway that is killed while it tells', () => {
  it('P7, P8: tells again when it is back, within half a minute and under the same id', async () => {
    await using receiver = await startWebhookReceiver(nth => (nth === 1 ? undefined : 204));
    await using gateway = await startGatewayProcess(telling(receiver, 'killed'));
    const { elicitationId } = await world.ask(world.subject());
    await world.api.cancel(elicitationId);
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1), { timeout: 100_000 });
    await gateway.kill();
    // Committed and carried while nobody is there to tell.
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
