import { definePreset, type PresetMembers, type PresetScopes, standardScopes } from './preset.ts';

const githubDocumentation = 'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps';

const githubScopes: PresetScopes = {
  repo: 'delete',
  'repo:status': 'change',
  repo_deployment: 'delete',
  public_repo: 'delete',
  'repo:invite': 'change',
  security_events: 'delete',
  'admin:repo_hook': 'delete',
  'write:repo_hook': 'change',
  'read:repo_hook': 'see',
  'admin:org': 'delete',
  'write:org': 'change',
  'read:org': 'see',
  gist: 'delete',
  notifications: 'change',
  user: 'change',
  'read:user': 'see',
  'user:email': 'see',
  'user:follow': 'change',
  project: 'delete',
  'read:project': 'see',
  delete_repo: 'delete',
  'write:packages': 'change',
  'read:packages': 'see',
  'delete:packages': 'delete',
  workflow: 'change',
  codespace: 'delete',
};

/** GitHub omits a scope from its response if a wider one is granted. */
const githubScopeImplies = {
  repo: ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events'],
  'admin:repo_hook': ['write:repo_hook', 'read:repo_hook'],
  'write:repo_hook': ['read:repo_hook'],
  'admin:org': ['write:org', 'read:org'],
  'write:org': ['read:org'],
  user: ['read:user', 'user:email', 'user:follow'],
  project: ['read:project'],
  'write:packages': ['read:packages'],
};

const githubApiHosts = ['api.github.com', 'uploads.github.com'];

/** The members shared by github.com and GitHub Enterprise Server, which differ only in their hosts. */
function githubMembers(web: string, api: string, apiHosts: string[]) {
  return {
    apiHosts,
    authorizationEndpoint: `${web}/login/oauth/authorize`,
    tokenEndpoint: `${web}/login/oauth/access_token`,
    deviceAuthorizationEndpoint: `${web}/login/device/code`,
    userinfoEndpoint: `${api}/user`,
    clientAuthentication: 'client_secret_post',
    // Errors always have status 200.
    tokenResponse: { refusedErrors: ['bad_refresh_token'] },
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'login' },
    // Revokes the token only: deleting the grant would also end the connections of other MCP servers with the same app.
    revocation: {
      endpoint: `${api}/applications/{clientId}/token`,
      style: 'custom',
      method: 'DELETE',
      body: 'json',
      parameter: 'access_token',
      token: 'access_token',
      authentication: 'basic',
      unknownTokenStatuses: [404],
    },
  } as const satisfies PresetMembers;
}

/** An OAuth app: classic scopes, tokens that last until they are revoked. */
export const github = definePreset({
  name: 'github',
  displayName: 'GitHub',
  mark: { letters: 'GH', colour: '#24292f' },
  documentation: githubDocumentation,
  pkce: 'documented',
  scopeDocumentation: 'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps',
  scopes: githubScopes,
  provider: {
    ...githubMembers('https://github.com', 'https://api.github.com', githubApiHosts),
    scopeImplies: githubScopeImplies,
    defaultScopes: ['read:user'],
  },
  notes: [
    'Tokens do not expire. GitHub deletes tokens that were unused for a year. It keeps at most ten tokens for the same user, app and scopes, and deletes the oldest.',
    'Revocation deletes the token. The app stays in the GitHub settings of the user until the user removes it there.',
    'Revocation needs the client secret. For an app without a client secret, set revocation: null.',
  ],
});

/** A GitHub App that acts for a user. The app and its installations determine the permissions. There are no scopes. */
export const githubApp = definePreset({
  name: 'github-app',
  displayName: 'GitHub',
  mark: { letters: 'GH', colour: '#24292f' },
  documentation:
    'https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app',
  pkce: 'documented',
  scopes: {},
  provider: githubMembers('https://github.com', 'https://api.github.com', githubApiHosts),
  notes: [
    'There are no scopes. A token has the permissions that both the app and the user have.',
    'With expiring user tokens in the app, access tokens last 8 hours and refresh tokens 6 months. Each refresh token works once.',
    'Postern revokes the access token. We could not verify whether this also revokes the refresh token.',
  ],
});

export const githubEnterprise = definePreset({
  name: 'github-enterprise',
  displayName: 'GitHub Enterprise',
  mark: { letters: 'GE', colour: '#24292f' },
  documentation: githubDocumentation,
  pkce: 'undocumented',
  placeholders: {
    host: { kind: 'host', port: true, help: 'Host of your GitHub Enterprise Server', example: 'github.acme.example' },
  },
  scopeDocumentation:
    'https://docs.github.com/en/enterprise-server/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps',
  scopes: githubScopes,
  provider: {
    ...githubMembers('https://{host}', 'https://{host}/api/v3', ['{host}']),
    scopeImplies: githubScopeImplies,
    defaultScopes: ['read:user'],
  },
  notes: ['Only newer releases of the server check S256. Older ones ignore the challenge.'],
});

