import { definePreset } from './preset.ts';

export const notion = definePreset({
  name: 'notion',
  displayName: 'Notion',
  documentation: 'https://developers.notion.com/docs/authorization',
  pkce: 'undocumented',
  scopes: {},
  provider: {
    authorizationEndpoint: 'https://api.notion.com/v1/oauth/authorize',
    tokenEndpoint: 'https://api.notion.com/v1/oauth/token',
    clientAuthentication: 'client_secret_basic',
    authorizationParameters: { owner: 'user' },
    // Absent members are null. Errors are documented as those of the API, with a code.
    tokenResponse: { errorMember: 'code' },
    account: { from: 'token_response', idClaim: 'owner.user.id', nameClaim: 'owner.user.name' },
  },
  notes: [
    'There are no scopes: what the integration may do is set in Notion, and the user picks the pages.',
    'A refresh replaces both tokens; each refresh token works once.',
    'The revocation endpoint demands a Notion-Version header, which cannot be configured; revocation is left out.',
    'The token endpoint is documented with a JSON body. That it takes form-encoded bodies was verified in client code.',
  ],
});
