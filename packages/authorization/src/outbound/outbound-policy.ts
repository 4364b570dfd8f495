import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Why a guarded outbound request was refused or failed. */
export type OutboundErrorCode =
  | 'outbound_blocked'
  | 'outbound_redirect'
  | 'outbound_timeout'
  | 'outbound_too_large'
  | 'outbound_unreachable';

const messages: Record<OutboundErrorCode, string> = {
  outbound_blocked: 'The outbound policy does not allow this request',
  outbound_redirect: 'The response is a redirect, which the gateway does not follow',
  outbound_timeout: 'The request took longer than the outbound policy allows',
  outbound_too_large: 'The response is larger than the outbound policy allows',
  outbound_unreachable: 'The host is unreachable or closed the connection',
};

/**
 * A guarded outbound request failed. Contains only the host of the request: no path, query, header, body or `cause`, because
 * URLs and bodies of OAuth requests contain codes and secrets. Only the code of the original error is kept.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: OutboundErrorCode;
  readonly host: string;
  /** Code of the original error: of the system (`ENOTFOUND`), of TLS (`CERT_HAS_EXPIRED`), or of the HTTP library. */
  readonly systemCode?: string;

  constructor(code: OutboundErrorCode, host: string, systemCode?: string) {
    super(messages[code]);
    this.code = code;
    this.host = host;
    if (systemCode !== undefined) this.systemCode = systemCode;
  }
}

const timeoutErrors = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** Replaces undici's errors, which may quote the request. All of them must pass through here. */
export function asOutboundError(error: unknown, host: string, signal?: AbortSignal): OutboundError {
  let systemCode: string | undefined;
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    if (link instanceof OutboundError) return link;
    systemCode ??= systemCodeOf(link);
  }
  const isTimeout = signal?.aborted === true || (systemCode !== undefined && timeoutErrors.has(systemCode));
  return new OutboundError(isTimeout ? 'outbound_timeout' : 'outbound_unreachable', host, systemCode);
}

/** Returns the error code if it looks like the constant codes of Node.js, OpenSSL and undici. */
function systemCodeOf(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : undefined;
}

/** Resolves all IP addresses of a host name. Rejects if there are none. */
export type ResolveAddresses = (hostname: string) => Promise<readonly string[]>;

export interface OutboundPolicy {
  /** Development: hosts that are loopback by name may be reached, over http too and on any port. */
  readonly allowLoopback: boolean;
  /** Maximum size of a response, in bytes after decompression. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Timeout from the call to the last byte, including name resolution, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number;
  /** Hosts that the operator configured with another port than 443, as `host:port`. All other hosts allow only 443. */
  readonly configuredHosts?: readonly string[];
  /**
   * Hosts inside the operator's own network, as `host` or `host:port`, whose names may resolve to private addresses. Named
   * exactly, https only, never loopback or link-local. Shared address space (RFC 6598) counts as private.
   */
  readonly privateHosts?: readonly string[];
  /** Certificates of additional authorities, in PEM, trusted in addition to those of this machine. */
  readonly ca?: string;
  /**
   * http(s) URL of a proxy for all connections (CONNECT), optionally with user name and password. The proxy resolves names, so
   * only literal addresses are checked. Loopback and private hosts are reached without the proxy.
   */
  readonly proxy?: string;
  /** Replaces the system's name resolution. */
  readonly resolve?: ResolveAddresses;
}

/** Whether the operator configured this host as private. */
function isPrivateHost(hostname: string, { privateHosts = [] }: OutboundPolicy): boolean {
  return privateHosts.some(host => host.replace(/:\d+$/, '') === hostname);
}

/** Whether a host is on this machine or in the operator's network, and so reached without a proxy. */
export const isInsideHost = (hostname: string, policy: OutboundPolicy): boolean =>
  isLoopbackHost(hostname) || isPrivateHost(hostname, policy);

/** Checks a URL before its name is resolved. */
export function allowedUrl(target: string | URL, policy: OutboundPolicy): URL {
  const url = URL.parse(String(target));
  if (url === null) throw new OutboundError('outbound_blocked', '');
  const blocked = () => new OutboundError('outbound_blocked', url.host);
  if (url.username !== '' || url.password !== '') throw blocked();
  // `localhost.` is a different name for this check but the same name for the resolver.
  if (url.hostname.endsWith('.')) throw blocked();
  if (isLoopbackHost(url.hostname)) {
    if (!policy.allowLoopback || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw blocked();
    return url;
  }
  if (url.protocol !== 'https:') throw blocked();
  const isConfigured = [...(policy.privateHosts ?? []), ...(policy.configuredHosts ?? [])].includes(url.host);
  if (url.port !== '' && !isConfigured) throw blocked();
  return url;
}

/** Returns the check that each address of the host must pass. */
export function allowedAddresses(hostname: string, policy: OutboundPolicy): (address: string) => boolean {
  if (isLoopbackHost(hostname)) return policy.allowLoopback ? isLoopbackAddress : () => false;
  if (!isPrivateHost(hostname, policy)) return isPublicAddress;
  return address => isPublicAddress(address) || isPrivateAddress(address);
}

/** Names that no host on the Internet has (RFC 6762, RFC 8375, and `internal`, which ICANN has reserved). */
const innerName = /(?:^|\.)(?:local|internal|home\.arpa)$/;

/**
 * Whether a host may be public, judged before a proxy resolves its name: an address must be public, and a name must be
 * possible for a public host. Only the proxy knows the address of the name.
 */
export function mayBePublic(hostname: string): boolean {
  if (isIP(hostname) !== 0) return isPublicAddress(hostname);
  return hostname.includes('.') && !innerName.test(hostname);
}

/** Everything outside 2000::/3 is not (yet) assigned for use on the public Internet (RFC 4291 section 2.4). */
const globalUnicastIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an IP address belongs to a host on the public Internet. Private, loopback, link-local, shared, documentation,
 * benchmark, multicast and reserved ranges are not public. Neither are IPv6 forms that contain an IPv4 address (IPv4-mapped, local
 * NAT64, 6to4, Teredo), because the host that they reach depends on the local network. The well-known prefix of NAT64 is no such
 * form: it reaches exactly the IPv4 address.
 *
 * @internal exported for tests
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = reachedBy(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicastIpv6);
}

/** Parses an address; one of `64:ff9b::/96` as the IPv4 address in it (RFC 6052 section 2.1), to which DNS64 leads in IPv6-only networks. */
function reachedBy(address: string): ReturnType<typeof ipaddr.parse> {
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'rfc6052' ? ipaddr.fromByteArray(parsed.toByteArray().slice(12)) : parsed;
}

/**
 * Whether an IP address is private (RFC 1918, RFC 4193) or shared (RFC 6598). Excludes loopback and link-local.
 * @internal exported for tests
 */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const range = reachedBy(address).range();
  return range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat';
}

/** Whether an IP address is this machine's own loopback: 127.0.0.0/8 or ::1, in no other notation. */
function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback';
}

/**
 * Whether a URL's host (as `URL.hostname` gives it) names this machine by definition: `localhost` and names below it
 * (RFC 6761 section 6.3) or a loopback address. `localhost.` does not count.
 */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || isLoopbackAddress(withoutBrackets(hostname));
}

/** `[::1]` → `::1`; returns any other host unchanged. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
}