export const gitlab = definePreset({
  name: 'gitlab',
  displayName: 'GitLab',
  mark: { letters: 'GL', colour: '#fc6d26' },
  documentation: 'https://docs.gitlab.com/api/oauth2/',
  pkce: 'documented',
  placeholders: {
    host: {
      kind: 'host',
      port: true,
      help: 'Host of your GitLab, if it is not gitlab.com',
      example: 'gitlab.acme.example',
      fallback: 'gitlab.com',
    },
  },
  scopeDocumentation: 'https://docs.gitlab.com/integration/oauth_provider/',
  scopes: {
    ...standardScopes('openid', 'profile', 'email'),
    api: 'delete',
    read_api: 'see',
    read_user: 'see',
    read_repository: 'see',
    write_repository: 'delete',
    read_registry: 'see',
    write_registry: 'change',
    create_runner: 'change',
    manage_runner: 'delete',
    k8s_proxy: 'delete',
    ai_features: 'change',
  },
  provider: {
    apiHosts: ['{host}'],
    issuer: 'https://{host}',
    discovery: 'oidc',
    baseScopes: ['openid', 'profile'],
    defaultScopes: ['read_user'],
    scopeImplies: { api: ['read_api', 'read_user'], read_api: ['read_user'], write_repository: ['read_repository'] },
    account: { from: 'id_token', idClaim: 'sub', nameClaim: 'nickname' },
  },
  notes: [
    'Select openid and profile for the application in GitLab, in addition to the scopes that tools need.',
    'If the metadata of a self-managed GitLab does not mention PKCE, set allowMissingPkceMetadata. Otherwise Postern refuses the provider.',
    'Access tokens last two hours. A refresh replaces both tokens, and the old ones stop working immediately.',
  ],
});

/** Jira and Confluence Cloud (3LO). */
export const atlassian = definePreset({
  name: 'atlassian',
  displayName: 'Atlassian',
  mark: { letters: 'Al', colour: '#0052cc' },
  documentation: 'https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/',
  pkce: 'undocumented',
  scopeDocumentation: 'https://developer.atlassian.com/cloud/jira/platform/scopes-for-oauth-2-3LO-and-forge-apps/',
  scopes: {
    ...standardScopes('offline_access'),
    'read:me': 'see',
    'read:account': 'see',
    'read:jira-work': 'see',
    'write:jira-work': 'delete',
    'read:jira-user': 'see',
    'manage:jira-project': 'delete',
    'manage:jira-configuration': 'delete',
    'manage:jira-webhook': 'change',
    'read:servicedesk-request': 'see',
    'write:servicedesk-request': 'change',
    'read:confluence-content.all': 'see',
    'read:confluence-content.summary': 'see',
    'read:confluence-space.summary': 'see',
    'write:confluence-content': 'delete',
    'write:confluence-file': 'change',
    'search:confluence': 'see',
    'read:confluence-user': 'see',
  },
  provider: {
    apiHosts: ['api.atlassian.com'],
    authorizationEndpoint: 'https://auth.atlassian.com/authorize',
    tokenEndpoint: 'https://auth.atlassian.com/oauth/token',
    userinfoEndpoint: 'https://api.atlassian.com/me',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['offline_access', 'read:me'],
    defaultScopes: ['read:jira-work'],
    authorizationParameters: { audience: 'api.atlassian.com', prompt: 'consent' },
    // The error for a used or expired refresh token.
    tokenResponse: { refusedErrors: ['unauthorized_client'] },
    account: { from: 'userinfo', idClaim: 'account_id', nameClaim: 'email' },
  },
  notes: [
    'Add the User identity API (read:me) to the app, in addition to the APIs that tools need.',
    'Each refresh token works once and expires after 90 days without use. There is no revocation endpoint.',
    'Tools must first request https://api.atlassian.com/oauth/token/accessible-resources for the site.',
    'The error unauthorized_client means that the refresh token is no longer valid. We verified this in client code, not in the documentation.',
  ],
});

/** Bitbucket Cloud. */
export const bitbucket = definePreset({
  name: 'bitbucket',
  displayName: 'Bitbucket',
  mark: { letters: 'Bb', colour: '#2684ff' },
  documentation: 'https://support.atlassian.com/bitbucket-cloud/docs/use-oauth-on-bitbucket-cloud/',
  pkce: 'undocumented',
  scopeDocumentation: 'https://developer.atlassian.com/cloud/bitbucket/bitbucket-cloud-rest-api-scopes/',
  scopes: {
    account: 'see',
    'account:write': 'change',
    email: 'see',
    repository: 'change',
    'repository:write': 'delete',
    'repository:admin': 'delete',
    pullrequest: 'change',
    'pullrequest:write': 'delete',
    issue: 'change',
    'issue:write': 'delete',
    project: 'change',
    pipeline: 'see',
    'pipeline:write': 'change',
    snippet: 'change',
    'snippet:write': 'delete',
    webhook: 'delete',
  },
  provider: {
    apiHosts: ['api.bitbucket.org'],
    authorizationEndpoint: 'https://bitbucket.org/site/oauth2/authorize',
    tokenEndpoint: 'https://bitbucket.org/site/oauth2/access_token',
    userinfoEndpoint: 'https://api.bitbucket.org/2.0/user',
    clientAuthentication: 'client_secret_basic',
    baseScopes: ['account'],
    defaultScopes: ['repository'],
    scopeImplies: {
      'account:write': ['account'],
      'repository:write': ['repository'],
      pullrequest: ['repository'],
      'pullrequest:write': ['pullrequest', 'repository:write', 'repository'],
      'issue:write': ['issue'],
      'pipeline:write': ['pipeline'],
      'snippet:write': ['snippet'],
    },
    tokenResponse: { members: { scope: 'scopes' } },
    account: { from: 'userinfo', idClaim: 'uuid', nameClaim: 'display_name' },
  },
  notes: [
    'The OAuth consumer determines the permissions. Requested scopes do not extend them. There is no revocation endpoint.',
  ],
});
