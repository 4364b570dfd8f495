import { jsonRpcError } from './responses.ts';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a peer is on this machine. True as well if the framework does not report the address. */
export function isLoopbackAddress(address: string | undefined): boolean {
  return address === undefined || /^(?:::ffff:)?127\.|^::1$/.test(address);
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
