import { definePreset } from './preset.ts';

export const box = definePreset({
  name: 'box',
  displayName: 'Box',
  mark: { letters: 'Bx', colour: '#0061d5' },
  documentation: 'https://developer.box.com/guides/authentication/oauth2/',
  pkce: 'undocumented',
  scopes: {
    root_readonly: 'see',
    root_readwrite: 'delete',
    manage_groups: 'change',
    manage_managed_users: 'change',
    manage_webhook: 'change',
    'sign_requests.readwrite': 'change',
  },
  provider: {
    apiHosts: ['api.box.com', 'upload.box.com'],
    authorizationEndpoint: 'https://account.box.com/api/oauth2/authorize',
    tokenEndpoint: 'https://api.box.com/oauth2/token',
    userinfoEndpoint: 'https://api.box.com/2.0/users/me',
    clientAuthentication: 'client_secret_post',
    scopeImplies: { root_readwrite: ['root_readonly'] },
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'login' },
    revocation: { endpoint: 'https://api.box.com/oauth2/revoke' },
  },
  notes: [
    'An MCP server that names no scopes gets all scopes of the app. Responses do not name scopes.',
    'Access tokens last about an hour. Each refresh token works once and expires after 60 days.',
  ],
});

export const docusign = definePreset({
  name: 'docusign',
  displayName: 'Docusign',
  mark: { letters: 'Ds', colour: '#4c00ff' },
  documentation: 'https://developers.docusign.com/platform/auth/authcode',
  pkce: 'documented',
  placeholders: {
    host: {
      kind: 'choice',
      choices: ['account.docusign.com', 'account-d.docusign.com'],
      help: 'account-d.docusign.com is the environment for developers',
      example: 'account-d.docusign.com',
      fallback: 'account.docusign.com',
    },
  },
  scopes: {
    signature: 'change',
    extended: 'see',
    impersonation: 'change',
    'click.manage': 'change',
    'click.send': 'change',
    organization_read: 'see',
    user_read: 'see',
    user_write: 'change',
  },
  provider: {
    authorizationEndpoint: 'https://{host}/oauth/auth',
    tokenEndpoint: 'https://{host}/oauth/token',
    userinfoEndpoint: 'https://{host}/oauth/userinfo',
    clientAuthentication: 'client_secret_basic',
    baseScopes: ['extended'],
    defaultScopes: ['signature'],
    account: { from: 'userinfo', idClaim: 'sub', nameClaim: 'email' },
  },
  notes: [
    'A tool finds its API host (base_uri) in the accounts of the userinfo response.',
    'Client code contains a revocation endpoint, but the available documentation does not. The preset has no revocation.',
  ],
});

export const dropbox = definePreset({
  name: 'dropbox',
  displayName: 'Dropbox',
  mark: { letters: 'Db', colour: '#0061ff' },
  documentation: 'https://developers.dropbox.com/oauth-guide',
  pkce: 'documented',
  scopes: {
    'account_info.read': 'see',
    'account_info.write': 'change',
    'files.metadata.read': 'see',
    'files.metadata.write': 'change',
    'files.content.read': 'see',
    'files.content.write': 'delete',
    'sharing.read': 'see',
    'sharing.write': 'change',
    'file_requests.read': 'see',
    'file_requests.write': 'change',
    'contacts.read': 'see',
    'contacts.write': 'delete',
  },
  provider: {
    apiHosts: ['api.dropboxapi.com', 'content.dropboxapi.com', 'notify.dropboxapi.com'],
    authorizationEndpoint: 'https://www.dropbox.com/oauth2/authorize',
    tokenEndpoint: 'https://api.dropboxapi.com/oauth2/token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['account_info.read'],
    incrementalScopes: true,
    authorizationParameters: { token_access_type: 'offline', include_granted_scopes: 'user' },
    scopeImplies: {
      'files.metadata.write': ['files.metadata.read'],
      'files.content.read': ['files.metadata.read'],
      'files.content.write': ['files.metadata.read'],
    },
    account: { from: 'token_response', idClaim: 'account_id' },
    revocation: {
      endpoint: 'https://api.dropboxapi.com/2/auth/token/revoke',
      style: 'custom',
      method: 'POST',
      body: 'none',
      token: 'access_token',
      authentication: 'bearer',
      reach: 'connection',
    },
  },
  notes: [
    'Access tokens last four hours; the refresh token stays the same until it is revoked.',
    'Revoking an access token also revokes its refresh token.',
    'Each scope must also be selected for the app.',
  ],
});

export const notion = definePreset({
  name: 'notion',
  displayName: 'Notion',
  mark: { letters: 'Nt', colour: '#191919' },
  documentation: 'https://developers.notion.com/docs/authorization',
  pkce: 'undocumented',
  scopes: {},
  provider: {
    apiHosts: ['api.notion.com'],
    authorizationEndpoint: 'https://api.notion.com/v1/oauth/authorize',
    tokenEndpoint: 'https://api.notion.com/v1/oauth/token',
    clientAuthentication: 'client_secret_basic',
    authorizationParameters: { owner: 'user' },
    // Absent members are null. According to the documentation, errors have the same form as API errors, with a code.
    tokenResponse: { errorMember: 'code' },
    account: { from: 'token_response', idClaim: 'owner.user.id', nameClaim: 'owner.user.name' },
  },
  notes: [
    'There are no scopes. The settings in Notion determine the permissions of the integration, and the user selects the pages.',
    'A refresh replaces both tokens; each refresh token works once.',
    'The revocation endpoint requires a Notion-Version header, which cannot be configured. The preset has no revocation.',
    'The documentation of the token endpoint shows a JSON body. We verified in client code that it accepts form-encoded bodies.',
  ],
});
