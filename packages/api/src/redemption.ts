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

const plainCredential = z
  .object({ ...redeemed, kind: z.literal('credential'), values: z.record(z.string(), z.string()) })
  .meta({ id: 'PlainRedeemedCredential' });
const sealedCredential = z
  .object({ ...redeemed, kind: z.literal('credential'), sealedResult })
  .meta({ id: 'SealedRedeemedCredential' });
const plainForm = z
  .object({
    ...redeemed,
    kind: z.literal('form'),
    content: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
  })
  .meta({ id: 'PlainRedeemedForm' });
const sealedForm = z.object({ ...redeemed, kind: z.literal('form'), sealedResult }).meta({ id: 'SealedRedeemedForm' });

/**
 * The result of a completed elicitation. Returned once, and again for the same `Idempotency-Key`. One schema per kind, so that
 * generated clients narrow by `kind`.
 */
export const redeemedElicitationSchema = z
  .union([
    z.object({ ...redeemed, kind: z.literal('payment'), receipt }).meta({ id: 'RedeemedPayment' }),
    z.object({ ...redeemed, kind: z.literal('confirmation'), receipt }).meta({ id: 'RedeemedConfirmation' }),
    z.union([plainCredential, sealedCredential]).meta({ id: 'RedeemedCredential' }),
    z.union([plainForm, sealedForm]).meta({ id: 'RedeemedForm' }),
  ])
  .meta({ id: 'RedeemedElicitation' });

/** A JSON Web Key Set (RFC 7517) with the Ed25519 keys (RFC 8037) that verify receipts. */
export const receiptKeySetSchema = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string().describe('The public key, in base64url.'),
        kid: z.string().describe('Named by the header of each receipt that this key signed.'),
        alg: z.literal('EdDSA'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'ReceiptKeySet' });

export type RedeemRequest = z.infer<typeof redeemRequestSchema>;
export type RedeemedElicitationBody = z.infer<typeof redeemedElicitationSchema>;
