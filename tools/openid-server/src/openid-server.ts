import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { type Configuration, interactionPolicy, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { interactions, type Middleware } from './interactions.ts';
import { createMemoryAdapter } from './memory-adapter.ts';
import type { OpenIdUser } from './openid-user.ts';
import { type Brand, brandedPage, errorPage, logoutPage, pageHeaders } from './pages.ts';

export interface OpenIdServerOptions {
  readonly issuer: string;
  readonly brand: Brand;
  readonly users: readonly OpenIdUser[];
  /** Whether this client gets the scopes that it requests without the user's consent. */
  readonly skipsConsent?: (clientId: string) => boolean;
  /** The clients, and members that replace those of the basic configuration; `ttl` and `features` are merged with its own. */
  readonly configuration: Configuration;
  /** Handles requests before the OpenID provider and its pages do. */
  readonly around?: (provider: Provider) => Middleware;
}

const DAY = 24 * 60 * 60;

/** Lifetimes in seconds. */
const ttl = {
  AuthorizationCode: 60,
  DeviceCode: 600,
  Grant: 14 * DAY,
  IdToken: 3600,
  Interaction: 3600,
  RefreshToken: 14 * DAY,
  Session: 14 * DAY,
};

/** Returns an OpenID provider (oidc-provider) with storage in memory and pages for users. The caller listens. */
export async function createOpenIdServer(options: OpenIdServerOptions): Promise<Provider> {
  const { issuer, brand, users, around } = options;
  const provider = new Provider(issuer, await configurationOf(options));
  if (around !== undefined) provider.use(around(provider));
  provider.use(interactions({ provider, brand, users }));
  return provider;
}

async function configurationOf(options: OpenIdServerOptions): Promise<Configuration> {
  const { brand, users, skipsConsent = () => false, configuration } = options;
  const { port } = new URL(options.issuer);
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return {
    adapter: createMemoryAdapter(),
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: `key-of-${port}` }] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    scopes: [...new Set(['openid', 'profile', 'email', ...Object.keys(brand.scopeTexts)])],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_, accountId) => {
      const user = users.find(({ sub }) => sub === accountId);
      return user && { accountId, claims: () => ({ ...user, email_verified: true }) };
    },
    // Cookies do not know ports: all providers on one host share them, so the names must differ.
    cookies: {
      names: { session: `session-${port}`, interaction: `interaction-${port}`, resume: `resume-${port}` },
      keys: [randomBytes(32).toString('base64url')],
    },
    responseTypes: ['code'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    issueRefreshToken: (_, oauthClient) => oauthClient.grantTypeAllowed('refresh_token'),
    interactions: { policy: promptPolicy(), url: (_, interaction) => `/interaction/${interaction.uid}` },
    loadExistingGrant: context => existingGrant(context, skipsConsent),
    renderError: (context, { error }) => {
      context.set(pageHeaders(brand));
      context.body = errorPage(brand, error);
    },
    ...configuration,
    ttl: { ...ttl, ...configuration.ttl },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_, oauthClient, token) => token.clientId === oauthClient.clientId },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource(context, form) {
          context.set(pageHeaders(brand));
          context.body = logoutPage(brand, form);
        },
        postLogoutSuccessSource(context) {
          context.set(pageHeaders(brand));
          context.body = brandedPage(brand, 'You are signed out', '<p>You can close this window.</p>');
        },
      },
      ...configuration.features,
    },
  };
}

/** Returns the grant of this browser's user for the client, extended by all requested scopes if the client skips consent. */
async function existingGrant({ oidc }: KoaContextWithOIDC, skipsConsent: (clientId: string) => boolean) {
  const clientId = oidc.client?.clientId;
  if (clientId === undefined) return undefined;
  const grantId = oidc.result?.consent?.grantId ?? oidc.session?.grantIdFor(clientId);
  const known = grantId === undefined ? undefined : await oidc.provider.Grant.find(grantId);
  if (!skipsConsent(clientId)) return known;

  const grant = known ?? new oidc.provider.Grant({ accountId: oidc.session?.accountId, clientId });
  grant.addOIDCScope([...oidc.requestParamOIDCScopes]);
  for (const resource of Object.keys(oidc.resourceServers ?? {})) {
    grant.addResourceScope(resource, [...oidc.requestParamScopes]);
  }
  await grant.save();
  return grant;
}

/**
 * The policy of oidc-provider, except that `max_age=0` always requires a new sign-in (OpenID Connect Core section 3.1.2.1):
 * oidc-provider accepts one of the same second.
 */
function promptPolicy() {
  const policy = interactionPolicy.base();
  const isMissing = ({ oidc }: KoaContextWithOIDC) =>
    Number(oidc.params?.['max_age'] ?? 1) === 0 && !oidc.result?.login;
  policy.get('login')?.checks.add(new interactionPolicy.Check('max_age_0', 'a new sign-in is required', isMissing));
  return policy;
}
