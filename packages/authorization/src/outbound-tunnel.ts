import { isIP, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector, Pool } from 'undici';
import { isPublicAddress } from './outbound-address.ts';
import { asOutboundError, OutboundError } from './outbound-error.ts';

/** Connections that a proxy makes (RFC 9110 section 9.3.6). */
export interface OutboundTunnel {
  /** @throws {OutboundError} with a `systemCode` that begins with `PROXY_` */
  open(hostname: string, port: number): Promise<Socket>;
  destroy(): Promise<void>;
}

export function openTunnel(
  proxy: string,
  p: {
    readonly secureContext: SecureContext | undefined;
    readonly connectTimeoutMs: number;
    /** Longest time until the proxy has connected. */
    readonly timeoutMs: number;
  },
): OutboundTunnel {
  const { origin, username, password } = new URL(proxy);
  const { secureContext } = p;
  const trust = secureContext === undefined ? {} : { secureContext };
  const pool = new Pool(origin, {
    connect: buildConnector({ ...trust, allowH2: false, timeout: p.connectTimeoutMs }),
    headersTimeout: p.timeoutMs,
  });
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization =
    credentials === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };

  return {
    async open(hostname, port) {
      const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`;
      const { statusCode, socket } = await pool
        .connect({ path: authority, headers: { host: authority, ...authorization } })
        .catch((error: unknown) => {
          const { code, systemCode = 'FAILED' } = asOutboundError(error, hostname);
          throw new OutboundError(code, hostname, `PROXY_${systemCode}`);
        });
      if (statusCode >= 200 && statusCode < 300) return socket as Socket;
      socket.destroy();
      throw new OutboundError('outbound_unreachable', hostname, `PROXY_HTTP_${statusCode}`);
    },
    destroy: () => pool.destroy(),
  };
}

/** Names that no host on the Internet has (RFC 6762, RFC 8375, and `internal`, which ICANN has reserved). */
const innerName = /(?:^|\.)(?:local|internal|home\.arpa)$/;

/**
 * What can be said about a host before a proxy resolves its name: an address must be public, and a name must be one that a public host
 * can have. Where such a name leads is known to the proxy alone.
 */
export function mayBePublic(hostname: string): boolean {
  if (isIP(hostname) !== 0) return isPublicAddress(hostname);
  return hostname.includes('.') && !innerName.test(hostname);
}
