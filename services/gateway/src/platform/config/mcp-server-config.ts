import { plainName } from '@postern/api';
import { logoSchema } from '@postern/authorization';
import { type ElicitationStatus, kinds, paymentEventTypes, SHARDS, type StorageQuota } from '@postern/elicitation';
import { decimalsOf, payeeAccountSchema } from '@postern/payment';
import type { JWK } from 'jose';
import { z } from 'zod';
import { isLoopbackUrl, localName, lookMembers, slug, webUrl } from './config-values.ts';
import { deliveryAlgorithm, publicKeyFault } from './json-web-keys.ts';
import { hasRedis, type RedisConfig } from './redis-config.ts';
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

const webhookMembers = {
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

const webhookEndpointSchema = signed(
  z.strictObject({
    ...webhookMembers,
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
    ...webhookMembers,
    url: webUrl.describe('URL of the endpoint. https, or http on a loopback address.'),
  }),
);

export type OperatorWebhookConfig = z.infer<typeof operatorWebhookSchema>;

const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, { error: 'must be an ISO 4217 code' })
  .refine(code => decimalsOf(code) !== undefined, { error: 'is not a currency of ISO 4217' });
const minorUnits = z.int().max(999_999_999_999);

/** Spelled as an API call spells it, because the two are compared. */
const payeeName = plainName(80);

const noAccounts: Readonly<Record<string, string>> = {};

const payeeSchema = z.strictObject({
  name: payeeName.describe('As users see it, and as the MCP server names it in its requests.'),
  accounts: z
    .record(slug, payeeAccountSchema)
    .default({})
    .describe(
      'By processor: the connected account of the payee (Stripe Connect), which gets the money of its payments. Default: the account of the processor’s key.',
    ),
});

/** What a user must prove to approve a payment, and how much an MCP server may charge. */
const paymentPolicySchema = z.strictObject({
  processors: z
    .array(slug)
    .min(1)
    .default(['none'])
    .describe(
      'Names of configured processors, the default first. `none`: the gateway collects the approval only; the MCP server charges.',
    ),
  maxAmount: z
    .record(currency, minorUnits.min(1))
    .refine(limits => Object.keys(limits).length > 0, { error: 'needs at least one currency' })
    .meta({ minProperties: 1 })
    .describe('Maximum amount of one payment, by currency, in minor units. The gateway refuses other currencies.'),
  passkeyAbove: z
    .record(currency, minorUnits.min(0))
    .default({})
    .describe('By currency, in minor units: larger payments require a passkey. Payments in other currencies never do.'),
  perPersonAndDay: z
    .record(
      currency,
      z
        .strictObject({
          passkeyAbove: minorUnits
            .min(0)
            .optional()
            .describe('An approval that brings the total above this amount requires a passkey.'),
          max: minorUnits
            .min(1)
            .optional()
            .describe('The gateway refuses an approval that would bring the total above this amount.'),
        })
        .refine(limits => limits.passkeyAbove !== undefined || limits.max !== undefined, {
          error: 'needs passkeyAbove or max',
        })
        .meta({ anyOf: [{ required: ['passkeyAbove'] }, { required: ['max'] }] }),
    )
    .default({})
    .describe(
      'By currency, in minor units: limits on the total that one user approves for this MCP server within 24 hours. Payments that were ' +
        'not made do not count. A refund does not lower the total. Default: no limit.',
    ),
  firstPasskeyUpTo: z
    .record(currency, minorUnits.min(1))
    .default({})
    .describe(
      "By currency, in minor units: maximum payment that a user's first passkey may approve in the 24 hours after it was added. " +
        'In other currencies it approves nothing during that time.',
    ),
  payees: z
    .array(z.union([payeeName.transform(name => ({ name, accounts: noAccounts })), payeeSchema]))
    .max(100)
    .default([])
    .describe(
      'Payees of this MCP server, each a name or an object with its accounts. A processor takes payments only for these. The gateway refuses confusable names from other MCP servers.',
    ),
  refundUnexpected: z
    .boolean()
    .default(false)
    .describe(
      'Pays back, once and in full, what a processor takes for an elicitation that the payment does not complete: after its end, or another amount. By default, the gateway only reports such a payment (`payment.refund_needed`).',
    ),
  freshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .default(300)
    .describe('Maximum age of the sign-in of a user who approves a payment, in seconds.'),
});

