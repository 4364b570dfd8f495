import type { ConfigFault } from './config-error.ts';
import type { ParsedConfig } from './config-schema.ts';
import { isLoopbackUrl } from './config-values.ts';
import { hasRedis } from './redis-config.ts';

/** What a gateway offers only with Redis, and whether a configuration asks for it. */
const withRedisOnly = {
  public_url: { means: 'a publicUrl for other machines', asked: config => !isLoopbackUrl(config.publicUrl) },
  identity_login: { means: 'identity.mode login', asked: config => hasIdentity(config, 'login') },
  identity_external: { means: 'identity.mode external', asked: config => hasIdentity(config, 'external') },
  webhooks: {
    means: 'webhooks',
    asked: ({ mcpServers, operatorWebhooks }) =>
      operatorWebhooks.length > 0 || mcpServers.some(({ webhooks }) => webhooks.length > 0),
  },
  admin_api: { means: 'adminApi', asked: ({ adminApi }) => adminApi !== undefined },
  replicas: {
    means: 'redis.durability.profile ha',
    asked: ({ redis }) => redis.durability.profile === 'ha',
  },
} as const satisfies Readonly<
  Record<string, { readonly means: string; readonly asked: (config: ParsedConfig) => boolean }>
>;

type Capability = keyof typeof withRedisOnly;

const hasIdentity = ({ mcpServers }: ParsedConfig, mode: 'login' | 'external'): boolean =>
  mcpServers.some(({ identity }) => identity.mode === mode);

/** What the gateway of a configuration does not offer. `GET /v1/me`, `postern check` and the log of the start name it. */
export function notOffered(config: Pick<ParsedConfig, 'redis'>): readonly Capability[] {
  return hasRedis(config) ? [] : (Object.keys(withRedisOnly) as Capability[]);
}

/** Where to get a Redis, by operating system. */
const HOW =
  'Set redis.url or REDIS_URL. To install Redis: apt-get install redis-server on Debian and Ubuntu, brew install redis on macOS, and ' +
  'WSL or a container on Windows.';

/** Refuses what needs Redis where there is none. */
export function storeFaults(config: ParsedConfig): ConfigFault[] {
  if (hasRedis(config)) return [];
  const asked = Object.values(withRedisOnly).flatMap(({ means, asked }) => (asked(config) ? [means] : []));
  return asked.length === 0 ? [] : [{ path: 'redis', message: `is needed for ${asked.join(', ')}. ${HOW}` }];
}
