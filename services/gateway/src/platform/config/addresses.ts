import { isIP, isIPv4 } from 'node:net';

/** JSON Schema approximation of {@link isLoopbackHost}. */
export const loopbackHostPattern: string = String.raw`(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])`;

/** RFC 6761 section 6.3 (`localhost`), RFC 1122 section 3.2.1.3 (127.0.0.0/8), RFC 4291 section 2.5.3 (::1). */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** Accepts a host as in a URL or as in the address of a listener. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** JSON Schema approximation of {@link isAddressRange}. */
export const addressRangePattern: string = String.raw`^(?:(?:\d{1,3}\.){3}\d{1,3}(?:\/0{0,2}(?:[1-9]|[12]\d|3[0-2]))?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%\w]*(?:\/0{0,2}[1-9]\d{0,2})?)$`;

/** Whether a value is an IP address or a CIDR range (RFC 4632). Refuses the range of all addresses, which would trust the headers of any caller. */
export function isAddressRange(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return length >= 1 && length <= (version === 4 ? 32 : 128);
}
