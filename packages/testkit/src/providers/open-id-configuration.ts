import { createHash, randomBytes } from 'node:crypto';
import { type ClientAuthMethod, type ClientMetadata, type Configuration, errors } from '@postern/openid-server';
import type { OpenIdProviderOptions, ProviderSwitches, TestClient } from './open-id-provider-options.ts';
import type { TestAccount } from './test-account.ts';

const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

/** Returns what a test provider configures beyond, or instead of, the basic configuration. */
export function configurationOf(p: {
  options: OpenIdProviderOptions;
  switches: ProviderSwitches;
  accounts: readonly TestAccount[];
  devicePages: NonNullable<Configuration['features']>['deviceFlow'];
  adapter: Configuration['adapter'];
  rotates: (refreshToken: string) => boolean;
}): Configuration {
  const { options, switches } = p;
  const scopes = ['openid', 'offline_access', 'profile', 'email', ...(options.scopes ?? [])];
  const { clientIdMetadataDocuments } = options;

  return {
    adapter: p.adapter,
    clients: options.clients.map(oauthClient => registration(oauthClient, options)),
    scopes,
    claims: {
      openid: ['sub', 'tid', 'oid'],
      profile: ['name', 'preferred_username', 'groups'],
      email: ['email', 'email_verified'],
    },
    conformIdTokenClaims: options.profileInIdToken === false,
    subjectTypes: [options.pairwise ? 'pairwise' : 'public'],
    pairwiseIdentifier: (_, accountId, oauthClient) => pairwiseSubject(accountId, oauthClient.clientId),
    extraTokenClaims: (_, token) => {
      const account = 'accountId' in token ? p.accounts.find(({ sub }) => sub === token.accountId) : undefined;
      return account && { tid: account.tid, oid: account.oid };
    },
    rotateRefreshToken: context => p.rotates(String(context.oidc.params?.['refresh_token'])),
    issueRefreshToken: (_, oauthClient) =>
      oauthClient.grantTypeAllowed('refresh_token') && switches.refreshTokens !== 'no-refresh',
    assertJwtClientAuthClaimsAndHeader: (context, claims) => {
      if (switches.assertionAudience === 'issuer' && claims['aud'] !== context.oidc.issuer) {
        throw new errors.InvalidClientAuth('the issuer must be the only audience');
      }
    },
    // Codes outlive the slowest test on a busy machine.
    ttl: { AccessToken: () => switches.accessTokenTtlSeconds, AuthorizationCode: 600 },
    ...(clientIdMetadataDocuments && {
      fetch: input => clientIdMetadataDocuments(new URL(input instanceof Request ? input.url : input)),
    }),
    features: {
      introspection: { enabled: true, allowedPolicy: () => true },
      ...(options.claimsParameter === true && { claimsParameter: { enabled: true } }),
      backchannelLogout: { enabled: true },
      ...(options.revocation === 'off' && { revocation: { enabled: false } }),
      pushedAuthorizationRequests: {
        enabled: options.pushedAuthorization === 'offered' || options.pushedAuthorization === 'required',
        requirePushedAuthorizationRequests: options.pushedAuthorization === 'required',
      },
      dPoP: {
        enabled: options.dpop === 'offered',
        nonceSecret: randomBytes(32),
        requireNonce: () => switches.dpopNonce,
      },
      deviceFlow: { enabled: options.deviceFlow === true, ...p.devicePages },
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

export function pairwiseSubject(accountId: string, clientId: string): string {
  return createHash('sha256').update(`${clientId} ${accountId}`).digest('base64url');
}
