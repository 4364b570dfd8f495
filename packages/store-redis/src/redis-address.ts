import type { ConnectionOptions } from 'node:tls';
import type { RedisOptions } from 'ioredis';

/**
 * A single Redis by URL, nodes of a Redis Cluster, or Sentinels that know the master. URLs contain user names and passwords;
 * those of the first URL apply to all. `rediss:` means TLS.
 */
export type RedisAddress = { readonly url: string } | { readonly nodes: readonly string[] } | SentinelAddress;

/** Sentinels have their own users, so the user name and password of the master are separate. */
export interface SentinelAddress {
  /** `rediss:` here also means TLS to the master. */
  readonly sentinels: readonly string[];
  readonly masterName: string;
  readonly username?: string;
  readonly password?: string;
}

/** Applies to `rediss:` connections. The certificate and its host name or address are always verified. */
export interface RedisTlsOptions {
  /** CA certificate in PEM, instead of the CAs that this machine trusts. */
  readonly ca?: string;
  /** Client certificate and key in PEM, if Redis requires one. */
  readonly cert?: string;
  readonly key?: string;
  /** Expected name in the certificate, if Redis is reached by an address that the certificate does not name. */
  readonly servername?: string;
}

type Login = Pick<RedisOptions, 'username' | 'password'>;

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26_379;

export function endpointsOf(address: RedisAddress): readonly Endpoint[] {
  const port = 'sentinels' in address ? DEFAULT_SENTINEL_PORT : DEFAULT_PORT;
  return urlsOf(address).map(url => ({
    // Brackets belong to the URL, not to the IPv6 address.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? port : Number(url.port),
  }));
}

/** `host:port` of every URL, without user names and passwords. */
export function addressesOf(address: RedisAddress): readonly string[] {
  return endpointsOf(address).map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
}

/** TLS options, user name and password of the data nodes, in ioredis format. */
export function credentialsOf(address: RedisAddress, tls: RedisTlsOptions = {}): Login & Pick<RedisOptions, 'tls'> {
  const login = 'sentinels' in address ? given(address) : loginIn(firstOf(address));
  const secured = tlsOf(address, tls);
  return { ...login, tls: secured };
}

/** The ioredis options for finding the master. */
export function sentinelOptionsOf(address: SentinelAddress, tls: RedisTlsOptions = {}) {
  const { username, password } = loginIn(firstOf(address));
  const secured = tlsOf(address, tls);
  return {
    sentinels: endpointsOf(address).map(endpoint => ({ ...endpoint })),
    name: address.masterName,
    ...(username ? { sentinelUsername: username } : {}),
    ...(password ? { sentinelPassword: password } : {}),
    ...(secured === undefined ? {} : { sentinelTLS: secured, enableTLSForSentinelMode: true }),
  } satisfies RedisOptions;
}

/** Login of a connection to a Sentinel, from its URLs as for any other Redis. */
export function sentinelLoginOf({ sentinels }: SentinelAddress, tls?: RedisTlsOptions) {
  return credentialsOf({ nodes: sentinels }, tls);
}

function tlsOf(address: RedisAddress, tls: RedisTlsOptions): ConnectionOptions | undefined {
  if (firstOf(address).protocol !== 'rediss:') return undefined;
  return { ...tls, rejectUnauthorized: true };
}

function firstOf(address: RedisAddress): URL {
  const [first] = urlsOf(address);
  if (first === undefined) throw new TypeError('A Redis is reached by at least one URL.');
  return first;
}

function urlsOf(address: RedisAddress): readonly URL[] {
  if ('url' in address) return [new URL(address.url)];
  return ('nodes' in address ? address.nodes : address.sentinels).map(url => new URL(url));
}

function loginIn({ username, password }: URL): Login {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

function given({ username, password }: SentinelAddress): Login {
  return { username, password };
}
