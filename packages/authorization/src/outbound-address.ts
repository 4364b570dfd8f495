import ipaddr from 'ipaddr.js';

/** Everything outside 2000::/3 is not (yet) assigned for use on the public Internet (RFC 4291 section 2.4). */
const globalUnicastIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an IP address belongs to a host on the public Internet. Private, loopback, link-local, shared, documentation,
 * benchmark, multicast and reserved ranges are not public; neither are IPv6 forms that carry an IPv4 address
 * (IPv4-mapped, NAT64, 6to4, Teredo), because what they reach depends on the network they are used in.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicastIpv6);
}

/** Whether an IP address is of a private network (RFC 1918, RFC 4193) or of shared space (RFC 6598). Loopback and link-local are not. */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const range = ipaddr.parse(address).range();
  return range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat';
}

/** Whether an IP address is this machine's own loopback: 127.0.0.0/8 or ::1, in no other notation. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback';
}

/**
 * Whether a URL's host (as `URL.hostname` gives it) names this machine by definition: `localhost` and names below it
 * (RFC 6761 section 6.3) or a loopback address. `localhost.` does not count.
 */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || isLoopbackAddress(withoutBrackets(hostname));
}

/** `[::1]` → `::1`; every other host stays as it is. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
}
