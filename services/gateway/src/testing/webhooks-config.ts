import type { GatewayConfigInput } from '../config/config-schema.ts';
import type { WebhooksOptions } from '../webhooks/webhooks.ts';
import { sampleConfig, sampleMcpServer } from './sample-config.ts';

export type EndpointInput = NonNullable<GatewayConfigInput['mcpServers'][number]['webhooks']>[number];

/** Fast enough to be waited for; the true times are proven with the schedule. */
export const quickPace = {
  retryDelay: (attempt: number) => (attempt < 4 ? 20 : undefined),
  leaseMs: 400,
  pauseMs: 50,
} satisfies WebhooksOptions['pace'];

/** Where a replica is killed, what it had in hand is soon another's; too soon for a machine that is very busy. */
export const killedPace = { ...quickPace, lockMs: 1_500 } satisfies WebhooksOptions['pace'];

export function webhooksConfig(redis: { url?: string; prefix: string }, webhooks: readonly EndpointInput[]) {
  return sampleConfig({
    publicUrl: 'http://127.0.0.1:8080',
    redis,
    mcpServers: [{ ...sampleMcpServer, webhooks: [...webhooks] }],
  });
}
