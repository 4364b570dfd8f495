import type { GatewayConfigInput } from '../config/config-schema.ts';
import type { WebhooksOptions } from '../webhooks/webhooks.ts';
import { sampleConfig, sampleMcpServer } from './sample-config.ts';

export type EndpointInput = NonNullable<GatewayConfigInput['mcpServers'][number]['webhooks']>[number];

/** Fast enough to be waited for; the true times are proven with the schedule. */
export const quickPace = {
  retryDelay: (attempt: number) => (attempt < 4 ? 20 : undefined),
  lockMs: 400,
  leaseMs: 400,
  pauseMs: 50,
} satisfies WebhooksOptions['pace'];

export function webhooksConfig(redis: { url?: string; prefix: string }, webhooks: readonly EndpointInput[]) {
  return sampleConfig({
    publicUrl: 'http://127.0.0.1:8080',
    redis,
    mcpServers: [{ ...sampleMcpServer, webhooks: [...webhooks] }],
  });
}
