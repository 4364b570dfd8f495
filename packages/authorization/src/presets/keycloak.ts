import { definePreset } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

export const keycloak = definePreset({
  name: 'keycloak',
  displayName: 'Keycloak',
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
    'Releases before 17, and those with a relative path, have another issuer; write it as issuer, it wins over the preset.',
    'offline_access needs the role of that name for the user; without the scope the connection ends with the sign-in session.',
  ],
});
