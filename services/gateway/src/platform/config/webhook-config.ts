import { type ElicitationStatus, kinds, paymentEventTypes } from '@postern/elicitation';
import { z } from 'zod';
import { slug, webUrl } from './config-values.ts';
import { ed25519Signer, hmacSigner, WebhookKeyError, type WebhookSigner } from './webhook-signer.ts';

const ends = ['completed', 'declined', 'failed', 'cancelled', 'expired'] as const satisfies ElicitationStatus[];
const statuses = ['pending', 'active', 'verifying', ...ends] as const satisfies ElicitationStatus[];

/** Turns a key into a signer while parsing, so that no later code can print, store or log it. */
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

const members = {
  id: slug.describe('Never change it: pending deliveries belong to this id.'),
  secrets: z
    .array(signerOf(hmacSigner, 'whsec_'))
    .max(2)
    .default([])
    .describe(
      'Secrets for HMAC signatures (v1): whsec_ and 24 to 64 random bytes in base64. Configure two while you rotate them.',
    ),
  signingKeys: z
    .array(signerOf(ed25519Signer, 'whsk_'))
    .max(2)
    .default([])
    .describe(
      'Keys for Ed25519 signatures (v1a), which receivers verify without a secret: whsk_ and a private key in base64.',
    ),
  ratePerSecond: z.int().min(1).max(1000).default(50).describe('Rate limit, over all gateway processes.'),
  concurrency: z.int().min(1).max(64).default(8).describe('Maximum concurrent requests, per gateway process.'),
};

function signed<
  S extends z.ZodType<{ readonly secrets: readonly unknown[]; readonly signingKeys: readonly unknown[] }>,
>(schema: S) {
  return schema
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
}

export const webhookEndpointSchema = signed(
  z.strictObject({
    ...members,
    url: webUrl.describe('URL of the endpoint. https, or http on a loopback address.'),
    kinds: z.array(z.enum(kinds)).min(1).optional().describe('Kinds to send. Default: all.'),
    statuses: z
      .array(z.enum(statuses))
      .min(1)
      .default([...ends])
      .describe('Statuses to send. Default: all final statuses.'),
    payments: z
      .array(z.enum(paymentEventTypes))
      .default([...paymentEventTypes])
      .describe('Events of payments after their elicitation has ended to send. Default: all.'),
  }),
);

/** Endpoints of the operator, for changes of passkeys. */
export const operatorWebhookSchema = signed(
  z.strictObject({
    ...members,
    url: webUrl.describe('URL of the endpoint. https, or http on a loopback address.'),
  }),
);
