import type { FeedEvent } from '@postern/elicitation';
import type { WebhookEvent, WebhookSigner } from '@postern/webhooks';
import type { GatewayConfig } from '../config/config-schema.ts';

/** A receiver, as configured. */
export interface WebhookEndpoint {
  /** `<mcpServerId>.<id>`: names it everywhere, also to operators. */
  readonly name: string;
  readonly mcpServerId: string;
  readonly url: string;
  readonly signers: readonly WebhookSigner[];
  readonly ratePerSecond: number;
  readonly concurrency: number;
  wants(event: WebhookEvent): boolean;
}

export function webhookEndpointsOf(config: Pick<GatewayConfig, 'mcpServers'>): readonly WebhookEndpoint[] {
  return config.mcpServers.flatMap(({ id: mcpServerId, webhooks }) =>
    webhooks.map(({ id, url, secrets, signingKeys, kinds, statuses, ratePerSecond, concurrency }) => ({
      name: `${mcpServerId}.${id}`,
      mcpServerId,
      url,
      signers: [...secrets, ...signingKeys],
      ratePerSecond,
      concurrency,
      wants: ({ kind, status }: WebhookEvent) => (kinds?.includes(kind) ?? true) && statuses.includes(status),
    })),
  );
}

/** What of an announcement leaves the gateway: only what is named here. */
export function webhookEventOf({
  eventId,
  type,
  elicitationId,
  mcpServerId,
  kind,
  occurredAt,
}: FeedEvent): WebhookEvent {
  return {
    eventId,
    elicitationId,
    mcpServerId,
    kind,
    status: type.slice('elicitation.'.length) as WebhookEvent['status'],
    occurredAt,
  };
}
