import './oidc/hush-runtime-warning.ts';
import { errors } from 'oidc-provider';
import { HOST_CLIENT_ID, HOST_REDIRECT_PATH } from './host/registration.ts';
import { type OidcServer, startOidcServer } from './oidc/oidc-server.ts';
import type { Person } from './oidc/person.ts';

export const EXAMPLE_ID = 'Example ID';

/** The scope of access tokens for the demo's MCP server. */
export const MCP_SCOPE = 'mcp:tools';

export const employees: readonly Person[] = [
  { id: 'alice', name: 'Alice Example', email: 'alice@example.com' },
  { id: 'bob', name: 'Bob Example', email: 'bob@example.com' },
];

/** Lifetime of access tokens for the MCP server, in seconds: a working day. */
const ACCESS_TOKEN_TTL = 8 * 60 * 60;

/**
 * The company's identity provider. It signs people in for Postern, and issues the access tokens (JWT, RFC 9068) that MCP
 * clients present to the MCP server. MCP clients it does not know may register themselves (RFC 7591).
 */
export async function startIdentityProvider(p: {
  port: number;
  mcpUrl: string;
  postern: { clientId: string; clientSecret: string; redirectUri: string };
}): Promise<OidcServer> {
  return await startOidcServer({
    port: p.port,
    brand: {
      name: EXAMPLE_ID,
      tagline: 'The identity provider of Example Inc.',
      accent: '#1f4f8f',
      scopeTexts: {
        openid: 'know that it is you',
        profile: 'see your name',
        email: 'see your e-mail address',
        [MCP_SCOPE]: 'use the tools of the MCP server in your name',
      },
    },
    people: employees,
    houseClientIds: [p.postern.clientId],
    oauthClients: [
      {
        client_id: p.postern.clientId,
        client_secret: p.postern.clientSecret,
        client_name: 'Postern',
        redirect_uris: [p.postern.redirectUri],
        grant_types: ['authorization_code'],
        // A payment is approved only by somebody who signed in recently, so Postern has to know when that was.
        require_auth_time: true,
      },
      {
        client_id: HOST_CLIENT_ID,
        client_name: 'Terminal Host',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: [`http://127.0.0.1${HOST_REDIRECT_PATH}`],
        grant_types: ['authorization_code'],
      },
    ],
    accessTokenTtl: ACCESS_TOKEN_TTL,
    features: {
      registration: { enabled: true, initialAccessToken: false },
      resourceIndicators: {
        enabled: true,
        // Also for MCP clients of revision 2025-03-26, which did not name a resource yet.
        defaultResource: (_, oauthClient) => (oauthClient.clientId === p.postern.clientId ? [] : p.mcpUrl),
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => {
          if (resource !== p.mcpUrl) throw new errors.InvalidTarget();
          return {
            scope: MCP_SCOPE,
            audience: p.mcpUrl,
            accessTokenTTL: ACCESS_TOKEN_TTL,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256' } },
          };
        },
      },
    },
  });
}
