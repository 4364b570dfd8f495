import { DEPLOYMENT_ID, durabilityProfiles } from '@postern/store-redis/profile';
import { z } from 'zod';

const redisUrl = z
  .string()
  .refine(value => ['redis:', 'rediss:'].includes(URL.parse(value)?.protocol ?? ''), {
    error: 'must be a redis:// or rediss:// URL',
  })
  .refine(hasReadableLogin, { error: 'must have its user name and password in percent-encoding: % is %25' })
  .meta({ pattern: '^rediss?:(?:[^%]|%[0-9A-Fa-f]{2})*$' });

function hasReadableLogin(value: string): boolean {
  try {
    decodeURIComponent(`${URL.parse(value)?.username}:${URL.parse(value)?.password}`);
    return true;
  } catch {
    return false;
  }
}

const sentinelSchema = z.strictObject({
  nodes: z
    .array(redisUrl)
    .min(1)
    .describe(
      'URLs of the Sentinels, with the user name and password of the Sentinels. With rediss://, the gateway also uses TLS to the master.',
    ),
  masterName: z.string().min(1).max(100).describe('Name of the master in the configuration of the Sentinels.'),
  username: z.string().min(1).optional().describe('User name at the master and its replicas.'),
  password: z.string().min(1).optional(),
});

const tlsSchema = z
  .strictObject({
    caFile: z
      .string()
      .min(1)
      .optional()
      .describe('PEM file with the certificate authority of Redis. Default: the authorities of this machine.'),
    certFile: z.string().min(1).optional().describe('Client certificate, if Redis requires one.'),
    keyFile: z.string().min(1).optional(),
    servername: z
      .string()
      .min(1)
      .optional()
      .describe('Host name to expect in every certificate, if the addresses of Redis are not in its certificates.'),
  })
  .meta({ dependentRequired: { certFile: ['keyFile'], keyFile: ['certFile'] } });

const durabilitySchema = z.strictObject({
  profile: z
    .enum(durabilityProfiles)
    .default('single')
    .describe(
      'Where a write must be before the gateway acknowledges it. single: in the append-only file. single-strict: on disk. ha: also on replicas. docs/redis.md says what each profile can lose.',
    ),
  replicas: z.int().min(1).max(10).default(1).describe('Profile ha: number of replicas that must have a write.'),
  timeoutMs: z
    .int()
    .min(50)
    .max(5000)
    .default(500)
    .describe(
      'Profile ha: timeout of the replicas. After it the gateway responds with 503, and the caller may safely retry.',
    ),
});

export const redisConfigSchema = z
  .strictObject({
    url: redisUrl
      .optional()
      .describe(
        'redis:// or rediss:// URL. If absent, a gateway for the person of this machine keeps its state in `store.file`.',
      ),
    cluster: z
      .array(redisUrl)
      .min(1)
      .optional()
      .describe('redis:// or rediss:// URLs of some nodes of a Redis Cluster.'),
    sentinel: sentinelSchema.optional().describe('Finds the master through Sentinels.'),
    tls: tlsSchema.optional().describe('TLS settings for rediss:// addresses.'),
    durability: durabilitySchema.prefault({}),
    deployment: z
      .string()
      .regex(DEPLOYMENT_ID, { error: 'must be the id that the gateway logs at its first start (dp_…)' })
      .optional()
      .describe(
        'Id of this deployment, from the log line redis.first_start. With it, the gateway never mistakes an emptied Redis, or another one, for a new deployment.',
      ),
    prefix: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{0,31}$/, { error: 'must be 1 to 32 of a-z, 0-9, ".", "_" and "-"' })
      .default('postern'),
    assumeDurable: z
      .boolean()
      .default(false)
      .describe(
        'For managed Redis that hides its settings: skips the check. You must ensure an append-only file and noeviction.',
      ),
    readyNeedsWrites: z
      .boolean()
      .default(false)
      .describe(
        'Makes /readyz respond with 503 while Redis refuses writes. By default it only reports this in the body, because reads still work and all replicas share Redis.',
      ),
  })
  .meta({
    allOf: [
      ['url', 'cluster'],
      ['url', 'sentinel'],
      ['cluster', 'sentinel'],
    ].map(required => ({ not: { required } })),
  });

export const storeConfigSchema = z.strictObject({
  file: z
    .string()
    .min(1)
    .default('.postern/postern.sqlite')
    .describe(
      'File with the state of a gateway without Redis, for the person of this machine. A relative path begins at the folder of the configuration file. Redis replaces it.',
    ),
});

export type RedisConfig = z.infer<typeof redisConfigSchema>;

/** Whether the configuration names a Redis. A gateway without one keeps its state in a file. */
export function hasRedis({ redis: { url, cluster, sentinel } }: { readonly redis: RedisConfig }): boolean {
  return url !== undefined || cluster !== undefined || sentinel !== undefined;
}
