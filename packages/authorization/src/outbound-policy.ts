import { isLoopbackHost } from './outbound-address.ts';

/** All IP addresses of a host name. Rejects when the name has none. */
export type ResolveAddresses = (hostname: string) => Promise<readonly string[]>;

export interface OutboundPolicy {
  /** Development: hosts that are loopback by name may be reached, over http too and on any port. */
  readonly allowLoopback: boolean;
  /** Largest answer, in bytes after decompression. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Longest time from the call to the last byte, in milliseconds, name resolution included. Default 10 000. */
  readonly timeoutMs?: number;
  /** Hosts that the operator configured with a port other than 443, as `host:port`. At any other host only 443 is allowed. */
  readonly configuredHosts?: readonly string[];
  /**
   * Hosts inside the operator's own network, as `host` or `host:port`, whose names may resolve to private addresses. Named
   * exactly, https only, never loopback or link-local. Shared address space (RFC 6598) counts as private.
   */
  readonly privateHosts?: readonly string[];
  /** Certificates of further authorities, in PEM, that are trusted beside those of this machine. */
  readonly ca?: string;
  /**
   * http(s) URL of a proxy that makes the connections (CONNECT), with a user name and password where it wants them. It resolves the
   * names, so addresses are checked only where a URL has one instead of a name. Loopback and private hosts are reached without it.
   */
  readonly proxy?: string;
  /** Replaces the system's name resolution. */
  readonly resolve?: ResolveAddresses;
}

/** Whether the operator named it as a host inside the network of its own. */
export function isPrivateHost(hostname: string, { privateHosts = [] }: OutboundPolicy): boolean {
  return privateHosts.some(host => host.replace(/:\d+$/, '') === hostname);
}

/** Whether a host is of this machine or of the operator's own network. It is reached without a proxy. */
export const isInsideHost = (hostname: string, policy: OutboundPolicy): boolean =>
  isLoopbackHost(hostname) || isPrivateHost(hostname, policy);