const confirmationPolicySchema = z.strictObject({
  freshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .optional()
    .describe('Maximum age of the sign-in for destructive confirmations, in seconds. Default: no limit.'),
  everyFreshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .optional()
    .describe('Maximum age of the sign-in for every confirmation, destructive or not, in seconds. Default: no limit.'),
});

const fieldName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/, { error: 'must name a field of the credential' });

/** How the gateway checks that a typed credential works. */
export const credentialCheckSchema = z
  .strictObject({
    url: webUrl.describe('URL that the gateway calls with the credential. The page shows its host to the user.'),
    method: z.enum(['GET', 'HEAD', 'POST']).default('GET'),
    bearer: fieldName.optional().describe('Field to send as bearer token (RFC 6750).'),
    basic: z
      .strictObject({ username: fieldName, password: fieldName })
      .optional()
      .describe('Fields to send with HTTP Basic authentication (RFC 7617).'),
    header: z
      .strictObject({
        name: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'must be a header name' }),
        field: fieldName,
      })
      .optional()
      .describe('Field to send in a custom header, such as X-Api-Key.'),
    accepted: z
      .array(z.int().min(200).max(299))
      .min(1)
      .default([200, 201, 204])
      .describe('Statuses that mean that the credential works.'),
    rejected: z
      .array(z.int().min(400).max(499))
      .min(1)
      .default([401, 403])
      .describe(
        'Statuses that mean that the credential does not work. After any other status, the page asks the user to try again later.',
      ),
  })
  .refine(check => [check.bearer, check.basic, check.header].filter(way => way !== undefined).length === 1, {
    error: 'needs exactly one of bearer, basic and header',
  })
  .meta({ oneOf: ['bearer', 'basic', 'header'].map(way => ({ required: [way] })) });

export type CredentialCheckConfig = z.infer<typeof credentialCheckSchema>;

const apiKeySchema = z.strictObject({
  hash: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/, { error: 'must be sha256: and the hexadecimal SHA-256 of the key' })
    .describe('Hash that `postern new-api-key` prints. Never put the key itself here.'),
  expires: z.iso.datetime({ offset: true }).optional().describe('When the key expires.'),
});

/** Excludes private keys, which have `d` (RFC 7518 section 6). */
const publicJwk = { not: { required: ['d'] } };

/** Public keys only: private keys must not be in the configuration. */
const jwksSchema = z.strictObject({
  keys: z
    .array(
      z
        .looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']), kid: z.string().min(1) })
        .superRefine((jwk, context) => {
          const fault = publicKeyFault(jwk);
          if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
        })
        .meta(publicJwk),
    )
    .min(1),
});

