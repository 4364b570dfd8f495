import { z } from 'zod';
import { connectionIdSchema, issuerSchema, providerNameSchema, subjectIdentifierSchema } from './elicitations.ts';

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
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Connection' });

export const connectionListSchema = z.object({ connections: z.array(connectionSchema) }).meta({ id: 'ConnectionList' });

export const accessTokenSchema = z
  .object({
    accessToken: z.string(),
    tokenType: z.string().describe('`Bearer` (RFC 6750) unless the provider says otherwise.'),
    expiresAt: z.iso.datetime().optional().describe('Absent where the provider does not say.'),
    scopes: z.array(z.string()),
  })
  .meta({ id: 'AccessToken' });

export type ConnectionBody = z.infer<typeof connectionSchema>;
export type ConnectionListBody = z.infer<typeof connectionListSchema>;
export type AccessTokenBody = z.infer<typeof accessTokenSchema>;
