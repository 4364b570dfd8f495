import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';

const trusted = new WeakMap<readonly string[], ReturnType<typeof proxyAddr.compile>>();

/** Returns the address of the caller before routing, as `request.ip` does afterwards. */
export function addressOf(request: IncomingMessage, { trustProxy }: { readonly trustProxy: string[] }): string {
  if (trustProxy.length === 0 || request.headers['x-forwarded-for'] === undefined)
    return request.socket.remoteAddress ?? '';
  const trust = trusted.get(trustProxy) ?? proxyAddr.compile(trustProxy);
  trusted.set(trustProxy, trust);
  return proxyAddr(request, trust);
}

/** Returns the part of an address that its owner cannot choose: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  const [, ipv4] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (ipv4 !== undefined || !isIPv6(address)) return ipv4 ?? address;
  const [head = '', tail = ''] = address.split('%', 1)[0]?.split('::') ?? [];
  const [before, after] = [head, tail].map(part => part.split(':').filter(group => group !== '')) as [
    string[],
    string[],
  ];
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  const groups = [...before, ...zeros, ...after].slice(0, 4).map(group => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}
