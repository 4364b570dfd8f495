import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import ipaddr from 'ipaddr.js';

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
  return networksOf(address)[0];
}

/** The network of an address and the site around it: the first 64 and 48 bits of an IPv6 address, an IPv4 address twice. */
export function networksOf(address: string): readonly [network: string, site: string] {
  // Some proxies forward the port too. A caller could choose any other text.
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/.exec(address) ?? [];
  const text = bracketed ?? plain ?? address;
  if (!ipaddr.isValid(text)) return ['unknown', 'unknown'];
  const parsed = ipaddr.process(text);
  if (!(parsed instanceof ipaddr.IPv6)) return [parsed.toString(), parsed.toString()];
  // Behind NAT64, all IPv4 addresses have one prefix (RFC 6052).
  if (parsed.range() === 'rfc6052') return networksOf(ipaddr.fromByteArray(parsed.toByteArray().slice(12)).toString());
  const start = (groups: number) =>
    `${parsed.parts
      .slice(0, groups)
      .map(part => part.toString(16))
      .join(':')}::/${groups * 16}`;
  return [start(4), start(3)];
}
