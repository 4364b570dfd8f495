import { errors, type OpenIdUser } from '@postern/openid-server';
import { HOST_CLIENT_ID, HOST_REDIRECT_PATH } from './host/registration.ts';
import { type DemoProvider, startProvider } from './start-provider.ts';

export const EXAMPLE_ID = 'Example ID';

/** The scope of access tokens for the demo's MCP server. */
export const MCP_SCOPE = 'mcp:tools';

export const employees: readonly OpenIdUser[] = [
  { sub: 'alice', name: 'Alice Example', email: 'alice@example.com' },
  { sub: 'bob', name: 'Bob Example', email: 'bob@example.com' },
];

/** Works for the gateway, not with it: the console knows its operators by this group. */
const OPERATORS = 'platform';
export const operator: OpenIdUser & { readonly groups: readonly string[] } = {
  sub: 'olivia',
  name: 'Olivia Operator',
  email: 'olivia@example.com',
  groups: [OPERATORS],
};

/** The configuration of the console that fits the groups of Example ID. */
export const consoleRoles = { claim: 'groups', operator: [OPERATORS] };

/** Lifetime of access tokens for the MCP server, in seconds: a working day. */
const ACCESS_TOKEN_TTL = 8 * 60 * 60;

interface OpenIdClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  readonly postLogoutRedirectUri: string;
}

/**
 * Starts the company's identity provider. Users sign in there for Postern, and it issues the access tokens (JWT, RFC 9068) that
 * MCP clients present to the MCP server. Unknown MCP clients may register themselves (RFC 7591).
 */
export async function startIdentityProvider(p: {
  port: number;
  mcpUrl: string;
  postern: OpenIdClient;
  /** The console is a client of its own. */
  console: OpenIdClient;
}): Promise<DemoProvider> {
  const signInClients = [
    [p.postern, 'Postern'],
    [p.console, 'Postern console'],
  ] as const;
  return await startProvider({
    port: p.port,
    brand: {
      name: EXAMPLE_ID,
      tagline: 'Accounts of Example Inc.',
      accent: '#1f4f8f',
      mark: '<circle cx="12" cy="8.5" r="3.5"/><path d="M5 20c.6-4 3.4-6 7-6s6.4 2 7 6"/>',
      scopeTexts: {
        openid: 'Know that it is you',
        profile: 'See your name',
        email: 'See your email address',
        [MCP_SCOPE]: 'Use the tools of Desk Helper in your name',
      },
    },
    front: {
      title: 'One sign-in for everyone at Example Inc.',
      body: `<p>Your colleagues use this account for all tools of the company.</p>
<ul class="rows">
${[...employees, operator].map(({ name, email }) => `<li><b>${name}</b><span>${email}</span></li>`).join('\n')}
</ul>
<p class="muted">An application that needs to know you sends you here. In this demo there are no passwords: you choose who you are.</p>`,
    },
    users: [...employees, operator],
    skipsConsent: id => signInClients.some(([{ clientId }]) => clientId === id),
    configuration: {
      claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
      clients: [
        ...signInClients.map(([{ clientId, clientSecret, redirectUri, postLogoutRedirectUri }, name]) => ({
          client_id: clientId,
          client_secret: clientSecret,
          client_name: name,
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: [postLogoutRedirectUri],
          grant_types: ['authorization_code'],
          // Approving a payment and acting in the console require a recent sign-in, so Postern needs `auth_time`.
          require_auth_time: true,
        })),
        {
          client_id: HOST_CLIENT_ID,
          client_name: 'Terminal Host',
          application_type: 'native',
          token_endpoint_auth_method: 'none',
          redirect_uris: [`http://127.0.0.1${HOST_REDIRECT_PATH}`],
          grant_types: ['authorization_code'],
        },
      ],
      ttl: { AccessToken: ACCESS_TOKEN_TTL },
      features: {
        registration: { enabled: true, initialAccessToken: false },
        resourceIndicators: {
          enabled: true,
          // MCP clients of revision 2025-03-26 name no resource.
          defaultResource: (_, oauthClient) =>
            signInClients.some(([{ clientId }]) => clientId === oauthClient.clientId) ? [] : p.mcpUrl,
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
    },
  });
}
