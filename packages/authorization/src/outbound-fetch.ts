import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import {
  isLoopbackAddress,
  isLoopbackHost,
  isPrivateAddress,
  isPublicAddress,
  withoutBrackets,
} from './outbound-address.ts';
import { OutboundError } from './outbound-error.ts';

/** All IP addresses of a host name. Rejects when the name has none. */
export type ResolveAddresses = (hostname: string) => Promise<readonly string[]>;

export interface OutboundPolicy {
  /** Development: hosts that are loopback by name may be reached, over http too and on any port. */
  readonly allowLoopback: boolean;
  /** Largest answer, in bytes after decompression. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Longest time from the call to the last byte, in milliseconds, name resolution included. Default 10 000. */
  readonly timeoutMs?: number;
  /** Ports allowed beside 443. */
  readonly extraPorts?: readonly number[];
  /**
   * Hosts inside the operator's own network, as `host` or `host:port`, whose names may resolve to private addresses. Named
   * exactly, https only, never loopback or link-local.
   */
  readonly privateHosts?: readonly string[];
  /** Replaces the system's name resolution. */
  readonly resolve?: ResolveAddresses;
}

export interface OutboundRequest {
  readonly method?: string;
  readonly headers?: Record<string, string> | Headers;
  readonly body?: string | URLSearchParams | Uint8Array | null;
  readonly signal?: AbortSignal;
  /**
   * Only status and headers are wanted: the response has no body, however large or slow the answer is. It is read as far as
   * `maxBytes` so that the connection can be used again, and else the connection is dropped. Default false.
   */
  readonly discardBody?: boolean;
}

/**
 * `fetch` for everything that leaves the gateway towards hosts named by configuration or by somebody's metadata.
 *
 * Only https to public addresses; every address of a name is checked and the connection goes to exactly the address
 * that was checked, so that a second DNS answer (rebinding) has no effect; a redirect is an error; size and time are
 * capped. The answer is complete when the promise resolves.
 *
 * @throws {OutboundError} and nothing else.
 */
export interface OutboundFetch extends AsyncDisposable {
  (url: string | URL, init?: OutboundRequest): Promise<Response>;
  /**
   * Whether a URL leads to this machine or to a private host of the operator. Such a host may be talked to because the
   * operator named it, not because somebody outside did.
   */
  isInside(url: string | URL): boolean;
  /** Ends all connections; requests under way fail. */
  close(): Promise<void>;
}

const defaultMaxBytes = 1024 * 1024;
const defaultTimeoutMs = 10_000;
/** Addresses tried for one connection, and the time for each: what cannot be reached must not use up the whole budget. */
const maxAddresses = 4;
const connectTimeoutMs = 3_000;
/** A connection whose answer comes in drips is not worth waiting for. */
const maxDrainMs = 1_000;

const systemResolve: ResolveAddresses = async hostname =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

/** @see {@link OutboundFetch} */
export function createOutboundFetch(policy: OutboundPolicy): OutboundFetch {
  const maxBytes = policy.maxBytes ?? defaultMaxBytes;
  const timeoutMs = policy.timeoutMs ?? defaultTimeoutMs;
  const agent = new Agent({
    connect: guardedConnector(policy),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });

  async function outboundFetch(target: string | URL, init: OutboundRequest = {}): Promise<Response> {
    const url = allowedUrl(target, policy);
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = init.signal ? AbortSignal.any([timeout, init.signal]) : timeout;
    try {
      const answer = await undiciFetch(url, {
        method: init.method ?? 'GET',
        headers: Object.fromEntries(new Headers(init.headers)),
        body: init.body ?? null,
        redirect: 'manual',
        signal,
        dispatcher: agent,
      });
      if (answer.status >= 300 && answer.status < 400) {
        await answer.body?.cancel();
        throw new OutboundError('outbound_redirect', url.host);
      }
      if (init.discardBody === true) {
        await drain(answer.body, maxBytes);
        return new Response(null, { status: answer.status, headers: remainingHeaders(answer.headers) });
      }
      const body = answer.body === null ? null : await readBody(answer.body, maxBytes, url.host);
      return new Response(body, { status: answer.status, headers: remainingHeaders(answer.headers) });
    } catch (error) {
      throw asOutboundError(error, url.host, signal);
    }
  }

  function isInside(target: string | URL): boolean {
    const hostname = URL.parse(String(target))?.hostname ?? '';
    return isLoopbackHost(hostname) || isPrivateHost(hostname, policy);
  }

  const close = () => agent.destroy();
  return Object.assign(outboundFetch, { isInside, close, [Symbol.asyncDispose]: close });
}

/** What can be said about a URL before anything is resolved. */
function allowedUrl(target: string | URL, policy: OutboundPolicy): URL {
  const url = URL.parse(String(target));
  if (url === null) throw new OutboundError('outbound_blocked', '');
  const blocked = () => new OutboundError('outbound_blocked', url.host);
  if (url.username !== '' || url.password !== '') throw blocked();
  // A trailing dot makes `localhost.` a different name to us and the same one to the resolver.
  if (url.hostname.endsWith('.')) throw blocked();
  if (isLoopbackHost(url.hostname)) {
    if (!policy.allowLoopback || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw blocked();
    return url;
  }
  if (url.protocol !== 'https:') throw blocked();
  const isNamed = policy.privateHosts?.includes(url.host) === true;
  if (url.port !== '' && !isNamed && !policy.extraPorts?.includes(Number(url.port))) throw blocked();
  return url;
}

function guardedConnector(policy: OutboundPolicy): buildConnector.connector {
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
        if (result[0] !== null && index + 1 < addresses.length) attempt(addresses, index + 1);
        else callback(...result);
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

function isPrivateHost(hostname: string, { privateHosts = [] }: OutboundPolicy): boolean {
  return privateHosts.some(host => host.replace(/:\d+$/, '') === hostname);
}

async function readBody(body: AsyncIterable<Uint8Array>, maxBytes: number, host: string): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by an error cancels the stream and closes the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new OutboundError('outbound_too_large', host);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads and forgets. What goes wrong meanwhile, the end of time included, changes nothing about the answer. */
async function drain(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<void> {
  const ends = performance.now() + maxDrainMs;
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes || performance.now() > ends) return;
    }
  } catch (error) {
    // Undici's errors, abort included, are errors; anything else is ours.
    if (!(error instanceof Error)) throw error;
  }
}

/** The body has been decompressed and joined, so what described its transfer is no longer true. */
function remainingHeaders(headers: Iterable<[string, string]>): Headers {
  const remaining = new Headers([...headers]);
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) remaining.delete(name);
  return remaining;
}

const timeoutErrors = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** The one place where undici's errors, which may quote what was sent, are replaced. */
function asOutboundError(error: unknown, host: string, signal?: AbortSignal): OutboundError {
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    if (link instanceof OutboundError) return link;
    if ('code' in link && timeoutErrors.has(String(link.code))) return new OutboundError('outbound_timeout', host);
  }
  return new OutboundError(signal?.aborted ? 'outbound_timeout' : 'outbound_unreachable', host);
}
