import { hash, timingSafeEqual } from 'node:crypto';
import { createLocalJWKSet, decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { RegisteredMcpServer } from './registered-mcp-server.ts';

/** Longest life of a caller's JWT, in seconds: it is made for one call, not stored. */
const MAX_JWT_LIFETIME_SECONDS = 300;
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];

interface KeyEntry {
  readonly digest: Buffer;
  readonly expiresAt: number;
  readonly mcpServer: RegisteredMcpServer;
}

/** Who calls the API. An API key, or a JWT signed with the MCP server's registered key (RFC 7523 section 3 in spirit). */
export interface CallerDirectory {
  /** Undefined for anything that is not a valid credential; never says why. */
  identify(bearer: string): Promise<RegisteredMcpServer | undefined>;
}

export function createCallerDirectory(p: {
  mcpServers: readonly RegisteredMcpServer[];
  /** `aud` of a caller's JWT. */
  audience: string;
  now: () => number;
}): CallerDirectory {
  const byPrefix = new Map<string, KeyEntry[]>();
  const keySets = new Map<string, { mcpServer: RegisteredMcpServer; getKey: JWTVerifyGetKey }>();

  for (const mcpServer of p.mcpServers) {
    for (const apiKey of mcpServer.config.apiKeys) {
      const digest = Buffer.from(apiKey.hash.slice('sha256:'.length), 'hex');
      const prefix = prefixOf(digest);
      const expiresAt = apiKey.expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(apiKey.expires);
      byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), { digest, expiresAt, mcpServer }]);
    }
    if (mcpServer.config.jwks !== undefined) {
      keySets.set(mcpServer.mcpServerId, { mcpServer, getKey: createLocalJWKSet(mcpServer.config.jwks) });
    }
  }

  // The digest is looked up by its first bytes and then compared in constant time, so that neither step tells how much of
  // a guessed key was right.
  function byApiKey(bearer: string): RegisteredMcpServer | undefined {
    const digest = hash('sha256', bearer, 'buffer');
    const entry = byPrefix.get(prefixOf(digest))?.find(candidate => timingSafeEqual(candidate.digest, digest));
    return entry !== undefined && entry.expiresAt > p.now() ? entry.mcpServer : undefined;
  }

  async function byJwt(bearer: string): Promise<RegisteredMcpServer | undefined> {
    try {
      const keySet = keySets.get(decodeJwt(bearer).iss ?? '');
      if (keySet === undefined) return undefined;
      const { mcpServerId } = keySet.mcpServer;
      const { payload } = await jwtVerify(bearer, keySet.getKey, {
        algorithms: ALGORITHMS,
        issuer: mcpServerId,
        subject: mcpServerId,
        audience: p.audience,
        requiredClaims: ['exp', 'iat'],
        maxTokenAge: MAX_JWT_LIFETIME_SECONDS,
        clockTolerance: 30,
        currentDate: new Date(p.now()),
      });
      // One that is made for others too could be sent on by them.
      if ([payload.aud].flat().length !== 1) return undefined;
      const lifetime = (payload.exp ?? 0) - (payload.iat ?? 0);
      return lifetime <= MAX_JWT_LIFETIME_SECONDS ? keySet.mcpServer : undefined;
    } catch (error) {
      // Every way in which a JWT can be wrong is the same answer; anything else is our own fault and goes on.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  return {
    async identify(bearer) {
      return byApiKey(bearer) ?? (keySets.size > 0 && bearer.split('.').length === 3 ? await byJwt(bearer) : undefined);
    },
  };
}

const prefixOf = (digest: Buffer): string => digest.subarray(0, 8).toString('latin1');
