import { type ElicitationStatus, kinds } from '@postern/elicitation';
import { ed25519Signer, hmacSigner, WebhookKeyError, type WebhookSigner } from '@postern/webhooks';
import { z } from 'zod';
import { slug, webUrl } from './config-values.ts';

const ends = ['completed', 'declined', 'failed', 'cancelled', 'expired'] as const satisfies ElicitationStatus[];
const statuses = ['pending', 'active', 'verifying', ...ends] as const satisfies ElicitationStatus[];

/** A key becomes what signs with it at once, so that nothing later can print, store or log it. */
function signerOf(read: (text: string) => WebhookSigner, prefix: string) {
  return z
    .string()
    .meta({ pattern: `^${prefix}[A-Za-z0-9+/]{32,}={0,2}$` })
    .transform((text, context): WebhookSigner => {
      try {
        return read(text);
      } catch (error) {
        if (!(error instanceof WebhookKeyError)) throw error;
        context.addIssue({ code: 'custom', message: error.message });
        return z.NEVER;
      }
    });
}

export const webhookEndpointSchema = z
  .strictObject({
    id: slug.describe('Never changes: what is still to be delivered belongs to it.'),
    url: webUrl.describe('Told of elicitations of this MCP server. https; http on a loopback address only.'),
    secrets: z
      .array(signerOf(hmacSigner, 'whsec_'))
      .max(2)
      .default([])
      .describe('whsec_ and 24 to 64 random bytes in base64: sign with HMAC (v1). Two while they are exchanged.'),
    signingKeys: z
      .array(signerOf(ed25519Signer, 'whsk_'))
      .max(2)
      .default([])
      .describe('whsk_ and an Ed25519 private key in base64: sign so that the receiver holds no secret (v1a).'),
    kinds: z.array(z.enum(kinds)).min(1).optional().describe('Only these kinds. Default: all.'),
    statuses: z
      .array(z.enum(statuses))
      .min(1)
      .default([...ends])
      .describe('Told when an elicitation gets one of these. Default: when it ends.'),
    ratePerSecond: z.int().min(1).max(1000).default(50).describe('Requests in a second, of all gateway processes.'),
    concurrency: z.int().min(1).max(64).default(8).describe('Requests under way at once, per gateway process.'),
  })
  .refine(endpoint => endpoint.secrets.length + endpoint.signingKeys.length > 0, {
    error: 'needs a secret or a signing key',
    path: ['secrets'],
  })
  .meta({
    anyOf: ['secrets', 'signingKeys'].map(name => ({
      required: [name],
      properties: { [name]: { type: 'array', minItems: 1 } },
    })),
  });

export type WebhookEndpointConfig = z.infer<typeof webhookEndpointSchema>;
