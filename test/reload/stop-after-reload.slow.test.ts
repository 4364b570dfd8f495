import { parseConfig } from '@postern/gateway';
import { expect, it, vi } from 'vitest';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { startWorld } from '../support/world.ts';

/** Between the few seconds of a stop and the 16 seconds that a reload gives deliveries. */
const LIMIT_MS = 12_000;

it('a stop soon after a reload waits for no delivery longer than any stop', async () => {
  await using receiver = await startWebhookReceiver(() => undefined);
  await using world = await startWorld({
    mcpServer: { webhooks: [{ id: 'hook', url: receiver.url, secrets: [receiver.secret], statuses: ['cancelled'] }] },
  });
  const [gateway] = world.gateways;
  const { elicitationId } = await world.ask(world.subject());
  await world.api.cancel(elicitationId);
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1), { timeout: 100_000 });
  await gateway?.reload(() => parseConfig({ ...world.config, branding: { name: 'Reloaded' } }));
  const began = performance.now();
  await gateway?.[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(LIMIT_MS);
});
