import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

export const asana = definePreset({
  name: 'asana',
  displayName: 'Asana',
  documentation: 'https://developers.asana.com/docs/oauth',
  pkce: 'documented',
  scopes: {
    ...standardScopes('openid', 'profile', 'email'),
    ...inWords({
      default: ['Read and change everything you can in Asana', '读取和修改您在 Asana 中可以访问的一切'],
      'tasks:read': ['Read tasks', '读取任务'],
      'tasks:write': ['Create and change tasks', '创建和修改任务'],
      'tasks:delete': ['Delete tasks', '删除任务'],
      'projects:read': ['Read projects', '读取项目'],
      'projects:write': ['Create and change projects', '创建和修改项目'],
      'projects:delete': ['Delete projects', '删除项目'],
      'stories:read': ['Read comments and history of tasks', '读取任务的评论和历史'],
      'stories:write': ['Write comments on tasks', '在任务中发表评论'],
      'attachments:read': ['See attached files', '查看附件'],
      'attachments:write': ['Attach files', '添加附件'],
      'attachments:delete': ['Remove attached files', '删除附件'],
      'custom_fields:read': ['See custom fields', '查看自定义字段'],
      'custom_fields:write': ['Create and change custom fields', '创建和修改自定义字段'],
      'goals:read': ['See goals', '查看目标'],
      'portfolios:read': ['See portfolios', '查看项目组合'],
      'teams:read': ['See teams', '查看团队'],
      'users:read': ['See people in your organisation', '查看您组织中的人员'],
      'workspaces:read': ['See your workspaces', '查看您的工作区'],
      'workspaces.typeahead:read': ['Search your workspaces', '搜索您的工作区'],
    }),
  },
  provider: {
    authorizationEndpoint: 'https://app.asana.com/-/oauth_authorize',
    tokenEndpoint: 'https://app.asana.com/-/oauth_token',
    clientAuthentication: 'client_secret_post',
    account: { from: 'token_response', idClaim: 'data.gid', nameClaim: 'data.name' },
    revocation: { endpoint: 'https://app.asana.com/-/oauth_revoke', token: 'refresh_token' },
  },
  notes: [
    'An app has either full permissions (scope default) or single scopes; an MCP server must name scopes of the kind that the app has.',
    'Access tokens last one hour; the refresh token stays the same.',
  ],
});
