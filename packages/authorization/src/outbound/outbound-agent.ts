import { lookup } from 'node:dns/promises';
import { isIP, type Socket } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { Agent, buildConnector, fetch, Pool, type RequestInit, type Response } from 'undici';
import {
  allowedAddresses,
  asOutboundError,
  isInsideHost,
  mayBePublic,
  OutboundError,
  type OutboundPolicy,
  type ResolveAddresses,
  withoutBrackets,
} from './outbound-policy.ts';

/** Limits the addresses per connection and the time for each, so unreachable addresses do not exhaust the timeout. */
const maxAddresses = 4;
const connectTimeoutMs = 3_000;

const systemResolve: ResolveAddresses = async hostname =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

/** Opens only connections that the policy allows. */
export interface OutboundAgent {
  fetch(url: URL, init: RequestInit): Promise<Response>;
  destroy(): Promise<void>;
}

export function openOutboundAgent(
  policy: OutboundPolicy,
  { timeoutMs, maxBytes }: { readonly timeoutMs: number; readonly maxBytes: number },
): OutboundAgent {
  const secureContext = policy.ca === undefined ? undefined : trusting(policy.ca);
  const tunnel = policy.proxy === undefined ? undefined : openTunnel(policy.proxy, { secureContext, timeoutMs });
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

/** Created once, because loading the machine's certificate authorities takes longer than a handshake. */
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
      // The connector does not resolve an address. SNI and the certificate check still use the host name, which undici
      // takes from `servername` and `host`.
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

/** Resolves all addresses of the host. Throws if the policy refuses any of them. */
async function checkedAddresses(
  hostname: string,
  resolve: ResolveAddresses,
  policy: OutboundPolicy,
): Promise<readonly string[]> {
  const addresses = isIP(hostname) === 0 ? await resolve(hostname) : [hostname];
  if (!addresses.every(allowedAddresses(hostname, policy))) throw new OutboundError('outbound_blocked', hostname);
  return addresses;
}

/** Allowance for headers and for the framing of a chunked body. */
const overheadBytes = 64 * 1024;

/**
 * Closes a connection that receives more bytes than one response may have, including framing. HTTP libraries read some parts
 * of a response without limit: interim responses, chunk extensions, the reason phrase.
 * @param maxBytes maximum size of a body. The connection may receive twice that, because a chunked body is larger.
 */
function limitIncoming(socket: Socket, maxBytes: number, host: string): void {
  const maxIncoming = 2 * maxBytes + overheadBytes;
  let written = socket.bytesWritten;
  let before = socket.bytesRead;
  // A listener for `data` would consume the bytes before the library.
  socket.on('readable', () => {
    if (socket.bytesWritten !== written) {
      // Reset the count when another request is sent: a connection carries one request at a time.
      written = socket.bytesWritten;
      before = socket.bytesRead;
    }
    if (socket.bytesRead - before > maxIncoming) socket.destroy(new OutboundError('outbound_too_large', host));
  });
}

/** Opens connections through a proxy (RFC 9110 section 9.3.6). */
interface OutboundTunnel {
  /** @throws {OutboundError} with a `systemCode` that begins with `PROXY_` */
  open(hostname: string, port: number): Promise<Socket>;
  destroy(): Promise<void>;
}

function openTunnel(
  proxy: string,
  p: {
    readonly secureContext: SecureContext | undefined;
    /** Timeout of the CONNECT request, in milliseconds. */
    readonly timeoutMs: number;
  },
): OutboundTunnel {
  const { origin, username, password } = new URL(proxy);
  const { secureContext } = p;
  const trust = secureContext === undefined ? {} : { secureContext };
  const pool = new Pool(origin, {
    connect: buildConnector({ ...trust, allowH2: false, timeout: connectTimeoutMs }),
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
