import type { WebhooksOptions } from '../events/webhooks/webhooks.ts';
import type { GatewayConfigInput } from '../platform/config/config-schema.ts';
import { sampleConfig, sampleMcpServer } from './sample-config.ts';

export type EndpointInput = NonNullable<GatewayConfigInput['mcpServers'][number]['webhooks']>[number];

/** Short times for tests; the schedule has tests of the real times. */
export const quickPace = {
  retryDelay: (attempt: number) => (attempt < 4 ? 20 : undefined),
  leaseMs: 400,
  pauseMs: 50,
} satisfies WebhooksOptions['pace'];

/** For killed replicas: another replica takes over their jobs soon. Too soon for tests on a busy machine. */
export const killedPace = { ...quickPace, lockMs: 1_500 } satisfies WebhooksOptions['pace'];

export function webhooksConfig(redis: { url?: string; prefix: string }, webhooks: readonly EndpointInput[]) {
  return sampleConfig({
    publicUrl: 'http://127.0.0.1:8080',
    redis: { url: 'redis://redis.example:6379', ...redis },
    mcpServers: [{ ...sampleMcpServer, webhooks: [...webhooks] }],
  });
}
