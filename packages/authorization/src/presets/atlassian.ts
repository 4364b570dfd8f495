import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

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
    authorizationEndpoint: 'https://auth.atlassian.com/authorize',
    tokenEndpoint: 'https://auth.atlassian.com/oauth/token',
    userinfoEndpoint: 'https://api.atlassian.com/me',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['offline_access', 'read:me'],
    defaultScopes: ['read:jira-work'],
    authorizationParameters: { audience: 'api.atlassian.com', prompt: 'consent' },
    // What is answered to a refresh token that was used before or has expired.
    tokenResponse: { refusedErrors: ['unauthorized_client'] },
    account: { from: 'userinfo', idClaim: 'account_id', nameClaim: 'email' },
  },
  notes: [
    'Add the User identity API (read:me) to the app, beside the APIs that tools need.',
    'Each refresh token works once and ends after 90 days without use. There is no revocation endpoint.',
    'Tools must first ask https://api.atlassian.com/oauth/token/accessible-resources for the site.',
    'That unauthorized_client means a dead refresh token was verified in client code, not in the documentation.',
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
    'Permissions are those ticked for the OAuth consumer; requested scopes do not widen them. There is no revocation endpoint.',
  ],
});
