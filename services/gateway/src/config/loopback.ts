import { isIPv4 } from 'node:net';

/** RFC 6761 section 6.3 (`localhost`), RFC 1122 section 3.2.1.3 (127.0.0.0/8), RFC 4291 section 2.5.3 (::1). */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}
