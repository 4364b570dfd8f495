import { z } from 'zod/v4';
import { kindSchema } from './elicitations.ts';

/**
 * Revision of the contract. Raise it with every operation or member that a client package needs. A client package compares it with
 * the revision that the gateway reports, and so finds a gateway that is older than the package.
 */
export const CONTRACT_REVISION = 1;

const providerSchema = z.object({
  name: z.string().describe('Name in requests.'),
  displayName: z.string(),
  preset: z.string().optional().describe('Well-known provider whose settings apply.'),
  scopes: z.array(z.string()).optional().describe('Scopes that it may request. Absent: any scope.'),
  defaultScopes: z.array(z.string()).describe('Requested if the request names none.'),
  flow: z.enum(['redirect', 'device']),
  dpop: z.boolean().describe('Access tokens are bound to a DPoP key (RFC 9449).'),
});

const paymentSchema = z.object({
  currencies: z
    .record(z.string(), z.object({ maxMinorUnits: z.int() }))
    .describe('Maximum amount of one payment, by currency, in minor units. Other currencies are refused.'),
  processors: z
    .array(
      z.object({
        name: z.string(),
        mode: z.enum(['live', 'test']).optional().describe('As configured. Absent for `none`, which moves no money.'),
      }),
    )
    .describe('The default first.'),
  payees: z
    .array(z.string())
    .optional()
    .describe(
      'Names of the registered payees. A processor takes payments for no others. Absent from earlier gateways.',
    ),
});

export const callerSchema = z
  .object({
    mcpServerId: z.string(),
    name: z.string().describe('Name that users see.'),
    url: z.string().describe('URL of the MCP endpoint. Users see its host.'),
    gateway: z.object({
      version: z.string(),
      contract: z.int().describe('Revision of this contract. It grows by additions only.'),
      publicUrl: z.string().describe('Origin of the pages that users open. The `aud` of JWTs that callers sign.'),
      notOffered: z
        .array(z.string())
        .optional()
        .describe('What this gateway does not offer because it has no Redis. Absent with Redis.'),
    }),
    kinds: z.array(kindSchema).describe('Kinds that it may request.'),
    providers: z.array(providerSchema).describe('Providers that it may request.'),
    issuers: z.array(z.string()).describe('Issuers of the users for whom it may request elicitations.'),
    audience: z.array(z.string()).describe('Accepted `aud` of the MCP access tokens that it sends to the gateway.'),
    identity: z.object({
      mode: z.enum(['login', 'external', 'loopback']),
      verifyUrl: z.string().optional().describe('With mode `external`: the page of the application that calls verify.'),
    }),
    payment: paymentSchema.optional().describe('Absent if it may not request payments.'),
    returnUrls: z.array(z.string()).describe('Registered return URLs.'),
    limits: z.object({
      requestsPerMinute: z.int().describe('Per gateway process.'),
      elicitationsPerSubject: z.int().describe('New elicitations per user within `subjectWindowSeconds`.'),
      openElicitationsPerSubject: z.int().optional().describe('Open elicitations per user.'),
      subjectWindowSeconds: z.int(),
      maxTtlSeconds: z.int(),
    }),
    encryption: z
      .object({
        thumbprint: z.string().describe('SHA-256 thumbprint of the registered public key (RFC 7638).'),
        kid: z.string().optional(),
        required: z.boolean().describe('Access tokens are always sealed, also if a request does not ask for it.'),
      })
      .optional()
      .describe('The key that secrets can be sealed to. Absent if none is registered.'),
  })
  .meta({ id: 'Caller' });

export type CallerBody = z.infer<typeof callerSchema>;
