import { definePreset } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

export const auth0 = definePreset({
  name: 'auth0',
  displayName: 'Auth0',
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
    'For an access token to your own API set authorizationParameters: { audience: … }; without it the token is good for userinfo only.',
    'Refresh tokens need Allow Offline Access in the API. Describe the scopes of your API with scopeDescriptions.',
  ],
});
