import { z } from 'zod';
import { connectionIdSchema, issuerSchema, providerNameSchema, subjectIdentifierSchema } from './identifiers.ts';
import { plainText } from './plain-text.ts';

export const listConnectionsQuerySchema = z.strictObject({
  issuer: issuerSchema,
  subject: subjectIdentifierSchema,
  provider: providerNameSchema.optional(),
});

export const connectionSchema = z
  .object({
    connectionId: connectionIdSchema,
    provider: z.string(),
    resource: z.string().optional(),
    scopes: z.array(z.string()),
    account: z.object({ id: z.string(), name: z.string().optional() }).optional(),
    status: z
      .enum(['usable', 'reauthorization_required'])
      .describe('Whether an access token can be had without asking the user.'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime().describe('When the present tokens were stored.'),
    lastUsedAt: z.iso.datetime().optional().describe('When an access token was last taken, to the minute.'),
  })
  .meta({ id: 'Connection' });

export const connectionListSchema = z.object({ connections: z.array(connectionSchema) }).meta({ id: 'ConnectionList' });

/** How a connection was ended at the provider. */
export const revocationStates = ['revoked', 'pending', 'unsupported', 'shared'] as const;

export const removedConnectionSchema = z
  .object({
    connectionId: connectionIdSchema,
    revocation: z
      .enum(revocationStates)
      .describe(
        'At the provider: `revoked`; `pending` (did not answer, is told again); `unsupported` (cannot be told); `shared` (the ' +
          "user's other connections depend on the same grant, so it was only removed here).",
      ),
  })
  .meta({ id: 'RemovedConnection' });

export const accessTokenRequestSchema = z
  .strictObject({
    tool: plainText(80).optional().describe('What the token is for; shown to the user as last use, as your claim.'),
    rejectedGeneration: z
      .int()
      .min(1)
      .optional()
      .describe(
        "The `generation` of a token that the provider's API turned away. That token set, and no newer one, is renewed first; " +
          'where it cannot be renewed, the user must authorize again.',
      ),
    sealed: z
      .literal(true)
      .optional()
      .describe('Deliver the token as a JWE to the encryption key registered for this MCP server.'),
    dpop: z
      .strictObject({
        method: z
          .string()
          .regex(/^[A-Z]{1,20}$/, { error: 'an HTTP method in capitals' })
          .describe('`htm` of the proof.'),
        url: z.url().max(2048).describe('`htu` of the proof; query and fragment are left out.'),
        nonce: z
          .string()
          .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/)
          .optional()
          .describe("The API's `DPoP-Nonce`."),
      })
      .optional()
      .describe('For tokens of type `DPoP`: also make a proof for this one request (RFC 9449 section 4.2).'),
  })
  .meta({ id: 'AccessTokenRequest' });

const accessTokenFacts = {
  tokenType: z.string().describe('`Bearer` (RFC 6750) or `DPoP` (RFC 9449).'),
  expiresAt: z.iso.datetime().optional().describe('Absent where the provider does not say.'),
  scopes: z.array(z.string()),
  generation: z.int().describe('Names this token set, for `rejectedGeneration`; a later one has a greater number.'),
  dpopProof: z.string().optional().describe('Value of the `DPoP` header; present when `dpop` was asked for.'),
};

export const plainAccessTokenSchema = z.object({ accessToken: z.string(), ...accessTokenFacts });
export const sealedAccessTokenSchema = z.object({
  sealedAccessToken: z
    .string()
    .describe(
      'A compact JWE (RFC 7516) of the access token. Protected members `aud` (your MCP server id), `connectionId` and ' +
        '`generation` say what it is for.',
    ),
  ...accessTokenFacts,
});
export const accessTokenSchema = z.union([plainAccessTokenSchema, sealedAccessTokenSchema]).meta({ id: 'AccessToken' });

export type ConnectionBody = z.infer<typeof connectionSchema>;
export type ConnectionListBody = z.infer<typeof connectionListSchema>;
export type RemovedConnectionBody = z.infer<typeof removedConnectionSchema>;
export type RevocationState = (typeof revocationStates)[number];
export type AccessTokenRequest = z.infer<typeof accessTokenRequestSchema>;
export type PlainAccessToken = z.infer<typeof plainAccessTokenSchema>;
export type SealedAccessToken = z.infer<typeof sealedAccessTokenSchema>;
export type AccessTokenBody = z.infer<typeof accessTokenSchema>;
