import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Agent, buildConnector, fetch, type RequestInit, type Response } from 'undici';
import { limitIncoming } from './incoming-limit.ts';
import {
  isLoopbackAddress,
  isLoopbackHost,
  isPrivateAddress,
  isPublicAddress,
  withoutBrackets,
} from './outbound-address.ts';
import { asOutboundError, OutboundError } from './outbound-error.ts';
import { isPrivateHost, type OutboundPolicy, type ResolveAddresses } from './outbound-policy.ts';

/** Addresses tried for one connection, and the time for each: what cannot be reached must not use up the whole budget. */
const maxAddresses = 4;
const connectTimeoutMs = 3_000;

const systemResolve: ResolveAddresses = async hostname =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

/** Connections that go only where the policy lets them go. */
export interface OutboundAgent {
  fetch(url: URL, init: RequestInit): Promise<Response>;
  destroy(): Promise<void>;
}

export function openOutboundAgent(
  policy: OutboundPolicy,
  { timeoutMs, maxBytes }: { readonly timeoutMs: number; readonly maxBytes: number },
): OutboundAgent {
  const dispatcher = new Agent({
    connect: guardedConnector(policy, maxBytes),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  return {
    fetch: (url, init) => fetch(url, { ...init, dispatcher }),
    destroy: () => dispatcher.destroy(),
  };
}

function guardedConnector(policy: OutboundPolicy, maxBytes: number): buildConnector.connector {
  const connectTo = buildConnector({ allowH2: false, timeout: connectTimeoutMs });
  const resolve = policy.resolve ?? systemResolve;

  return (options, callback) => {
    const attempt = (addresses: readonly string[], index: number): void => {
      const address = addresses[index];
      if (address === undefined) {
        callback(new OutboundError('outbound_unreachable', options.hostname), null);
        return;
      }
      // Given an address as host name, the connector resolves nothing; SNI and the certificate check keep the name,
      // which undici takes from `servername` and `host`.
      connectTo({ ...options, hostname: address }, (...result) => {
        const [error, socket] = result;
        if (error !== null && index + 1 < addresses.length) return attempt(addresses, index + 1);
        // On an error there is no socket, not even null.
        if (error === null) limitIncoming(socket, maxBytes, options.hostname);
        callback(...result);
      });
    };
    checkedAddresses(withoutBrackets(options.hostname), resolve, policy).then(
      addresses => attempt(addresses.slice(0, maxAddresses), 0),
      (error: unknown) => callback(asOutboundError(error, options.hostname), null),
    );
  };
}

/** Every address of the host, or an error if a single one of them is not allowed. */
async function checkedAddresses(
  hostname: string,
  resolve: ResolveAddresses,
  policy: OutboundPolicy,
): Promise<readonly string[]> {
  const addresses = isIP(hostname) === 0 ? await resolve(hostname) : [hostname];
  if (!addresses.every(allowedAddresses(hostname, policy))) throw new OutboundError('outbound_blocked', hostname);
  return addresses;
}

function allowedAddresses(hostname: string, policy: OutboundPolicy): (address: string) => boolean {
  if (isLoopbackHost(hostname)) return policy.allowLoopback ? isLoopbackAddress : () => false;
  if (!isPrivateHost(hostname, policy)) return isPublicAddress;
  return address => isPublicAddress(address) || isPrivateAddress(address);
}
