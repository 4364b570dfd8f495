import { identityProviderConfigSchema, providerConfigSchema } from '@postern/authorization';
import { kinds } from '@postern/elicitation';
import { processorConfigSchema } from '@postern/payment';
import type { JWK } from 'jose';
import { z } from 'zod';
import { definedOnly } from '../defined-only.ts';
import { deliveryAlgorithm } from '../flows/sealed-delivery.ts';
import { addressRangePattern, isAddressRange } from './address-range.ts';
import {
  confirmationPolicySchema,
  credentialCheckSchema,
  paymentPolicySchema,
  receiptsConfigSchema,
} from './approval-config.ts';
import { slug, webUrl } from './config-values.ts';
import { isLoopbackUrl, loopbackHostPattern } from './loopback.ts';
import { overloadConfigSchema, stopConfigSchema } from './overload-config.ts';
import { publicKeyFault } from './public-key-fault.ts';
import { redisConfigSchema } from './redis-config.ts';
import { webhookEndpointSchema } from './webhook-config.ts';

/** Where people and MCP servers reach the gateway. https, or http on a loopback address for development. */
const publicUrlSchema = z
  .url({ error: 'must be a URL', abort: true })
  .refine(value => ['https:', 'http:'].includes(new URL(value).protocol), { error: 'must be an http(s) URL' })
  .refine(value => new URL(value).protocol === 'https:' || isLoopbackUrl(value), {
    error: 'must be https, except on a loopback address',
  })
  .refine(value => new URL(value).pathname === '/' && !/[?#]/.test(value), {
    error: 'must be an origin without path, query or fragment',
  })
  .meta({ pattern: String.raw`^(?:https:\/\/[^\s\/?#]+|http:\/\/${loopbackHostPattern}(?::\d+)?)\/?$` })
  .transform(value => new URL(value).origin);

