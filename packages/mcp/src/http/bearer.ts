import { z } from 'zod/v4';
import { parseStrictly } from '../parse-strictly.ts';

/** A verified MCP access token, as both SDKs describe it. `extra` names the user: `iss` and `sub`. */
export interface VerifiedToken {
  token: string;
  /** The OAuth client, which is not the user. */
  clientId: string;
  scopes: string[];
  /** Epoch seconds. */
  expiresAt?: number;
  /** The audience (RFC 8707). */
  resource?: URL;
  extra?: Record<string, unknown>;
}

/** How the endpoint authenticates MCP clients (MCP, authorization; RFC 6750, RFC 9728). The gateway knows what is left out. */
export interface EndpointAuth {
  /** The public URL of this endpoint, which is the audience of its access tokens. Default: the URL registered at the gateway. */
  readonly resource: string;
  /** Issuers of the authorization servers where MCP clients get access tokens. Default: those that the gateway allows. */
  readonly authorizationServers: readonly string[];
  /**
   * Verifies signature, issuer, audience and expiry. Returns undefined for an invalid token, or throws an SDK's or jose's error for
   * it; any other error is an internal error. `extra.iss` and `extra.sub` name the user. Default: verifies JWT access tokens (RFC 9068)
   * of `authorizationServers` with their published keys, for `resource` or an audience registered at the gateway.
   */
  verifyToken(token: string): VerifiedToken | undefined | Promise<VerifiedToken | undefined>;
  /** Scopes that every token needs. Default: none. */
  readonly scopes?: readonly string[];
}

/** `GET` of the protected resource metadata (RFC 9728), at the well-known path of `resource`. */
export function resourceMetadata(auth: EndpointAuth): { readonly path: string; readonly url: string; body: object } {
  const { origin, pathname } = new URL(auth.resource);
  // RFC 9728, section 3.1: between host and path, without a slash at the end.
  const path = `/.well-known/oauth-protected-resource${pathname.replace(/\/$/, '')}`;
  const body = {
    resource: auth.resource,
    authorization_servers: auth.authorizationServers,
    scopes_supported: auth.scopes,
    bearer_methods_supported: ['header'],
  };
  return { path, url: `${origin}${path}`, body };
}

/**
 * Returns the verified token of the request, or the challenge.
 *
 * @throws the error of `verifyToken`, unless it says that the token is invalid
 */
export async function authenticate(
  request: Request,
  auth: EndpointAuth,
  metadataUrl: string,
): Promise<VerifiedToken | Response> {
  const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  const { scopes = [] } = auth;
  const scope: Record<string, string> = scopes.length === 0 ? {} : { scope: scopes.join(' ') };
  // RFC 6750, section 3.1: no error code if the request has no token.
  if (token === undefined) return challenge(401, { ...scope, resource_metadata: metadataUrl });
  const verified = await verify(auth, token);
  // The author's function: what it returns decides who the user is.
  if (verified !== undefined) parseStrictly('invalid_options', 'auth.verifyToken returned', verifiedSchema, verified);
  if (verified === undefined || !isFor(verified, auth)) {
    return challenge(401, { error: 'invalid_token', ...scope, resource_metadata: metadataUrl });
  }
  const hasScopes = scopes.every(needed => verified.scopes.includes(needed));
  return hasScopes
    ? verified
    : challenge(403, { error: 'insufficient_scope', ...scope, resource_metadata: metadataUrl });
}

/** Codes of jose for a token that is malformed, expired, or not for this endpoint. Others, such as unreachable keys, are internal errors. */
const INVALID_IN_JOSE =
  /^ERR_(?:JWT_|JWS_|JOSE_ALG_|JOSE_NOT_SUPPORTED$|JWKS_NO_MATCHING_KEY$|JWKS_MULTIPLE_MATCHING_KEYS$)/;

/** Whether the error of a verifier says that the token is invalid: `code` in jose and SDK v2, `errorCode` in SDK v1. */
export function isInvalidToken(error: unknown): boolean {
  const { code, errorCode } = error as { code?: unknown; errorCode?: unknown };
  return code === 'invalid_token' || errorCode === 'invalid_token' || INVALID_IN_JOSE.test(String(code));
}

async function verify(auth: EndpointAuth, token: string): Promise<VerifiedToken | undefined> {
  try {
    return (await auth.verifyToken(token)) ?? undefined;
  } catch (error) {
    if (isInvalidToken(error)) return undefined;
    throw error;
  }
}

/** Year 5138 in seconds: a later time is in milliseconds. */
const MAX_SECONDS = 1e11;

const verifiedSchema = z.looseObject({
  token: z.string(),
  clientId: z.string(),
  scopes: z.array(z.string()),
  expiresAt: z.number().max(MAX_SECONDS, 'Must be in seconds').optional(),
  resource: z.instanceof(URL).optional(),
  extra: z.record(z.string(), z.unknown()).optional(),
});

/** Repeats what a verifier may forget, where the verifier reports it. */
function isFor({ expiresAt, resource }: VerifiedToken, auth: EndpointAuth): boolean {
  if (expiresAt !== undefined && expiresAt * 1000 <= Date.now()) return false;
  return resource === undefined || resource.href === new URL(auth.resource).href;
}

function challenge(status: number, parameters: Readonly<Record<string, string>>): Response {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  const error = parameters['error'] ?? 'unauthorized';
  return Response.json({ error }, { status, headers: { 'www-authenticate': `Bearer ${list.join(', ')}` } });
}
