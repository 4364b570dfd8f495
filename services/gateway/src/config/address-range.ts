import { isIP } from 'node:net';

/** An IP address, or a CIDR range (RFC 4632) that leaves somebody out: believing everybody's headers is never meant. */
export function isAddressRange(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return length >= 1 && length <= (version === 4 ? 32 : 128);
}
