import { z } from 'zod/v4';
import { elicitationIdSchema } from './identifiers.ts';

export const redeemRequestSchema = z
  .strictObject({
    sealed: z
      .literal(true)
      .optional()
      .describe('Deliver what the user typed as a JWE to the encryption key registered for this MCP server.'),
  })
  .meta({ id: 'RedeemRequest' });

const redeemed = { elicitationId: elicitationIdSchema, redeemedAt: z.iso.datetime() };
const receipt = z
  .string()
  .describe('A JWS (RFC 7515) over the approved terms; verify it with the keys of `/.well-known/jwks.json`.');
const sealedResult = z
  .string()
  .describe(
    'A compact JWE (RFC 7516) of the JSON of `values` or `content`. Protected members `aud` (your MCP server id) and ' +
      '`elicitationId` identify the result.',
  );

/** The result of a completed elicitation. Returned once, and again for the same `Idempotency-Key`. */
export const redeemedElicitationSchema = z
  .union([
    z.object({ ...redeemed, kind: z.enum(['payment', 'confirmation']), receipt }),
    z.object({ ...redeemed, kind: z.literal('credential'), values: z.record(z.string(), z.string()) }),
    z.object({
      ...redeemed,
      kind: z.literal('form'),
      content: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
    }),
    z.object({ ...redeemed, kind: z.enum(['credential', 'form']), sealedResult }),
  ])
  .meta({ id: 'RedeemedElicitation' });

export type RedeemRequest = z.infer<typeof redeemRequestSchema>;
export type RedeemedElicitationBody = z.infer<typeof redeemedElicitationSchema>;
