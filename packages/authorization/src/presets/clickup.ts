import { definePreset } from './preset.ts';

export const clickup = definePreset({
  name: 'clickup',
  displayName: 'ClickUp',
  documentation: 'https://developer.clickup.com/docs/authentication',
  pkce: 'undocumented',
  scopes: {},
  provider: {
    authorizationEndpoint: 'https://app.clickup.com/api',
    tokenEndpoint: 'https://api.clickup.com/api/v2/oauth/token',
    userinfoEndpoint: 'https://api.clickup.com/api/v2/user',
    clientAuthentication: 'client_secret_post',
    tokenResponse: { tokenType: 'bearer' },
    account: { from: 'userinfo', idClaim: 'user.id', nameClaim: 'user.username' },
  },
  notes: [
    'There are no scopes: the user picks workspaces, and a token may do there what the user may do.',
    'Tokens do not expire, and there is neither a refresh token nor a revocation endpoint.',
  ],
});
