import type { RedisStores } from '@postern/store-redis';
import type { DeliveryQueue } from '../webhooks/delivery-queue.ts';
import { type WebhookEndpoint, webhookEndpointsOf } from '../webhooks/webhook-endpoint.ts';
import { CliError, type CliIo } from './cli-io.ts';
import { openStore } from './open-store.ts';

export interface OpenWebhooks extends AsyncDisposable {
  readonly endpoints: readonly { readonly endpoint: WebhookEndpoint; readonly queue: DeliveryQueue }[];
  readonly records: RedisStores['webhookEndpoints'];
}

/** The configured endpoints and their queues. @throws ConfigError, CliError, UnsafeRedisError, StoreUnavailableError */
export async function openWebhooks(configPath: string, io: CliIo): Promise<OpenWebhooks> {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openStore(configPath, io));
  const configured = webhookEndpointsOf(store.config);
  if (configured.length === 0) throw new CliError('No webhooks are configured: mcpServers[].webhooks.');
  // Loaded here, because no other command needs BullMQ.
  const { openDeliveryQueue } = await import('../webhooks/delivery-queue.ts');
  const redis = store.openQueueRedis();
  stack.defer(() => redis.close());
  const endpoints = configured.map(endpoint => {
    const queue = openDeliveryQueue({
      endpoint: endpoint.name,
      redis,
      onError: () => io.err('Redis does not answer.\n'),
    });
    stack.defer(() => queue.close());
    return { endpoint, queue };
  });
  const held = stack.move();
  return { endpoints, records: store.stores.webhookEndpoints, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
