import { isIPv4 } from 'node:net';

/** What JSON Schema can say of {@link isLoopbackHost}. */
export const loopbackHostPattern: string = String.raw`(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])`;

/** RFC 6761 section 6.3 (`localhost`), RFC 1122 section 3.2.1.3 (127.0.0.0/8), RFC 4291 section 2.5.3 (::1). */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** The host as a URL or a listener names it. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
