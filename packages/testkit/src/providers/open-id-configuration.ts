import { createHash, randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import {
  type AdapterFactory,
  type ClientAuthMethod,
  type ClientMetadata,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { devicePages } from './device-pages.ts';
import type { OpenIdProviderOptions, ProviderSwitches, TestClient } from './open-id-provider-options.ts';
import { errorPage } from './provider-pages.ts';
import { claimsOf, type TestUser } from './test-user.ts';

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

const day = 24 * 60 * 60;

export async function configuration(p: {
  options: OpenIdProviderOptions;
  switches: ProviderSwitches;
  users: readonly TestUser[];
  port: number;
  adapter: AdapterFactory;
  rotates: (refreshToken: string) => boolean;
}): Promise<Configuration> {
  const { options, switches, users, port } = p;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const scopes = ['openid', 'offline_access', 'profile', 'email', ...(options.scopes ?? [])];
  const user = (accountId: string | undefined) => users.find(({ sub }) => sub === accountId);
  const { clientIdMetadataDocuments } = options;

  return {
    adapter: p.adapter,
    clients: options.clients.map(oauthClient => registration(oauthClient, options)),
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: `key-of-${port}` }] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    scopes,
    claims: {
      openid: ['sub', 'tid', 'oid'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
    },
    conformIdTokenClaims: options.profileInIdToken === false,
    subjectTypes: [options.pairwise ? 'pairwise' : 'public'],
    pairwiseIdentifier: (_, accountId, oauthClient) => pairwiseSubject(accountId, oauthClient.clientId),
    findAccount: (_, accountId) => {
      const account = user(accountId);
      return account && { accountId, claims: () => ({ sub: accountId, ...claimsOf(account) }) };
    },
    extraTokenClaims: (_, token) => {
      const account = 'accountId' in token ? user(token.accountId) : undefined;
      return account && { tid: claimsOf(account).tid, oid: claimsOf(account).oid };
    },
    // Cookies are shared between ports of a host, and tests run several providers at once.
    cookies: {
      names: { session: `session-${port}`, interaction: `interaction-${port}`, resume: `resume-${port}` },
      keys: ['cookie key of a test provider'],
    },
    pkce: { required: () => false },
    rotateRefreshToken: context => p.rotates(String(context.oidc.params?.['refresh_token'])),
    expiresWithSession: () => false,
    issueRefreshToken: (_, oauthClient) =>
      oauthClient.grantTypeAllowed('refresh_token') && switches.refreshTokens !== 'no-refresh',
    assertJwtClientAuthClaimsAndHeader: (context, claims) => {
      if (switches.assertionAudience === 'issuer' && claims['aud'] !== context.oidc.issuer) {
        throw new errors.InvalidClientAuth('the issuer must be the only audience');
      }
    },
    ttl: {
      AccessToken: () => switches.accessTokenTtlSeconds,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Grant: 14 * day,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 14 * day,
      Session: 14 * day,
    },
    interactions: { policy: promptPolicy(), url: (_, interaction) => `/interaction/${interaction.uid}` },
    ...(options.consent === 'skip' && { loadExistingGrant: grantEverything }),
    renderError: (context, out) => {
      context.type = 'html';
      context.body = errorPage(out.error);
    },
    ...(clientIdMetadataDocuments && {
      fetch: input => clientIdMetadataDocuments(new URL(input instanceof Request ? input.url : input)),
    }),
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: {
        enabled: options.revocation !== 'off',
        allowedPolicy: (_, oauthClient, token) => token.clientId === oauthClient.clientId,
      },
      pushedAuthorizationRequests: {
        enabled: options.pushedAuthorization === 'offered' || options.pushedAuthorization === 'required',
        requirePushedAuthorizationRequests: options.pushedAuthorization === 'required',
      },
      dPoP: {
        enabled: options.dpop === 'offered',
        nonceSecret: randomBytes(32),
        requireNonce: () => switches.dpopNonce,
      },
      deviceFlow: { enabled: options.deviceFlow === true, ...devicePages },
      ...(typeof options.registration === 'object' || options.registration === 'open'
        ? {
            registration: {
              enabled: true,
              initialAccessToken:
                typeof options.registration === 'object' ? options.registration.initialAccessToken : false,
            },
            registrationManagement: { enabled: true },
          }
        : {}),
      ...(clientIdMetadataDocuments && { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } }),
      resourceIndicators: {
        enabled: true,
        defaultResource: (_, oauthClient, oneOf) =>
          (Array.isArray(oneOf) ? oneOf[0] : oneOf) ??
          options.clients.find(({ clientId }) => clientId === oauthClient?.clientId)?.defaultResource ??
          [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: scopes.join(' '),
          audience: resource,
          accessTokenTTL: switches.accessTokenTtlSeconds,
          accessTokenFormat: switches.accessTokenFormat,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}

function registration(oauthClient: TestClient, { deviceFlow }: OpenIdProviderOptions): ClientMetadata {
  const { clientId, clientSecret, redirectUris, name, metadata, jwks, dpopBound } = oauthClient;
  return {
    client_id: clientId,
    redirect_uris: [...redirectUris],
    response_types: redirectUris.length > 0 ? ['code'] : [],
    grant_types: [
      ...(redirectUris.length > 0 ? ['authorization_code'] : []),
      'refresh_token',
      ...(deviceFlow ? [deviceGrantType] : []),
    ],
    token_endpoint_auth_method: authenticationOf(oauthClient),
    ...(name !== undefined && { client_name: name }),
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
    ...(jwks && { jwks: { keys: jwks.keys.map(key => ({ ...key })) } }),
    ...(dpopBound && { dpop_bound_access_tokens: true }),
    ...metadata,
  } as ClientMetadata;
}

function authenticationOf({ authentication, clientSecret, jwks }: TestClient): ClientAuthMethod {
  if (authentication !== undefined) return authentication;
  if (clientSecret !== undefined) return 'client_secret_basic';
  return jwks ? 'private_key_jwt' : 'none';
}

async function grantEverything(context: KoaContextWithOIDC) {
  const { oidc } = context;
  const clientId = oidc.client?.clientId;
  const grantId =
    oidc.result?.consent?.grantId ?? (clientId === undefined ? undefined : oidc.session?.grantIdFor(clientId));
  const known = grantId === undefined ? undefined : await oidc.provider.Grant.find(grantId);
  const grant = known ?? new oidc.provider.Grant({ accountId: oidc.session?.accountId, clientId });
  grant.addOIDCScope([...oidc.requestParamOIDCScopes]);
  for (const resource of Object.keys(oidc.resourceServers ?? {})) {
    grant.addResourceScope(resource, [...oidc.requestParamScopes]);
  }
  await grant.save();
  return grant;
}

export function pairwiseSubject(accountId: string, clientId: string): string {
  return createHash('sha256').update(`${clientId} ${accountId}`).digest('base64url');
}

/** The policy of oidc-provider, where a sign-in of this very second would satisfy `max_age=0`. Core 3.1.2.1 means a new one. */
function promptPolicy() {
  const policy = interactionPolicy.base();
  const isMissing = ({ oidc }: KoaContextWithOIDC) =>
    Number(oidc.params?.['max_age'] ?? 1) === 0 && !oidc.result?.login;
  policy.get('login')?.checks.add(new interactionPolicy.Check('max_age_0', 'a new sign-in is asked for', isMissing));
  return policy;
}
