import type { ConnectionOptions } from 'node:tls';
import type { RedisOptions } from 'ioredis';

/**
 * One Redis by URL; some nodes of a Redis Cluster; or Sentinels that know where the master is. Names and passwords stand in the
 * URLs, and those of the first URL apply to all. `rediss:` means TLS.
 */
export type RedisAddress = { readonly url: string } | { readonly nodes: readonly string[] } | SentinelAddress;

/** Sentinels have users of their own, so name and password for what they watch stand apart. */
export interface SentinelAddress {
  /** `rediss:` here means TLS to the master as well. */
  readonly sentinels: readonly string[];
  readonly masterName: string;
  readonly username?: string;
  readonly password?: string;
}

/** For connections by `rediss:`. Certificates are checked in any case, and so is the name or address they are for. */
export interface RedisTlsOptions {
  /** PEM of the authority, instead of those this machine trusts. */
  readonly ca?: string;
  /** PEM of the own certificate and its key, where Redis asks for one. */
  readonly cert?: string;
  readonly key?: string;
  /** The name certificates must be for, where Redis is reached by addresses that they do not name. */
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

/** `host:port` of every URL, without names and passwords. */
export function addressesOf(address: RedisAddress): readonly string[] {
  return endpointsOf(address).map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
}

/** TLS, name and password, as ioredis wants them for what holds the data. */
export function credentialsOf(address: RedisAddress, tls: RedisTlsOptions = {}): Login & Pick<RedisOptions, 'tls'> {
  const login = 'sentinels' in address ? given(address) : loginIn(firstOf(address));
  const secured = tlsOf(address, tls);
  return { ...login, ...(secured === undefined ? {} : { tls: secured }) };
}

/** What ioredis needs to find the master. */
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

/** For a connection to one of the Sentinels: the same as to any other Redis by those URLs. */
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
  return { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) };
}
