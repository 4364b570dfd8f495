import { StoreUnavailableError } from '@postern/elicitation';
import { RedisFault, UnsafeRedisError } from '@postern/store-redis';
import { ConfigError } from './config/config-error.ts';

/** The gateway cannot start as things stand on this machine. The message is for the operator and holds no secret. */
export class StartError extends Error {
  override name = 'StartError';
}

const listenFaults: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Another process listens there already. Stop it, or configure another port.',
  EADDRNOTAVAIL: 'No network interface of this machine has that address.',
  EACCES: 'This user may not listen on that port. Ports below 1024 need privileges.',
  ENOTFOUND: 'That host name has no address.',
};

/** What to say of a listener that could not be opened; the error itself where it is a surprise. */
export function listenErrorOf(error: unknown, member: string, at: { host: string; port: number }): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = Object.hasOwn(listenFaults, code) ? listenFaults[code] : undefined;
  return reason === undefined
    ? error
    : new StartError(`${member}: cannot listen on ${hostPort(at.host, at.port)} (${code}). ${reason}`);
}

export const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** By the code of what went wrong last; anything else is no answer at all. */
const redisFaults: Readonly<Record<string, string>> = {
  NOAUTH: 'Redis wants a user name and password, and none is configured (in the URL, or redis.sentinel).',
  WRONGPASS: 'Redis refuses the configured user name and password.',
  NOPERM:
    'The Redis user may not do what the gateway needs. infra/redis/users.acl has the commands, keys and channels in full.',
  no_sentinel:
    'No Sentinel answers at the configured addresses, or none knows a master by the name in redis.sentinel.masterName.',
  tls:
    'The TLS connection to Redis was refused: check that its certificate is signed by redis.tls.caFile, has not ended and is for ' +
    'the host in the address (or redis.tls.servername), and that certFile is one that Redis accepts.',
  LOADING: 'Redis is still loading its data. Start again when it is done.',
  CLUSTERDOWN: 'The Redis Cluster is down: some slots have no master.',
  READONLY: 'This Redis is a replica and takes no writes. Give the address of the master, or of Sentinels.',
  MISCONF: 'Redis cannot write to its disk and refuses writes. Its own log says why.',
  NOREPLICAS: 'Redis refuses writes because it has too few replicas (min-replicas-to-write).',
};

/** What an operator can mend, in plain words. Undefined for a surprise, whose text may hold anything. */
export function explanationOf(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof StartError || error instanceof UnsafeRedisError)
    return error.message;
  if (error instanceof StoreUnavailableError) {
    const code = error.cause instanceof RedisFault ? error.cause.code : '';
    return redisFaults[code] ?? 'Redis does not answer at the configured address.';
  }
  return undefined;
}
