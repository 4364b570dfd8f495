import { z } from 'zod/v4';
import { connectionIdSchema, issuerSchema, providerNameSchema, subjectIdentifierSchema } from './identifiers.ts';
import { plainText } from './plain-text.ts';

export const listConnectionsQuerySchema = z.strictObject({
  issuer: issuerSchema,
  subject: subjectIdentifierSchema,
  provider: providerNameSchema.optional(),
});

const callbackMembersSchema = z
  .record(z.string(), z.string())
  .optional()
  .describe(
    "Additional parameters of the provider's callback that the operator named, such as `realmId` of QuickBooks. The user's browser " +
      'delivered them: check them with the API of the provider before they decide anything.',
  );

export const connectionSchema = z
  .object({
    connectionId: connectionIdSchema,
    provider: z.string(),
    resource: z.string().optional(),
    scopes: z.array(z.string()),
    account: z.object({ id: z.string(), name: z.string().optional() }).optional(),
    callbackMembers: callbackMembersSchema,
    status: z
      .enum(['usable', 'reauthorization_required'])
      .describe('Whether the gateway can return an access token without asking the user.'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime().describe('When the present tokens were stored.'),
    lastUsedAt: z.iso.datetime().optional().describe('When an access token was last read, to the minute.'),
  })
  .meta({ id: 'Connection' });

export const connectionListSchema = z.object({ connections: z.array(connectionSchema) }).meta({ id: 'ConnectionList' });

/** The result of the revocation at the provider. */
export const revocationStates = [
  'revoked',
  'refresh_token_revoked',
  'access_token_revoked',
  'pending',
  'unsupported',
  'shared',
] as const;

export const removedConnectionSchema = z
  .object({
    connectionId: connectionIdSchema,
    revocation: z
      .enum(revocationStates)
      .describe(
        'What the provider confirmed: `revoked` (all tokens); `refresh_token_revoked` (not the access token); ' +
          '`access_token_revoked` (not the refresh token, which Postern has deleted); `pending` (not all of it yet, Postern ' +
          'retries); `unsupported` (nothing: it offers no revocation); `shared` (nothing: other connections of the user share the ' +
          'grant, so Postern only deleted the connection).',
      ),
    accessTokenExpiresAt: z.iso
      .datetime()
      .optional()
      .describe(
        'Time until which the last access token may stay valid. Absent when the provider confirmed its end, when it has expired, and ' +
          'when the provider never named its expiry.',
      ),
  })
  .meta({ id: 'RemovedConnection' });

export const accessTokenRequestSchema = z
  .strictObject({
    tool: plainText(80)
      .optional()
      .describe('The purpose of the token; shown to the user as the last use, labelled as your claim.'),
    rejectedGeneration: z
      .int()
      .min(1)
      .optional()
      .describe(
        "The `generation` of a token that the provider's API rejected. The gateway refreshes that token set first, but no newer one. " +
          'If it cannot refresh the set, the user must authorize again.',
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
  expiresAt: z.iso.datetime().optional().describe('Absent if the provider does not report it.'),
  scopes: z.array(z.string()),
  generation: z.int().describe('Names this token set, for `rejectedGeneration`; a later one has a greater number.'),
  dpopProof: z.string().optional().describe('Value of the `DPoP` header; present if the request contains `dpop`.'),
  apiHosts: z
    .array(z.string())
    .optional()
    .describe(
      "Hosts of the provider's API, with a port unless it is 443; `*.example.com` names every host below " +
        '`example.com`. Send the token to no other host. Absent if the gateway does not know them.',
    ),
  callbackMembers: callbackMembersSchema,
};

export const plainAccessTokenSchema = z
  .object({ accessToken: z.string(), ...accessTokenFacts })
  .meta({ id: 'PlainAccessToken' });
export const sealedAccessTokenSchema = z
  .object({
    sealedAccessToken: z
      .string()
      .describe(
        'A compact JWE (RFC 7516) of the access token. Protected members `aud` (your MCP server id), `connectionId` and ' +
          '`generation` identify the token.',
      ),
    ...accessTokenFacts,
  })
  .meta({ id: 'SealedAccessToken' });
export const accessTokenSchema = z.union([plainAccessTokenSchema, sealedAccessTokenSchema]).meta({ id: 'AccessToken' });

export type ConnectionBody = z.infer<typeof connectionSchema>;
export type ConnectionListBody = z.infer<typeof connectionListSchema>;
export type RemovedConnectionBody = z.infer<typeof removedConnectionSchema>;
export type RevocationState = (typeof revocationStates)[number];
export type AccessTokenRequest = z.infer<typeof accessTokenRequestSchema>;
export type PlainAccessToken = z.infer<typeof plainAccessTokenSchema>;
export type SealedAccessToken = z.infer<typeof sealedAccessTokenSchema>;
export type AccessTokenBody = z.infer<typeof accessTokenSchema>;
