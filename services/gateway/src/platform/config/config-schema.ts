import { identityProviderConfigSchema, imageNameSchema, providerConfigSchema } from '@postern/authorization';
import { locales } from '@postern/pages';
import { processorConfigSchema, receiptJwkSchema } from '@postern/payment';
import { z } from 'zod';
import { addressRangePattern, isAddressRange, localName, lookMembers, publicUrlSchema } from './config-values.ts';
import { consoleConfigSchema } from './console-config.ts';
import type { ServedImage } from './image-type.ts';
import {
  eitherDefault,
  mcpServerSchema,
  operatorWebhookSchema,
  storedMegabytes,
  storedRecords,
} from './mcp-server-config.ts';
import { overloadConfigSchema, stopConfigSchema } from './overload-config.ts';
import { redisConfigSchema, storeConfigSchema } from './redis-config.ts';
import { symmetricKey, vaultConfigSchema } from './vault-config.ts';

const receiptJwk = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      // The parser's own message could quote the key.
      context.addIssue({ code: 'custom', message: 'must be a JWK as JSON' });
      return z.NEVER;
    }
  })
  .pipe(receiptJwkSchema);

const receiptsConfigSchema = z.strictObject({
  keys: z
    .array(z.strictObject({ kid: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/), key: receiptJwk }))
    .min(1)
    .refine(keys => keys[0]?.key.d !== undefined, { error: 'the first key signs, so it must be a private key' })
    .optional()
    .describe(
      'Ed25519 keys, each a JWK in JSON. The first one signs. The gateway publishes all of them, so keep the public part of retired ' +
        'keys. Default: derived from the vault keys.',
    ),
});

