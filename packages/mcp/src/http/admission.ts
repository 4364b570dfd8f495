import { AsyncLocalStorage } from 'node:async_hooks';
import { z } from 'zod/v4';
import { callable, parseStrictly } from '../errors.ts';
import { GateCheckError } from '../gateway/gate-check.ts';
import type { Reporter } from '../mistakes.ts';
import type { Environment } from '../run/run.ts';
import type { SubjectOption } from '../run/tool-call.ts';
import {
  authenticate,
  completedAuth,
  type EndpointAuth,
  RETRY_SECONDS,
  type ResourceMetadata,
  resourceMetadata,
  type VerifiedToken,
} from './bearer.ts';

/** Whose requests an endpoint answers. */
export interface AdmissionOptions {
  /**
   * Requires an access token with every request. `true`, and every member that is left out, takes what is registered at the gateway.
   * Without `auth`, and without an `authInfo` of earlier middleware, only requests from and to loopback are answered.
   */
  readonly auth?: true | Partial<EndpointAuth>;
  /**
   * Host names that requests may name, without ports. If set, they apply to all requests. Default: loopback for requests without a token,
   * any for the others.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Origins of web pages that may call this endpoint, besides loopback and the origin of `auth.resource`. CORS headers are left to the
   * framework.
   */
  readonly allowedOrigins?: readonly string[];
}

export const admissionShape = {
  auth: z
    .union([
      z.literal(true),
      z.strictObject({
        resource: z.url({ protocol: /^https?$/ }).optional(),
        authorizationServers: z
          .array(z.url({ protocol: /^https?$/ }))
          .min(1)
          .optional(),
        verifyToken: callable.optional(),
        scopes: z
          .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'Must be one scope, without spaces'))
          .optional(),
      }),
    ])
    .optional(),
  // Anything else would match no request.
  allowedHosts: z
    .array(z.string().regex(/^(?:[a-z0-9._-]+|\[[0-9a-f:]+\])$/, 'Must be a host name in lower case, without a port'))
    .optional(),
  allowedOrigins: z
    .array(
      z.string().refine(text => URL.parse(text)?.origin === text, 'Must be an origin such as https://app.example.com'),
    )
    .default([]),
};

/** Inputs of one HTTP request that the endpoint has already read and verified. */
export interface RequestInputs {
  readonly parsedBody?: unknown;
  readonly authInfo?: VerifiedToken;
  /** Address of the peer. Without a token and `allowedHosts`, it must be loopback. */
  readonly remoteAddress?: string | undefined;
}

/** What an admission gets from its gate. */
export interface AdmissionGate<Context> {
  readonly environment: Environment;
  readonly subject: SubjectOption<Context> | undefined;
  readonly reporter: Reporter;
}

/** What `auth` means for the requests of one moment. */
interface Authorization {
  readonly auth: EndpointAuth | undefined;
  readonly metadata: ResourceMetadata | undefined;
  /** Origins of web pages that may call, beside those of loopback. */
  readonly origins: readonly string[];
}

const REPORT_INTERVAL_MS = 60_000;

/**
 * Stands before an MCP endpoint: peer, `Host` and `Origin` of a request, its access token, and the metadata of the protected resource
 * (RFC 9728).
 */
export class Admission<Context> {
  readonly #gate: AdmissionGate<Context>;
  readonly #options: z.infer<z.ZodObject<typeof admissionShape>>;
  readonly #authOf: (() => Promise<EndpointAuth>) | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** @throws {PosternUsageError} `invalid_options` */
  constructor(gate: AdmissionGate<Context>, { auth, allowedHosts, allowedOrigins }: AdmissionOptions = {}) {
    this.#gate = gate;
    this.#options = parseStrictly('invalid_options', 'gate.endpoint', z.strictObject(admissionShape), {
      auth,
      allowedHosts,
      allowedOrigins,
    });
    this.#authOf = auth && completedAuth(auth, gate);
  }

  /** Runs `answer` for a request that is admitted. Rejects with its error only. */
  async admit(
    request: Request,
    inputs: RequestInputs,
    answer: (authInfo: VerifiedToken | undefined) => Promise<Response>,
  ): Promise<Response> {
    const source = await this.#sourceOf(request, inputs).catch((error: unknown) => this.#unavailable(error));
    if (source instanceof Response) return source;
    const from = this.#options.allowedHosts === undefined ? 'loopback' : 'allowed_hosts';
    return await admitted.run(from, () => answer(source.authInfo));
  }

  /** The token of the request; or the response, to a request that is not for the MCP endpoint too. */
  async #sourceOf(
    request: Request,
    { authInfo: verified, remoteAddress }: RequestInputs,
  ): Promise<{ readonly authInfo: VerifiedToken | undefined } | Response> {
    const { auth, metadata, origins } = await this.#authorization();
    const { allowedHosts } = this.#options;
    const refused = refuseOrigin(request, { hosts: allowedHosts, origins });
    if (refused !== undefined) return refused;
    const { pathname } = new URL(request.url);
    if (metadata !== undefined && pathname === metadata.path && request.method === 'GET')
      return Response.json(metadata.body, { headers: { 'access-control-allow-origin': '*' } });
    if (pathname.startsWith('/.well-known/')) return new Response(null, { status: 404 });

    const authInfo =
      auth === undefined || metadata === undefined ? verified : await authenticate(request, auth, metadata.url);
    if (authInfo instanceof Response) return authInfo;
    const remote =
      authInfo === undefined && allowedHosts === undefined ? refuseRemote(request, remoteAddress) : undefined;
    if (remote !== undefined) return remote;
    // A page that rebinds its name to this address has no token.
    const mayNameAnyHost = authInfo !== undefined && allowedHosts === undefined;
    return (mayNameAnyHost ? undefined : refuseHost(request, { hosts: allowedHosts, origins })) ?? { authInfo };
  }

  async #authorization(): Promise<Authorization> {
    const auth = await this.#authOf?.();
    const origins = [...this.#options.allowedOrigins, ...(auth === undefined ? [] : [new URL(auth.resource).origin])];
    return { auth, metadata: auth && resourceMetadata(auth), origins };
  }

  /** While gateway or issuer do not answer, no token can be verified, so none is accepted. */
  #unavailable(error: unknown): Response {
    if (!(error instanceof GateCheckError)) throw error;
    if (Date.now() - this.#reportedAt >= REPORT_INTERVAL_MS) {
      this.#reportedAt = Date.now();
      this.#gate.reporter.onBackgroundError(error);
    }
    return jsonRpcError(503, -32000, 'Access tokens cannot be verified', { 'retry-after': String(RETRY_SECONDS) });
  }
}

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
function refuseRemote({ headers }: Request, address: string | undefined): Response | undefined {
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
function refuseHost(request: Request, { hosts }: AllowedSources): Response | undefined {
  const name = URL.parse(`http://${request.headers.get('host') ?? new URL(request.url).host}`)?.hostname;
  const isAllowed = name !== undefined && (hosts === undefined ? LOOPBACK.test(name) : hosts.includes(name));
  return isAllowed ? undefined : jsonRpcError(403, -32000, 'Host not allowed');
}

/** Browsers send `Origin` with every request that a script of another origin makes; other MCP clients send none. */
function refuseOrigin(request: Request, { origins }: AllowedSources): Response | undefined {
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