/** A public key that the gateway encrypts to, not one for signatures. */
const encryptionKeySchema = z
  .looseObject({
    kty: z.enum(['RSA', 'EC', 'OKP']),
    kid: z.string().min(1).optional(),
    use: z.literal('enc').optional(),
  })
  .meta(publicJwk)
  .transform((jwk): JWK => ({ ...jwk }))
  .superRefine((jwk, context) => {
    const fault =
      publicKeyFault(jwk) ?? (deliveryAlgorithm(jwk) === undefined ? 'is not a key for encryption' : undefined);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

/** Storage quota of one MCP server. The minimum leaves room for some of the largest elicitations per shard. */
export const storedRecords = z
  .int()
  .min(25_600)
  .max(1_000_000_000)
  .describe(
    'Maximum stored records of the MCP server, such as Idempotency-Keys, elicitations, which are kept for a day after their end, and connections, which may be half of them.',
  );
export const storedMegabytes = z
  .int()
  .min(64)
  .max(1_000_000)
  .describe(
    'Maximum Redis memory of these records and the event feed, in MiB. docs/redis.md explains how the gateway counts it.',
  );

/** At a loopback address, the only user is the developer, who must not wait for a test run. */
export const limitDefaults = {
  network: { elicitationsPerSubject: 30, openElicitationsPerSubject: 20, pageRequestsPerMinute: 300 },
  loopback: { elicitationsPerSubject: 10_000, openElicitationsPerSubject: 1000, pageRequestsPerMinute: 10_000 },
} as const;

export type LimitDefaults = Readonly<Record<keyof typeof limitDefaults.network, number>>;

/** Defaults of the limits that depend on who can be a user. */
export const limitDefaultsOf = (publicUrl: string): LimitDefaults =>
  limitDefaults[isLoopbackUrl(publicUrl) ? 'loopback' : 'network'];

/** The sentence about such a default in the description of a setting. */
export const eitherDefault = (name: keyof LimitDefaults): string =>
  `Default: ${limitDefaults.network[name]}, or ${limitDefaults.loopback[name]} if \`publicUrl\` is a loopback address.`;

const limitsSchema = z.strictObject({
  concurrentRequests: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Maximum requests of this MCP server in flight, per gateway process, without those that wait for a provider. Default: half of `overload.requestsInFlight`, or all of it for the only MCP server.',
    ),
  concurrentWaits: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Maximum concurrent waiting reads of this MCP server, per gateway process. Default: half of `overload.waitingReads`, or all of it for the only MCP server.',
    ),
  eventStreams: z
    .int()
    .min(1)
    .default(100)
    .describe('Maximum open event streams of this MCP server, per gateway process.'),
  requestsPerMinute: z
    .int()
    .min(1)
    .default(6000)
    .describe('Rate limit of the API requests of this MCP server, per gateway process.'),
  elicitationsPerSubject: z
    .int()
    .min(1)
    .optional()
    .describe(
      `Maximum new elicitations per user within \`subjectWindowSeconds\`, over all gateway processes. ${eitherDefault('elicitationsPerSubject')}`,
    ),
  subjectWindowSeconds: z.int().min(1).max(86_400).default(600).describe('Seconds for `elicitationsPerSubject`.'),
  openElicitationsPerSubject: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      `Maximum open elicitations per user, over all gateway processes. All of them are listed at \`/me\`, so that no MCP server hides those of another. ${eitherDefault('openElicitationsPerSubject')}`,
    ),
  storedRecords: storedRecords.optional().describe('As `limits.storedRecords`. Default: `limits.storedRecords`.'),
  storedMegabytes: storedMegabytes
    .optional()
    .describe('As `limits.storedMegabytes`. Default: `limits.storedMegabytes`.'),
  maxTtlSeconds: z.int().min(10).max(86_400).default(86_400).describe('Maximum lifetime of an elicitation.'),
});

