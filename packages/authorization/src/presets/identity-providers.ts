import { definePreset, standardScopes } from './preset.ts';

export const auth0 = definePreset({
  name: 'auth0',
  displayName: 'Auth0',
  mark: { letters: 'A0', colour: '#eb5424' },
  documentation: 'https://auth0.com/docs/get-started/authentication-and-authorization-flow/authorization-code-flow',
  pkce: 'documented',
  placeholders: {
    domain: { kind: 'host', help: 'Domain of your tenant, or your custom domain', example: 'acme.eu.auth0.com' },
  },
  scopes: standardScopes('openid', 'profile', 'email', 'offline_access'),
  provider: {
    // With the slash: issuers are compared as strings.
    issuer: 'https://{domain}/',
    discovery: 'oidc',
    baseScopes: ['openid', 'profile', 'offline_access'],
    account: { from: 'id_token', idClaim: 'sub', nameClaim: 'name' },
  },
  notes: [
    'For an access token to your own API, set authorizationParameters: { audience: … }. Without it, the token is valid only for userinfo.',
    'Refresh tokens need the setting Allow Offline Access of the API. Describe the scopes of your API with scopeDescriptions.',
  ],
});

export const keycloak = definePreset({
  name: 'keycloak',
  displayName: 'Keycloak',
  mark: { letters: 'Kc', colour: '#4d4d4d' },
  documentation: 'https://www.keycloak.org/securing-apps/oidc-layers',
  pkce: 'documented',
  placeholders: {
    host: { kind: 'host', port: true, help: 'Host of your Keycloak', example: 'id.acme.example' },
    realm: { kind: 'slug', help: 'Name of the realm', example: 'acme' },
  },
  scopes: standardScopes('openid', 'profile', 'email', 'offline_access'),
  provider: {
    issuer: 'https://{host}/realms/{realm}',
    discovery: 'oidc',
    baseScopes: ['openid', 'profile', 'offline_access'],
    account: { from: 'id_token', idClaim: 'sub', nameClaim: 'preferred_username' },
  },
  notes: [
    'Releases before 17, and installations with a relative path, have another issuer. Set issuer, which takes precedence over the preset.',
    'offline_access requires that the user has the role offline_access. Without this scope, the connection ends with the sign-in session.',
  ],
});

const oktaDocumentation = 'https://developer.okta.com/docs/guides/implement-grant-type/authcode/main/';
const oktaDomain = { kind: 'host', help: 'Domain of your organisation at Okta', example: 'acme.okta.com' } as const;
const oktaScopes = standardScopes('openid', 'profile', 'email', 'offline_access');
const oktaBaseScopes = ['openid', 'profile', 'offline_access'];
const oktaAccount = { from: 'id_token', idClaim: 'sub', nameClaim: 'preferred_username' } as const;

/** A custom authorization server: protects your own APIs. */
export const okta = definePreset({
  name: 'okta',
  displayName: 'Okta',
  mark: { letters: 'Ot', colour: '#007dc1' },
  documentation: oktaDocumentation,
  pkce: 'documented',
  placeholders: {
    domain: oktaDomain,
    authorizationServer: {
      kind: 'slug',
      help: 'Id of the custom authorization server',
      example: 'aus1a2b3c4d5e6f7g8h9',
      fallback: 'default',
    },
  },
  scopes: oktaScopes,
  provider: {
    issuer: 'https://{domain}/oauth2/{authorizationServer}',
    discovery: 'oidc',
    baseScopes: oktaBaseScopes,
    account: oktaAccount,
  },
  notes: [
    'Refresh tokens need the grant type Refresh Token in the app. With rotation, each works once.',
    'You define the scopes at the authorization server. Describe them with scopeDescriptions.',
  ],
});

/** The authorization server of the organisation: protects the API of Okta itself. */
export const oktaOrg = definePreset({
  name: 'okta-org',
  displayName: 'Okta',
  mark: { letters: 'Ot', colour: '#007dc1' },
  documentation: 'https://developer.okta.com/docs/guides/implement-oauth-for-okta/main/',
  pkce: 'documented',
  placeholders: { domain: oktaDomain },
  scopeDocumentation: 'https://developer.okta.com/docs/api/oauth2/',
  scopes: {
    ...oktaScopes,
    'okta.users.read': 'see',
    'okta.users.manage': 'delete',
    'okta.users.read.self': 'see',
    'okta.users.manage.self': 'change',
    'okta.groups.read': 'see',
    'okta.groups.manage': 'delete',
    'okta.apps.read': 'see',
    'okta.apps.manage': 'delete',
    'okta.logs.read': 'see',
    'okta.policies.read': 'see',
  },
  provider: {
    apiHosts: ['{domain}'],
    issuer: 'https://{domain}',
    discovery: 'oidc',
    baseScopes: oktaBaseScopes,
    defaultScopes: ['okta.users.read.self'],
    account: oktaAccount,
  },
  notes: ['Scopes of the Okta API must be granted to the app. For most of them, the user must be an administrator.'],
});
