import type { FeedEvent } from '@postern/elicitation';
import type { McpServerConfig, OperatorWebhookConfig } from '../../platform/config/mcp-server-config.ts';
import type { WebhookSigner } from '../../platform/config/webhook-signer.ts';
import type { ElicitationWebhookEvent } from './webhook-request.ts';

/** A configured receiver. */
export interface WebhookEndpoint {
  /** `<mcpServerId>.<id>` or `operator/<id>`, in logs, metrics and commands. */
  readonly name: string;
  readonly url: string;
  readonly signers: readonly WebhookSigner[];
  readonly ratePerSecond: number;
  readonly concurrency: number;
  /** The endpoint as configured, to recognize a change. */
  readonly settings: unknown;
}

/** The receiver of an MCP server. */
export interface McpServerEndpoint extends WebhookEndpoint {
  readonly mcpServerId: string;
  wants(event: ElicitationWebhookEvent): boolean;
}

export function mcpServerEndpointsOf(config: {
  readonly mcpServers: readonly McpServerConfig[];
}): readonly McpServerEndpoint[] {
  return config.mcpServers.flatMap(({ id: mcpServerId, webhooks }) =>
    webhooks.map(webhook => ({
      ...endpointOf(`${mcpServerId}.${webhook.id}`, webhook),
      mcpServerId,
      wants: ({ kind, status }: ElicitationWebhookEvent) =>
        (webhook.kinds?.includes(kind) ?? true) && [...webhook.statuses, ...webhook.payments].includes(status),
    })),
  );
}

/** The receivers of the operator. No id of an MCP server contains a slash. */
export function operatorEndpointsOf(config: {
  readonly operatorWebhooks: readonly OperatorWebhookConfig[];
}): readonly WebhookEndpoint[] {
  return config.operatorWebhooks.map(webhook => endpointOf(`operator/${webhook.id}`, webhook));
}

function endpointOf(name: string, settings: OperatorWebhookConfig): WebhookEndpoint {
  const { url, secrets, signingKeys, ratePerSecond, concurrency } = settings;
  return { name, url, signers: [...secrets, ...signingKeys], ratePerSecond, concurrency, settings };
}

/** Returns the members of an event that a webhook carries, and no others. */
export function webhookEventOf({
  eventId,
  type,
  elicitationId,
  mcpServerId,
  kind,
  occurredAt,
}: FeedEvent): ElicitationWebhookEvent {
  return {
    eventId,
    elicitationId,
    mcpServerId,
    kind,
    status: (type.startsWith('elicitation.')
      ? type.slice('elicitation.'.length)
      : type) as ElicitationWebhookEvent['status'],
    occurredAt,
  };
}