const entrySchema = z.strictObject({
  id: slug.describe('Part of redirect URIs. Never change it.'),
  name: localName(80)
    .optional()
    .describe(
      'Name that users see, or an object with a name per language: a page shows the one in the language of its reader, else English, else the first in the order en, de, fr, es, ja, ar, zh-Hans, zh-Hant. Default: the `id`.',
    ),
  url: webUrl.describe('URL of the MCP endpoint. Users see its host.'),
  logo: logoSchema.optional().describe('A square image. Default: letters of its name.'),
  branding: z
    .strictObject(lookMembers)
    .optional()
    .describe('Appearance of its pages, where it differs from `branding`.'),
  apiKeys: z
    .array(apiKeySchema)
    .default([])
    .describe('Hashes of its API keys. `postern api-keys` adds further keys without a reload.'),
  jwks: jwksSchema.optional().describe('Public keys of the JWTs that this MCP server may use instead of an API key.'),
  kinds: z
    .array(z.enum(kinds))
    .min(1)
    .optional()
    .describe('Kinds that it may request. Default: all kinds, payments only if `payment` is set.'),
  payment: paymentPolicySchema.optional(),
  confirmation: confirmationPolicySchema.prefault({}),
  credentialChecks: z
    .record(slug, credentialCheckSchema)
    .default({})
    .describe('By credential name: how to check that a typed credential works.'),
  providers: z.array(slug).default([]),
  issuers: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .transform(issuers => issuers ?? [])
    .describe(
      'Issuers of the users for whom it may request elicitations. Default with identity mode login: the issuer of the only identity provider.',
    ),
  identity: z
    .discriminatedUnion('mode', [
      z.strictObject({ mode: z.literal('login') }),
      z.strictObject({
        mode: z.literal('external'),
        verifyUrl: webUrl.describe(
          'Page of your application that calls verify. If the query has max_age=0, it must sign the user in again; otherwise users cannot add a first passkey.',
        ),
      }),
      z.strictObject({ mode: z.literal('loopback') }),
    ])
    .default({ mode: 'login' }),
  audiences: z
    .array(z.string().min(1))
    .default([])
    .describe('Accepted `aud` of the MCP access tokens that it sends to the gateway. Default: its `url`.'),
  group: slug
    .optional()
    .describe('MCP servers of one group share connections. Group only MCP servers whose users expect this.'),
  returnUrls: z.array(webUrl).default([]),
  webhooks: z
    .array(webhookEndpointSchema)
    .max(20)
    .default([])
    .describe('Webhook endpoints for status changes of elicitations.'),
  encryption: z
    .strictObject({
      key: encryptionKeySchema,
      required: z
        .boolean()
        .default(false)
        .describe('Always seals access tokens to this key. By default, only if the request asks for it.'),
    })
    .optional()
    .describe('Public key of this MCP server, to seal access tokens to (JWE).'),
  limits: limitsSchema.prefault({}),
});

export const mcpServerSchema = entrySchema.transform(server => ({ ...server, name: server.name ?? server.id }));

export type McpServerConfig = z.infer<typeof mcpServerSchema>;

/** The sections that a quota depends on. */
export interface QuotaConfig {
  readonly events: { readonly retained: number };
  readonly limits: { readonly storedRecords: number; readonly storedMegabytes: number };
  readonly redis: RedisConfig;
}

const MIB = 1024 * 1024;
/** Redis memory of one event in a feed, in bytes. Redis trims feeds in batches, so a feed holds up to 2 % more than configured. */
const BYTES_PER_EVENT = 160;
const SURPLUS = 1.02;
/** Minimum left for records, in bytes. */
const LEAST_BYTES = 32 * MIB;

/** Returns the storage quota of an MCP server without its feed. The feed counts as full, because events are never refused. */
export function storageQuotaOf({ limits }: Pick<McpServerConfig, 'limits'>, config: QuotaConfig): StorageQuota {
  const records = limits.storedRecords ?? config.limits.storedRecords;
  return { records, bytes: bytesOf({ limits }, config), parts: quotaPartsOf(config) };
}

export function leavesRoom(server: Pick<McpServerConfig, 'limits'>, config: Omit<QuotaConfig, 'redis'>): boolean {
  return bytesOf(server, config) >= LEAST_BYTES;
}

const bytesOf = ({ limits }: Pick<McpServerConfig, 'limits'>, config: Omit<QuotaConfig, 'redis'>) =>
  (limits.storedMegabytes ?? config.limits.storedMegabytes) * MIB - feedBytes(config);

function feedBytes({ events }: Pick<QuotaConfig, 'events'>): number {
  return Math.ceil(events.retained * SURPLUS * BYTES_PER_EVENT);
}

/** Equal parts of a quota, of which each person is in one. A file has one: the records in it are of the one person of this machine. */
const quotaPartsOf = (config: Pick<QuotaConfig, 'redis'>): number => (hasRedis(config) ? SHARDS.length : 1);
