import { isIP } from 'node:net';

/** What JSON Schema can say of {@link isAddressRange}. */
export const addressRangePattern: string = String.raw`^(?:(?:\d{1,3}\.){3}\d{1,3}(?:\/0{0,2}(?:[1-9]|[12]\d|3[0-2]))?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%\w]*(?:\/0{0,2}[1-9]\d{0,2})?)$`;

/** An IP address, or a CIDR range (RFC 4632) that leaves somebody out: believing everybody's headers is never meant. */
export function isAddressRange(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return length >= 1 && length <= (version === 4 ? 32 : 128);
}
