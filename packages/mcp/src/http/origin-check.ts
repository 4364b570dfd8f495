import { AsyncLocalStorage } from 'node:async_hooks';

/** Set while `endpoint()` answers a request whose source it has checked: this machine, or the hosts that the author allows. */
export const admitted = new AsyncLocalStorage<'loopback' | 'allowed_hosts'>();

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Headers that a reverse proxy or a CDN adds: the peer is the proxy then, not the MCP client. RFC 7239, RFC 9110 section 7.6.3,
 * RFC 8586, and the names that products use.
 */
const FORWARDED =
  /^(?:forwarded|via|cdn-loop|(?:x-)?(?:original-)?forwarded(?:-.+)?|(?:x-)?(?:real|client|true-client|cluster-client|remote)-(?:ip|addr)|x-original-(?:host|uri|url)|(?:cf|fastly|x-envoy|x-amzn|x-amz-cf|x-azure|x-vercel|fly)-.+)$/;

/**
 * Refuses requests that do not come from this machine. Any machine can send `Host: localhost`, so the address of the peer decides.
 * `undefined` means that the request is from this machine.
 */
export function refuseRemote({ headers }: Request, address: string | undefined): Response | undefined {
  if (address === undefined)
    return jsonRpcError(403, -32000, 'Unknown peer: pass { remoteAddress } to fetch(), or set auth or allowedHosts');
  if (!/^(?:::ffff:)?127\.|^::1$/.test(address)) return jsonRpcError(403, -32000, 'Only loopback, or with a token');
  if ([...headers.keys()].some(name => FORWARDED.test(name)))
    return jsonRpcError(403, -32000, 'Forwarded by a proxy: set auth or allowedHosts');
  return undefined;
}

export interface AllowedSources {
  /** Names of the `Host` header, without a port. Undefined: those of loopback. */
  readonly hosts: readonly string[] | undefined;
  /** Origins beside those of loopback. */
  readonly origins: readonly string[];
}

/**
 * Protects against DNS rebinding: a web page whose name resolves to loopback sends its own name as `Host` (MCP, transports, security
 * warning). `undefined` means that the host is allowed.
 */
export function refuseHost(request: Request, { hosts }: AllowedSources): Response | undefined {
  const name = URL.parse(`http://${request.headers.get('host') ?? new URL(request.url).host}`)?.hostname;
  const isAllowed = name !== undefined && (hosts === undefined ? LOOPBACK.test(name) : hosts.includes(name));
  return isAllowed ? undefined : jsonRpcError(403, -32000, 'Host not allowed');
}

/** Browsers send `Origin` with every request that a script of another origin makes; other MCP clients send none. */
export function refuseOrigin(request: Request, { origins }: AllowedSources): Response | undefined {
  const origin = request.headers.get('origin');
  if (origin === null || origins.includes(origin)) return undefined;
  const url = URL.parse(origin);
  const isLoopback = url !== null && /^https?:$/.test(url.protocol) && LOOPBACK.test(url.hostname);
  return isLoopback ? undefined : jsonRpcError(403, -32000, 'Origin not allowed');
}

/** An error that concerns the HTTP request and not one JSON-RPC request, in the form of both SDKs. */
export function jsonRpcError(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers });
}
