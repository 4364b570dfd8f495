import { definePreset, inWords, type PresetMembers } from './preset.ts';

const documentation = 'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps';

const scopes = inWords({
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

/** GitHub leaves a scope out of its answer when a wider one is granted. */
const scopeImplies = {
  repo: ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events'],
  'admin:repo_hook': ['write:repo_hook', 'read:repo_hook'],
  'write:repo_hook': ['read:repo_hook'],
  'admin:org': ['write:org', 'read:org'],
  'write:org': ['read:org'],
  user: ['read:user', 'user:email', 'user:follow'],
  project: ['read:project'],
  'write:packages': ['read:packages'],
};

/** The same at github.com and at a GitHub Enterprise Server, but for the hosts. */
function members(web: string, api: string) {
  return {
    authorizationEndpoint: `${web}/login/oauth/authorize`,
    tokenEndpoint: `${web}/login/oauth/access_token`,
    deviceAuthorizationEndpoint: `${web}/login/device/code`,
    userinfoEndpoint: `${api}/user`,
    clientAuthentication: 'client_secret_post',
    scopeSeparator: ',',
    // Without an Accept header the answer is form-encoded; with or without, errors arrive with status 200.
    tokenResponse: { format: 'auto', refusedErrors: ['bad_refresh_token'] },
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'login' },
    // Of the token only: deleting the grant would also end the connections of other MCP servers with the same app.
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
  documentation,
  pkce: 'documented',
  scopes,
  provider: { ...members('https://github.com', 'https://api.github.com'), scopeImplies, defaultScopes: ['read:user'] },
  notes: [
    'Tokens do not expire. GitHub deletes tokens that nobody used for a year, and the oldest ones beyond ten for the same user, app and scopes.',
    'Revoking deletes the token. The app stays listed in the GitHub settings of the user until the user removes it there.',
    'Revoking needs the client secret. For an app without one, set revocation: null.',
  ],
});

/** A GitHub App acting for a user: permissions come from the app and its installations, there are no scopes. */
export const githubApp = definePreset({
  name: 'github-app',
  displayName: 'GitHub',
  documentation:
    'https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app',
  pkce: 'documented',
  scopes: {},
  provider: members('https://github.com', 'https://api.github.com'),
  notes: [
    'There are no scopes: what a token may do is the intersection of the permissions of the app and of the user.',
    'With expiring user tokens switched on in the app, access tokens last 8 hours and refresh tokens 6 months; each refresh token works once.',
  ],
});

export const githubEnterprise = definePreset({
  name: 'github-enterprise',
  displayName: 'GitHub Enterprise',
  documentation,
  pkce: 'undocumented',
  placeholders: {
    host: { kind: 'host', port: true, help: 'Host of your GitHub Enterprise Server', example: 'github.acme.example' },
  },
  scopes,
  provider: { ...members('https://{host}', 'https://{host}/api/v3'), scopeImplies, defaultScopes: ['read:user'] },
  notes: ['Whether S256 is checked depends on the release of the server; older ones ignore the challenge.'],
});
