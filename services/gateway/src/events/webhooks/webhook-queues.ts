import type { McpServerConfig, OperatorWebhookConfig } from '../../platform/config/mcp-server-config.ts';
import { withOptionalPackages } from '../../platform/optional-packages.ts';
import { type Network, offered } from '../../platform/store/network.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import { mcpServerEndpointsOf, operatorEndpointsOf, type WebhookEndpoint } from './webhook-endpoint.ts';

/** The queues of the configured endpoints, to look at them and to retry dead deliveries. */
export interface WebhookQueues extends AsyncDisposable {
  readonly all: readonly { readonly endpoint: WebhookEndpoint; readonly queue: DeliveryQueue }[];
}

/** Opens a connection to Redis and loads BullMQ only if an endpoint is configured. */
export async function openWebhookQueues(p: {
  readonly config: {
    readonly mcpServers: readonly McpServerConfig[];
    readonly operatorWebhooks: readonly OperatorWebhookConfig[];
  };
  readonly network: Network | undefined;
  readonly onError: (error: unknown) => void;
}): Promise<WebhookQueues> {
  const endpoints = [...mcpServerEndpointsOf(p.config), ...operatorEndpointsOf(p.config)];
  await using stack = new AsyncDisposableStack();
  const all: { readonly endpoint: WebhookEndpoint; readonly queue: DeliveryQueue }[] = [];
  if (endpoints.length > 0) {
    const { openDeliveryQueue } = await withOptionalPackages('Webhooks', () => import('./delivery-queue.ts'));
    const redis = offered(p.network).openQueueRedis();
    stack.defer(() => redis.close());
    for (const endpoint of endpoints) {
      const queue = openDeliveryQueue({ endpoint: endpoint.name, redis, onError: p.onError });
      stack.defer(() => queue.close());
      all.push({ endpoint, queue });
    }
  }
  const held = stack.move();
  return { all, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