/** A file of our own origin, served by whatever stands before the gateway. */
const ownPath = z.string().regex(/^\/(?!\/)[^\s?#]*$/, { error: 'must be a path on the public origin' });

const apiKeySchema = z.strictObject({
  hash: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/, { error: 'must be sha256: and the hexadecimal SHA-256 of the key' })
    .describe('Made by `pnpm --filter @postern/gateway new-api-key`; the key itself is never written down here.'),
  expires: z.iso.datetime({ offset: true }).optional().describe('After this moment the key is refused.'),
});

/** Members of private keys only (RFC 7518 section 6). */
const publicJwk = { not: { required: ['d'] } };

/** Public keys only: a JWKS with a private member would put a secret where none belongs. */
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

/** A public key that the gateway encrypts to; never one that also verifies. */
const encryptionKeySchema = z
  .looseObject({
    kty: z.enum(['RSA', 'EC', 'OKP']),
    kid: z.string().min(1).optional(),
    use: z.literal('enc').optional(),
  })
  .meta(publicJwk)
  // Every absent member stays absent, as jose and Node expect of a JWK.
  .transform((jwk): JWK => ({ ...definedOnly(jwk) }))
  .superRefine((jwk, context) => {
    const fault = publicKeyFault(jwk) ?? (deliveryAlgorithm(jwk) === undefined ? 'cannot be encrypted to' : undefined);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

/** How much may be stored for one MCP server. The least is what lets a shard take some of the largest asks. */
const storedRecords = z
  .int()
  .min(25_600)
  .max(1_000_000_000)
  .describe(
    'Records stored for the MCP server at once: elicitations until a day after their end, Idempotency-Keys and the like.',
  );
const storedMegabytes = z
  .int()
  .min(64)
  .max(1_000_000)
  .describe(
    'MiB of Redis memory that these records, and the feed of events, may take at once. docs/redis.md says how they are counted.',
  );

const limitsSchema = z.strictObject({
  concurrentRequests: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Requests of this MCP server that are worked on at once, per gateway process; those that wait for a provider aside. Default: half of `overload.requestsInFlight`, or all of them where it is the only MCP server.',
    ),
  concurrentWaits: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Reads of this MCP server that may wait at once, per gateway process. Default: half of `overload.waitingReads`, or all of them where it is the only MCP server.',
    ),
  eventStreams: z
    .int()
    .min(1)
    .default(100)
    .describe('Streams of events that this MCP server may have open at once, per gateway process.'),
  requestsPerMinute: z.int().min(1).default(6000).describe('API requests of this MCP server, per gateway process.'),
  elicitationsPerSubject: z
    .int()
    .min(1)
    .default(30)
    .describe('New elicitations per user in the window below, over all gateway processes.'),
  subjectWindowSeconds: z.int().min(1).max(86_400).default(600),
  storedRecords: storedRecords.optional(),
  storedMegabytes: storedMegabytes.optional(),
  maxTtlSeconds: z.int().min(10).max(86_400).default(86_400),
});

const mcpServerSchema = z
  .strictObject({
    id: slug.describe('Part of redirect URIs; never changes.'),
    name: z.string().min(1).max(80).describe('Shown to people.'),
    url: webUrl.describe('The MCP endpoint; its host is shown to people.'),
    logoPath: ownPath.optional(),
    apiKeys: z.array(apiKeySchema).default([]),
    jwks: jwksSchema.optional().describe('Keys of JWTs that this MCP server may sign instead of using an API key.'),
    kinds: z
      .array(z.enum(kinds))
      .min(1)
      .optional()
      .describe('What it may ask for. Default: every kind; payments only with `payment`.'),
    payment: paymentPolicySchema.optional(),
    confirmation: confirmationPolicySchema.prefault({}),
    credentialChecks: z
      .record(slug, credentialCheckSchema)
      .default({})
      .describe('By name of a credential: how to find out whether what was typed works.'),
    providers: z.array(slug).default([]),
    issuers: z.array(z.string().min(1)).min(1).describe('Issuers whose users it may name.'),
    identity: z
      .discriminatedUnion('mode', [
        z.strictObject({ mode: z.literal('login') }),
        z.strictObject({
          mode: z.literal('external'),
          verifyUrl: webUrl.describe('The page of your application that calls verify.'),
        }),
        z.strictObject({ mode: z.literal('loopback') }),
      ])
      .default({ mode: 'login' }),
    audiences: z
      .array(z.string().min(1))
      .default([])
      .describe('Accepted `aud` of the MCP access tokens it hands over. Default: its url.'),
    group: slug
      .optional()
      .describe('MCP servers of one group share connections: the operator vouches that their users expect so.'),
    returnUrls: z.array(webUrl).default([]),
    webhooks: z.array(webhookEndpointSchema).max(20).default([]).describe('Who is told what becomes of elicitations.'),
    encryption: z
      .strictObject({
        key: encryptionKeySchema,
        required: z
          .boolean()
          .default(false)
          .describe('Deliver access tokens sealed to this key only; without it, when they are asked for that way.'),
      })
      .optional()
      .describe('A public key of this MCP server to which access tokens can be sealed (JWE).'),
    limits: limitsSchema.prefault({}),
  })
  .refine(server => server.apiKeys.length > 0 || server.jwks !== undefined, {
    error: 'needs apiKeys or jwks',
    path: ['apiKeys'],
  })
  .meta({
    anyOf: [{ required: ['jwks'] }, { required: ['apiKeys'], properties: { apiKeys: { type: 'array', minItems: 1 } } }],
  });

const key = z
  .string()
  .refine(value => Buffer.from(value, 'base64').byteLength === 32 && /^[A-Za-z0-9+/_-]{43}=?$/.test(value), {
    error: 'must be 32 bytes in base64 (openssl rand -base64 32)',
  })
  .refine(value => new Set(Buffer.from(value, 'base64')).size > 8, { error: 'is not random' })
  .meta({ pattern: '^[A-Za-z0-9+/_-]{43}=?$' })
  .transform(value => new Uint8Array(Buffer.from(value, 'base64')));

const vaultKeySchema = z.strictObject({ kid: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/), key });

