import { definePreset, inWords, type PresetMembers, standardScopes } from './preset.ts';

const githubDocumentation = 'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps';

const githubScopes = inWords({
  repo: ['Read and change your repositories, private ones too', '读取和修改您的代码仓库，包括私有仓库'],
  'repo:status': ['See and set the status of commits', '查看和设置提交的状态'],
  repo_deployment: ['See and set the status of deployments', '查看和设置部署的状态'],
  public_repo: ['Read and change your public repositories', '读取和修改您的公开代码仓库'],
  'repo:invite': ['Accept and decline invitations to repositories', '接受和拒绝代码仓库的邀请'],
  security_events: ['Read and change security alerts of your repositories', '读取和修改代码仓库的安全警报'],
  'admin:repo_hook': [
    'Manage notifications that repositories send to other services',
    '管理代码仓库发送给其他服务的通知',
  ],
  'write:repo_hook': [
    'Set up notifications that repositories send to other services',
    '设置代码仓库发送给其他服务的通知',
  ],
  'read:repo_hook': ['See notifications that repositories send to other services', '查看代码仓库发送给其他服务的通知'],
  'admin:org': ['Manage your organisations, their teams and members', '管理您的组织及其团队和成员'],
  'write:org': ['Change your membership in organisations and their projects', '修改您的组织成员身份和组织项目'],
  'read:org': ['See your organisations, teams and their members', '查看您的组织、团队及其成员'],
  gist: ['Create and change gists', '创建和修改代码片段'],
  notifications: ['Read your notifications and mark them as read', '读取您的通知并标记为已读'],
  user: ['Read and change your profile', '读取和修改您的个人资料'],
  'read:user': ['Read your profile', '读取您的个人资料'],
  'user:email': ['See your email addresses', '查看您的电子邮件地址'],
  'user:follow': ['Follow and unfollow people for you', '代您关注和取消关注他人'],
  project: ['Read and change your projects', '读取和修改您的项目'],
  'read:project': ['Read your projects', '读取您的项目'],
  delete_repo: ['Delete repositories that you manage', '删除您管理的代码仓库'],
  'write:packages': ['Publish packages', '发布软件包'],
  'read:packages': ['Download packages', '下载软件包'],
  'delete:packages': ['Delete packages', '删除软件包'],
  workflow: ['Change the automatic workflows of your repositories', '修改代码仓库的自动化工作流'],
  codespace: ['Create and manage your codespaces', '创建和管理您的云端开发环境'],
});

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
    scopeSeparator: ',',
    // Without an Accept header the response is form-encoded. Errors always have status 200.
    tokenResponse: { format: 'auto', refusedErrors: ['bad_refresh_token'] },
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
  documentation: githubDocumentation,
  pkce: 'documented',
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
  documentation: githubDocumentation,
  pkce: 'undocumented',
  placeholders: {
    host: { kind: 'host', port: true, help: 'Host of your GitHub Enterprise Server', example: 'github.acme.example' },
  },
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
  scopes: {
    ...standardScopes('openid', 'profile', 'email'),
    ...inWords({
      api: ['Read and change everything you can in GitLab', '读取和修改您在 GitLab 中可以访问的一切'],
      read_api: ['Read everything you can in GitLab', '读取您在 GitLab 中可以访问的一切'],
      read_user: ['Read your profile', '读取您的个人资料'],
      read_repository: ['Read your repositories', '读取您的代码仓库'],
      write_repository: ['Read and change your repositories', '读取和修改您的代码仓库'],
      read_registry: ['Download container images', '下载容器镜像'],
      write_registry: ['Publish container images', '发布容器镜像'],
      create_runner: ['Create runners that execute jobs', '创建执行任务的运行器'],
      manage_runner: ['Manage runners that execute jobs', '管理执行任务的运行器'],
      k8s_proxy: ['Reach your Kubernetes clusters', '访问您的 Kubernetes 集群'],
      ai_features: ['Use GitLab Duo for you', '代您使用 GitLab Duo'],
    }),
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
  documentation: 'https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/',
  pkce: 'undocumented',
  scopes: {
    ...standardScopes('offline_access'),
    ...inWords({
      'read:me': ['See your name and email address', '查看您的姓名和电子邮件地址'],
      'read:account': ['Read your Atlassian account', '读取您的 Atlassian 账户'],
      'read:jira-work': ['Read Jira projects and work items', '读取 Jira 项目和工作项'],
      'write:jira-work': ['Create and change Jira work items', '创建和修改 Jira 工作项'],
      'read:jira-user': ['See people in Jira', '查看 Jira 中的人员'],
      'manage:jira-project': ['Manage Jira projects', '管理 Jira 项目'],
      'manage:jira-configuration': ['Manage the settings of Jira', '管理 Jira 的设置'],
      'manage:jira-webhook': [
        'Set up notifications that Jira sends to other services',
        '设置 Jira 发送给其他服务的通知',
      ],
      'read:servicedesk-request': ['Read customer requests', '读取客户请求'],
      'write:servicedesk-request': ['Create and change customer requests', '创建和修改客户请求'],
      'read:confluence-content.all': ['Read Confluence pages', '读取 Confluence 页面'],
      'read:confluence-content.summary': ['See summaries of Confluence pages', '查看 Confluence 页面摘要'],
      'read:confluence-space.summary': ['See Confluence spaces', '查看 Confluence 空间'],
      'write:confluence-content': ['Create and change Confluence pages', '创建和修改 Confluence 页面'],
      'write:confluence-file': ['Upload files to Confluence', '向 Confluence 上传文件'],
      'search:confluence': ['Search Confluence', '搜索 Confluence'],
      'read:confluence-user': ['See people in Confluence', '查看 Confluence 中的人员'],
    }),
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
  documentation: 'https://support.atlassian.com/bitbucket-cloud/docs/use-oauth-on-bitbucket-cloud/',
  pkce: 'undocumented',
  scopes: inWords({
    account: ['Read your profile', '读取您的个人资料'],
    'account:write': ['Change your profile', '修改您的个人资料'],
    email: ['See your email addresses', '查看您的电子邮件地址'],
    repository: ['Read your repositories', '读取您的代码仓库'],
    'repository:write': ['Read and change your repositories', '读取和修改您的代码仓库'],
    'repository:admin': ['Manage the settings of your repositories', '管理您代码仓库的设置'],
    pullrequest: ['Read pull requests and repositories', '读取合并请求和代码仓库'],
    'pullrequest:write': ['Create, change and merge pull requests', '创建、修改和合并合并请求'],
    issue: ['Read issues', '读取问题'],
    'issue:write': ['Create and change issues', '创建和修改问题'],
    project: ['Read your projects', '读取您的项目'],
    pipeline: ['See build pipelines', '查看构建流水线'],
    'pipeline:write': ['Start and stop build pipelines', '启动和停止构建流水线'],
    snippet: ['Read your snippets', '读取您的代码片段'],
    'snippet:write': ['Create and change your snippets', '创建和修改您的代码片段'],
    webhook: ['Set up notifications that Bitbucket sends to other services', '设置 Bitbucket 发送给其他服务的通知'],
  }),
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