export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  publicUrl: publicUrlSchema,
  listen: z
    .strictObject({ host: z.string().default('127.0.0.1'), port: z.int().min(0).max(65_535).default(8080) })
    .prefault({}),
  metrics: z
    .strictObject({
      host: z.string().default('127.0.0.1'),
      port: z.int().min(0).max(65_535).describe('Must differ from the public port.'),
      allowedHosts: z
        .array(z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/))
        .default([])
        .describe(
          'Host names with a dot under which you scrape it. IP addresses and names without a dot need no entry.',
        ),
    })
    .optional()
    .describe(
      'A second listener for your own network, with /metrics, /livez and /readyz. If absent, the gateway collects no metrics.',
    ),
  audit: z
    .strictObject({
      stream: z
        .boolean()
        .default(false)
        .describe('Also keeps the audit trail in Redis, where `postern audit` reads it.'),
      retained: z
        .int()
        .min(100)
        .max(10_000_000)
        .default(100_000)
        .describe('Approximate number of audit lines to keep in Redis.'),
      pseudonymKey: symmetricKey
        .optional()
        .describe(
          'Key for the pseudonyms of users in the audit trail. Default: derived from vault.transactionKey, or from the last vault key, so ' +
            'pseudonyms change when you remove that key.',
        ),
    })
    .prefault({}),
  retention: z
    .strictObject({
      endedHours: z
        .int()
        .min(1)
        .max(24 * 90)
        .default(24)
        .describe(
          'How long an ended elicitation stays: its status, its result and its entry in lists. About 1.4 KB of Redis memory each.',
        ),
      countDays: z
        .int()
        .min(1)
        .max(800)
        .default(90)
        .describe(
          'How long the counts of each MCP server stay. At most about 60 KB of Redis memory for each of them and day.',
        ),
      auditDays: z
        .int()
        .min(1)
        .max(4000)
        .default(90)
        .describe(
          'Maximum age of audit lines in Redis, in addition to audit.retained. About 0.5 KB of Redis memory each.',
        ),
      operatorAuditDays: z
        .int()
        .min(1)
        .max(4000)
        .default(400)
        .describe(
          'Maximum age of what operators did, in a stream of the audit trail that no lines of users or MCP servers can push out of. It ' +
            'keeps about the newest 100,000.',
        ),
    })
    .prefault({})
    .describe('How long Redis keeps what operators look at.'),
  operatorWebhooks: z
    .array(operatorWebhookSchema)
    .max(5)
    .default([])
    .describe(
      "Your own webhook endpoints for added, removed and reset passkeys. A webhook names the user by the audit trail's pseudonym.",
    ),
  telemetry: z
    .strictObject({
      otlpEndpoint: z
        .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
        .meta({ pattern: String.raw`^https?:\/\/[^\s\/?#]+` })
        .describe(
          'Base URL of an OpenTelemetry collector. The gateway appends /v1/traces. Spans contain ids and codes, but no secrets or personal data.',
        ),
      sampleRatio: z
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe('Fraction of the traces that begin at the gateway to record.'),
      serviceName: z.string().min(1).max(80).default('postern'),
      headers: z
        .record(z.string(), z.string())
        .default({})
        .describe('Request headers for the collector, such as an authorization header.'),
    })
    .optional()
    .describe('Exports traces. If absent, the gateway records none.'),
  console: consoleConfigSchema
    .optional()
    .describe('The web console for operators, on a host name of its own. If absent, the gateway serves none.'),
  adminApi: z
    .strictObject({
      host: z.string().default('127.0.0.1'),
      port: z.int().min(0).max(65_535).describe('Must differ from all other ports.'),
    })
    .optional()
    .describe(
      'A listener for your own network with the API for operators, /admin/v1. If absent, the gateway serves none.',
    ),
  trustProxy: z
    .array(
      z
        .string()
        .refine(isAddressRange, { error: 'must be an IP address or a CIDR range smaller than the whole internet' })
        .meta({ pattern: addressRangePattern }),
    )
    .default([])
    .describe('Addresses or CIDR ranges of your reverse proxies. The gateway trusts X-Forwarded-For from them.'),
  redis: redisConfigSchema.prefault({}),
  store: storeConfigSchema.prefault({}),
  vault: vaultConfigSchema,
  branding: z
    .strictObject({
      name: localName(60)
        .default('Postern')
        .describe('Your name, as users know it: a text, or a text per language of the pages.'),
      imagesFolder: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Folder of all images that this file names. PNG, JPEG or WebP, at most 256 KiB and 2048 by 2048 pixels.',
        ),
      ...lookMembers,
      icon: imageNameSchema.optional().describe('A square image for tabs and bookmarks. Default: drawn in the accent.'),
      corners: z.enum(['square', 'soft', 'round']).default('soft').describe('Corners of cards, buttons and fields.'),
      fonts: z
        .array(
          z.string().regex(/^[A-Za-z][A-Za-z0-9]*(?: [A-Za-z0-9]+){0,5}$/, {
            error: 'must be the name of a font family: letters, digits and single spaces',
          }),
        )
        .max(8)
        .default([])
        .describe('Font families of the devices of your users, the preferred one first. Pages load no fonts.'),
    })
    .prefault({}),
  pages: z
    .strictObject({
      defaultLanguage: z
        .enum(locales)
        .default('en')
        .describe('Language of the pages for users whose browser asks for none that Postern has, as a BCP 47 tag.'),
    })
    .prefault({}),
  browserSession: z
    .strictObject({
      idleMinutes: z
        .int()
        .min(1)
        .max(1440)
        .default(30)
        .describe('Minutes until a sign-in ends in which the user posts nothing.'),
      absoluteHours: z.int().min(1).max(72).default(8).describe('Hours until a sign-in ends.'),
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
          'How long the gateway keeps payment records, to recognize repeated webhooks and refunds. Processors repeat webhooks for days. ' +
            'At least a day longer than retention.endedHours.',
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
        .describe('Hosts of providers and identity providers in your own network, which may have private addresses.'),
      caFile: z
        .string()
        .min(1)
        .optional()
        .describe('PEM file with certificate authorities to trust in addition to those of this machine.'),
      proxy: z
        .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
        .regex(/^https?:\/\/[^\s/?#]+\/?$/, { error: 'must have no path, query or fragment' })
        .optional()
        .describe(
          'HTTP proxy for connections to all hosts except private ones and this machine. The proxy resolves the host names.',
        ),
      timeoutSeconds: z
        .number()
        .min(0.5)
        .max(20)
        .default(10)
        .describe('Timeout of one request to a provider or identity provider.'),
    })
    .prefault({}),
  events: z
    .strictObject({
      retained: z
        .int()
        .min(100)
        .max(1_000_000)
        .default(10_000)
        .describe('Approximate number of events to keep for each MCP server, so that event streams can resume.'),
      retainedDays: z.int().min(1).max(30).default(7).describe('Maximum age of kept events, in days.'),
    })
    .prefault({}),
  mcpServers: z.array(mcpServerSchema).min(1),
  overload: overloadConfigSchema.prefault({}).describe('Overload limits of one gateway process.'),
  stop: stopConfigSchema.prefault({}).describe('How a gateway process stops.'),
  reload: z
    .strictObject({
      watch: z
        .boolean()
        .default(true)
        .describe(
          'Whether a change of this file, or of a file that it refers to, reloads the configuration as SIGHUP does.',
        ),
    })
    .prefault({})
    .describe('How a running gateway loads its configuration anew.'),
  limits: z
    .strictObject({
      pageRequestsPerMinute: z
        .int()
        .min(1)
        .optional()
        .describe(
          `Page requests per minute of a client address, and of each person behind it, per gateway process. ${eitherDefault('pageRequestsPerMinute')}`,
        ),
      storedRecords: storedRecords.default(250_000),
      storedMegabytes: storedMegabytes.default(256),
    })
    .prefault({}),
});

export type ParsedConfig = z.infer<typeof configSchema>;

/** A valid configuration, with the images that it names. */
export interface GatewayConfig extends ParsedConfig {
  /** By file name. */
  readonly images: ReadonlyMap<string, ServedImage>;
}

export type GatewayConfigInput = z.input<typeof configSchema>;
