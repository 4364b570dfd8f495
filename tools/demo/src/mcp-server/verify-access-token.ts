import type { EndpointAuth } from '@postern/mcp';
import { createRemoteJWKSet, errors, jwtVerify } from 'jose';
import { z } from 'zod';

const claimsSchema = z.object({
  sub: z.string().min(1),
  client_id: z.string(),
  scope: z.string().default(''),
  exp: z.number(),
});

/** Verifies access tokens of one identity provider for one MCP server: JWT access tokens, RFC 9068 section 4. */
export function createAccessTokenVerifier(p: {
  issuer: string;
  jwksUri: string;
  audience: string;
}): EndpointAuth['verifyToken'] {
  const keys = createRemoteJWKSet(new URL(p.jwksUri));
  return async token => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: p.issuer,
        audience: p.audience,
        typ: 'at+jwt',
        algorithms: ['ES256'],
      });
      const { sub, client_id, scope, exp } = claimsSchema.parse(payload);
      // `extra` names the user.
      return { token, clientId: client_id, scopes: scope.split(' '), expiresAt: exp, extra: { iss: p.issuer, sub } };
    } catch (error) {
      const isAboutToken = error instanceof z.ZodError || (error instanceof errors.JOSEError && !isAboutKeys(error));
      if (!isAboutToken) throw error;
      return undefined;
    }
  };
}

/** Whether fetching the key set failed, which says nothing about the token. */
function isAboutKeys({ code }: errors.JOSEError): boolean {
  return code === 'ERR_JOSE_GENERIC' || code === 'ERR_JWKS_TIMEOUT' || code === 'ERR_JWKS_INVALID';
}
