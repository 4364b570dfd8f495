import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
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
import { isInsideHost, isPrivateHost, type OutboundPolicy, type ResolveAddresses } from './outbound-policy.ts';
import { mayBePublic, type OutboundTunnel, openTunnel } from './outbound-tunnel.ts';

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
  const secureContext = policy.ca === undefined ? undefined : trusting(policy.ca);
  const tunnel =
    policy.proxy === undefined ? undefined : openTunnel(policy.proxy, { secureContext, connectTimeoutMs, timeoutMs });
  const dispatcher = new Agent({
    connect: guardedConnector(policy, { maxBytes, secureContext, tunnel }),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  return {
    fetch: (url, init) => fetch(url, { ...init, dispatcher }),
    async destroy() {
      await dispatcher.destroy();
      await tunnel?.destroy();
    },
  };
}

/** Made once: reading all authorities of the machine takes longer than a handshake. */
const trusting = (ca: string): SecureContext => createSecureContext({ ca: [...getCACertificates('default'), ca] });

function guardedConnector(
  policy: OutboundPolicy,
  p: {
    readonly maxBytes: number;
    readonly secureContext: SecureContext | undefined;
    readonly tunnel: OutboundTunnel | undefined;
  },
): buildConnector.connector {
  const { maxBytes, secureContext, tunnel } = p;
  const trust = secureContext === undefined ? {} : { secureContext };
  const connectTo = buildConnector({ ...trust, allowH2: false, timeout: connectTimeoutMs });
  const resolve = policy.resolve ?? systemResolve;

  return (options, callback) => {
    const hostname = withoutBrackets(options.hostname);
    const limited: buildConnector.Callback = (...result) => {
      const [error, socket] = result;
      // On an error there is no socket, not even null.
      if (error === null) limitIncoming(socket, maxBytes, options.hostname);
      callback(...result);
    };
    if (tunnel !== undefined && !isInsideHost(hostname, policy)) {
      if (!mayBePublic(hostname)) return callback(new OutboundError('outbound_blocked', options.hostname), null);
      tunnel.open(hostname, Number(options.port || 443)).then(
        httpSocket => connectTo({ ...options, httpSocket }, limited),
        (error: unknown) => callback(asOutboundError(error, options.hostname), null),
      );
      return;
    }
    const attempt = (addresses: readonly string[], index: number): void => {
      const address = addresses[index];
      if (address === undefined) {
        callback(new OutboundError('outbound_unreachable', options.hostname), null);
        return;
      }
      // Given an address as host name, the connector resolves nothing; SNI and the certificate check keep the name,
      // which undici takes from `servername` and `host`.
      connectTo({ ...options, hostname: address }, (...result) => {
        if (result[0] !== null && index + 1 < addresses.length) return attempt(addresses, index + 1);
        limited(...result);
      });
    };
    checkedAddresses(hostname, resolve, policy).then(
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
