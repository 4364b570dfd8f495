import { RECORD_LAYOUT, recordLayouts } from '@postern/elicitation';
import { DEPLOYMENT_ID, durabilityProfiles } from '@postern/store-redis';
import { z } from 'zod';
import type { ConfigFault } from './config-error.ts';

const redisUrl = z
  .string()
  .refine(value => ['redis:', 'rediss:'].includes(URL.parse(value)?.protocol ?? ''), {
    error: 'must be a redis:// or rediss:// URL',
  })
  .meta({ pattern: '^rediss?:' });

const sentinelSchema = z.strictObject({
  nodes: z
    .array(redisUrl)
    .min(1)
    .describe(
      'URLs of the Sentinels, with their own user name and password; rediss:// means TLS to the master as well.',
    ),
  masterName: z.string().min(1).max(100).describe('As the Sentinels know it.'),
  username: z.string().min(1).optional().describe('At the master and its replicas.'),
  password: z.string().min(1).optional(),
});

const tlsSchema = z
  .strictObject({
    caFile: z
      .string()
      .min(1)
      .optional()
      .describe('Authority that Redis is signed by, instead of those of this machine.'),
    certFile: z.string().min(1).optional().describe('Own certificate, where Redis asks for one.'),
    keyFile: z.string().min(1).optional(),
    servername: z
      .string()
      .min(1)
      .optional()
      .describe('Name that every certificate must be for, where Redis is reached by addresses that they do not name.'),
  })
  .meta({ dependentRequired: { certFile: ['keyFile'], keyFile: ['certFile'] } });

const durabilitySchema = z.strictObject({
  profile: z
    .enum(durabilityProfiles)
    .default('single')
    .describe(
      'single: in the append-only file. single-strict: on disk. ha: on replicas too. docs/redis.md says what each loses.',
    ),
  replicas: z.int().min(1).max(10).default(1).describe('Profile ha: replicas that must have what is acknowledged.'),
  timeoutMs: z
    .int()
    .min(50)
    .max(5000)
    .default(500)
    .describe('Profile ha: how long they may take. What takes longer is answered with 503, safe to repeat.'),
});

export const redisConfigSchema = z
  .strictObject({
    url: redisUrl.optional().describe('redis:// or rediss://; absent: a private Redis beside the gateway.'),
    cluster: z.array(redisUrl).min(1).optional().describe('redis:// URLs of some nodes of a Redis Cluster.'),
    sentinel: sentinelSchema.optional().describe('Sentinels that know where the master is.'),
    tls: tlsSchema.optional().describe('For rediss:// addresses.'),
    durability: durabilitySchema.prefault({}),
    deployment: z
      .string()
      .regex(DEPLOYMENT_ID, { error: 'must be the id that the gateway logs at its first start (dp_…)' })
      .optional()
      .describe(
        'Id of this deployment, from the log line redis.first_start. With it, an empty or another Redis is never taken for a new one.',
      ),
    prefix: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{0,31}$/, { error: 'must be 1 to 32 of a-z, 0-9, ".", "_" and "-"' })
      .default('postern'),
    assumeDurable: z
      .boolean()
      .default(false)
      .describe('For managed Redis that hides its settings: you vouch for append-only file and noeviction.'),
    readyNeedsWrites: z
      .boolean()
      .default(false)
      .describe(
        'Answer /readyz with 503 while Redis refuses writes. By default it only says so: all replicas share Redis, and reads still work.',
      ),
    recordLayout: z
      .literal(recordLayouts)
      .default(RECORD_LAYOUT)
      .describe(
        'How elicitations are written. Default: as the release before reads them too. 2 takes half the memory; set it when every ' +
          'replica runs this release.',
      ),
    directory: z.string().default('.postern/redis').describe('Where the private Redis keeps its append-only file.'),
  })
  .meta({
    allOf: [
      ['url', 'cluster'],
      ['url', 'sentinel'],
      ['cluster', 'sentinel'],
    ].map(required => ({ not: { required } })),
  });

export type RedisConfig = z.infer<typeof redisConfigSchema>;

/** What no single field can know. */
export function redisFaults(redis: RedisConfig): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const fault = (path: string, message: string) => faults.push({ path, message });
  const { url, cluster, sentinel, tls, durability } = redis;
  if ([url, cluster, sentinel].filter(address => address !== undefined).length > 1)
    fault('redis', 'url, cluster and sentinel exclude each other');
  for (const [path, urls] of Object.entries({ 'redis.cluster': cluster, 'redis.sentinel.nodes': sentinel?.nodes })) {
    // What the first says applies to all, also to nodes that are only heard of.
    if (new Set(urls?.map(signInOf)).size > 1) fault(path, 'must agree in scheme, user name and password');
  }
  const urls = [url ?? [], cluster ?? [], sentinel?.nodes ?? []].flat();
  if (tls !== undefined && !urls.some(address => address.startsWith('rediss:')))
    fault('redis.tls', 'is for rediss:// addresses, and there is none');
  if ((tls?.certFile === undefined) !== (tls?.keyFile === undefined))
    fault('redis.tls', 'certFile and keyFile belong together');
  if (durability.profile === 'ha' && urls.length === 0)
    fault('redis.durability.profile', 'ha needs a Redis with replicas; the private one has none');
  return faults;
}

function signInOf(url: string): string {
  const { protocol, username, password } = new URL(url);
  return [protocol, username, password].join(' ');
}