const colour = z.string().regex(/^#[0-9a-fA-F]{6}$/, { error: 'must be #rrggbb' });

export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  publicUrl: publicUrlSchema,
  listen: z
    .strictObject({ host: z.string().default('127.0.0.1'), port: z.int().min(0).max(65_535).default(8080) })
    .prefault({}),
  metrics: z
    .strictObject({
      host: z.string().default('127.0.0.1'),
      port: z.int().min(0).max(65_535).describe('Never the public one.'),
    })
    .optional()
    .describe(
      'A second listener with /metrics, /livez and /readyz, for your own network. Absent: nothing is measured.',
    ),
  audit: z
    .strictObject({
      stream: z.boolean().default(false).describe('Keep the audit trail in Redis as well; `postern audit` reads it.'),
      retained: z.int().min(100).max(10_000_000).default(100_000).describe('Lines kept there, about.'),
      pseudonymKey: key
        .optional()
        .describe(
          'Makes the pseudonyms of people in the audit trail. Default: derived from the last of the vault keys, so that they change ' +
            'when that key is removed.',
        ),
    })
    .prefault({}),
  telemetry: z
    .strictObject({
      otlpEndpoint: z
        .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
        .meta({ pattern: String.raw`^https?:\/\/[^\s\/?#]+` })
        .describe(
          'An OpenTelemetry collector; /v1/traces is added. Spans hold ids and codes, no secrets and no people.',
        ),
      sampleRatio: z.number().min(0).max(1).default(1).describe('Share of traces that begin here and are recorded.'),
      serviceName: z.string().min(1).max(80).default('postern'),
      headers: z.record(z.string(), z.string()).default({}).describe('For collectors that ask who sends.'),
    })
    .optional()
    .describe('Traces. Absent: none.'),
  trustProxy: z
    .array(
      z
        .string()
        .refine(isAddressRange, { error: 'must be an address or a CIDR range, and not the whole internet' })
        .meta({ pattern: addressRangePattern }),
    )
    .default([])
    .describe('Addresses or CIDR ranges whose X-Forwarded-For is believed. Never the public URL.'),
  redis: redisConfigSchema.prefault({}),
  vault: z.strictObject({ keys: z.array(vaultKeySchema).min(1).describe('The first seals, all open.') }),
  branding: z
    .strictObject({
      name: z.string().min(1).max(60).default('Postern'),
      logoPath: ownPath.optional(),
      accent: colour.optional(),
      accentDark: colour.optional(),
      supportUrl: z
        .string()
        .regex(/^(https:\/\/|mailto:)[^\s]+$/, { error: 'must be an https or mailto URL' })
        .optional(),
    })
    .prefault({}),
  browserSession: z
    .strictObject({
      idleMinutes: z.int().min(1).max(1440).default(30),
      absoluteHours: z.int().min(1).max(72).default(8),
    })
    .prefault({}),
  identityProviders: z.array(identityProviderConfigSchema).default([]),
  providers: z.array(providerConfigSchema).default([]),
  processors: z.array(processorConfigSchema).default([]),
  payment: z
    .strictObject({
      retentionDays: z
        .int()
        .min(4)
        .max(4000)
        .default(400)
        .describe(
          'How long the gateway remembers which payments it has dealt with. Processors repeat webhooks for days.',
        ),
    })
    .prefault({}),
  receipts: receiptsConfigSchema.prefault({}),
  outbound: z
    .strictObject({
      privateHosts: z
        .array(
          z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$/, { error: 'must be host or host:port' }),
        )
        .default([])
        .describe('Identity providers and providers inside your own network: hosts that may have private addresses.'),
      caFile: z
        .string()
        .min(1)
        .optional()
        .describe('Certificates in PEM of authorities that are trusted beside those of this machine.'),
      proxy: z
        .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
        .regex(/^https?:\/\/[^\s/?#]+\/?$/, { error: 'must have no path, query or fragment' })
        .optional()
        .describe(
          'An HTTP proxy that makes the connections to all hosts but private ones and this machine. It resolves their names.',
        ),
      timeoutSeconds: z
        .number()
        .min(0.5)
        .max(20)
        .default(10)
        .describe('Longest time one request to a provider or identity provider may take.'),
    })
    .prefault({}),
  events: z
    .strictObject({
      retained: z
        .int()
        .min(100)
        .max(1_000_000)
        .default(10_000)
        .describe('How many events of each MCP server are kept for those who come back, about.'),
      retainedDays: z.int().min(1).max(30).default(7).describe('Older ones are not kept, however few they are.'),
    })
    .prefault({}),
  mcpServers: z.array(mcpServerSchema).min(1),
  overload: overloadConfigSchema.prefault({}).describe('How much one gateway process takes on.'),
  stop: stopConfigSchema.prefault({}).describe('How a gateway process stops.'),
  limits: z
    .strictObject({
      pageRequestsPerMinute: z
        .int()
        .min(1)
        .default(300)
        .describe('Page requests per client address, per gateway process.'),
      storedRecords: storedRecords.default(250_000),
      storedMegabytes: storedMegabytes.default(256),
    })
    .prefault({}),
});

export type GatewayConfig = z.infer<typeof configSchema>;
export type GatewayConfigInput = z.input<typeof configSchema>;
export type McpServerConfig = GatewayConfig['mcpServers'][number];
