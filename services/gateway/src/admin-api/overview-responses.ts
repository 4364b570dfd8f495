import { countedSteps, kinds } from '@postern/elicitation';
import { z } from 'zod';
import { count, named, text, time, webhookEndpoint } from './admin-responses.ts';

const counted = { at: time, mcpServerId: text, kind: z.enum(kinds), count };
export const counts = named('Counts', {
  by: z.enum(['hour', 'day']),
  order: z.array(z.enum(countedSteps)),
  steps: z.array(z.object({ ...counted, step: z.enum(countedSteps), provider: text.optional() })),
  decisions: z.array(z.object({ ...counted, withinSeconds: count })),
  refreshes: z
    .array(
      z.object({
        at: time,
        provider: text,
        outcome: z.enum(['refreshed', 'postponed', 'lost']),
        code: text.optional(),
        count,
      }),
    )
    .meta({ description: 'How refreshes of tokens ended, on all replicas.' }),
});

const age = {
  since: time.optional().meta({ description: 'When the deployment first had the key. Absent if not known.' }),
  isOrEarlier: z
    .boolean()
    .optional()
    .meta({ description: 'The key was there when the deployment began to note ages.' }),
};

export const health = named('Health', {
  version: text,
  redis: z.object({ isReachable: z.boolean(), refusals: z.array(text) }),
  records: z
    .object({ open: count, ended: count, connections: count, credentials: count, revocations: count })
    .optional(),
  webhooks: z.array(webhookEndpoint).optional(),
  providers: z
    .array(
      z.object({
        provider: text,
        pausedMs: z
          .number()
          .optional()
          .meta({ description: 'How long this replica sends the provider no requests, after repeated timeouts.' }),
      }),
    )
    .optional(),
  storage: z
    .array(
      z.object({
        mcpServerId: text,
        records: count,
        recordsQuota: count,
        bytes: count,
        bytesQuota: count,
        fullestShard: z.number().meta({ description: 'Used part of the fullest shard, 1 at its limit.' }),
        isRefusing: z.boolean(),
      }),
    )
    .optional()
    .meta({ description: 'Storage quotas, without events. The fullest shard decides for the people in it.' }),
  vaultKeys: z.array(z.object({ kid: text, seals: z.boolean(), ...age })).optional(),
  receiptKeys: z.array(z.object({ kid: text, signs: z.boolean(), ...age })).optional(),
  apiKeys: z
    .object({
      valid: count,
      oldest: z.array(
        z.object({
          apiKeyId: text,
          mcpServerId: text,
          source: z.enum(['file', 'store']),
          name: text.optional(),
          expires: text.optional(),
          lastUsedAt: time.optional(),
          ...age,
        }),
      ),
    })
    .optional(),
});
