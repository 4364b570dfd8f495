import { StoreUnavailableError } from '@postern/elicitation';
import { RedisFault, UnsafeRedisError } from '@postern/store-redis/profile';
import { ConfigError } from './config/config-error.ts';

/** Thrown when the gateway cannot start on this machine. The message is for the operator and contains no secret. */
export class StartError extends Error {
  override name = 'StartError';
  /** Of the operating system or of the store. */
  readonly code: string | undefined;
  constructor(message: string, { code, ...options }: ErrorOptions & { readonly code?: string } = {}) {
    super(message, options);
    this.code = code;
  }
}

const listenFaults: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Another process already listens there. Stop it, or configure another port.',
  EADDRNOTAVAIL: 'No network interface of this machine has this address.',
  EACCES: 'This user may not listen on this port. Ports below 1024 require privileges.',
  ENOTFOUND: 'This host name does not resolve.',
};

/** Explains why a listener could not be opened. Returns unexpected errors unchanged. */
export function listenErrorOf(error: unknown, member: string, at: { host: string; port: number }): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = Object.hasOwn(listenFaults, code) ? listenFaults[code] : undefined;
  return reason === undefined
    ? error
    : new StartError(`${member}: cannot listen on ${hostPort(at.host, at.port)} (${code}). ${reason}`, { code });
}

export const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Where programs of this machine reach a listener. The addresses of all interfaces are none. */
export const originHere = (host: string, port: number): string =>
  `http://${hostPort(host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, port)}`;

/** Explanations by the code of the last Redis error. Without a code, Redis did not respond. */
const redisFaults: Readonly<Record<string, string>> = {
  NOAUTH: 'Redis requires a user name and password. Configure them in the URL, or in redis.sentinel.',
  WRONGPASS: 'Redis rejected the configured user name and password.',
  NOPERM:
    'The Redis user lacks permissions. infra/redis/users.acl lists the commands, keys and channels that the gateway needs.',
  no_sentinel:
    'No Sentinel responded at the configured addresses, or none knows the master in redis.sentinel.masterName.',
  tls:
    'The TLS handshake with Redis failed. Check that its certificate is signed by redis.tls.caFile, has not expired and names ' +
    'the host in the address (or redis.tls.servername), and that Redis accepts redis.tls.certFile.',
  LOADING: 'Redis is still loading its data. Start the gateway again when it has finished.',
  CLUSTERDOWN: 'The Redis Cluster is down: some slots have no master.',
  READONLY: 'This Redis is a read-only replica. Configure the address of the master, or of the Sentinels.',
  MISCONF: 'Redis cannot write to its disk, so it refuses writes. The log of Redis says why.',
  OOM: 'Redis is full, so it refuses writes. Raise its maxmemory: docs/runbooks/full-redis.md.',
  NOREPLICAS: 'Redis refuses writes because it has too few replicas (min-replicas-to-write).',
};

/** Explains an error that the operator can fix. Undefined for an unexpected error, whose message may contain secrets. */
export function explanationOf(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof StartError || error instanceof UnsafeRedisError)
    return error.message;
  if (error instanceof StoreUnavailableError) {
    // What SQLite says of the file, such as "database or disk is full".
    if (error.cause instanceof Error && 'errstr' in error.cause)
      return `The file in store.file does not accept this: ${error.cause.errstr}.`;
    const { code, command } = error.cause instanceof RedisFault ? error.cause : { code: '' };
    const explanation = redisFaults[code] ?? 'Redis does not respond at the configured address.';
    return command === undefined ? explanation : `${explanation} Redis refused ${command}.`;
  }
  return undefined;
}
