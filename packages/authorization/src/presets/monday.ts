import { definePreset, inWords } from './preset.ts';

/** The OAuth 2.1 flow, which replaces the one with tokens that never expire. */
export const monday = definePreset({
  name: 'monday',
  displayName: 'monday.com',
  documentation: 'https://developer.monday.com/apps/docs/migrating-to-the-new-oauth-flow',
  pkce: 'documented',
  scopes: inWords({
    'me:read': ['Read your profile', '读取您的个人资料'],
    'boards:read': ['Read boards', '读取看板'],
    'boards:write': ['Change boards', '修改看板'],
    'docs:read': ['Read documents', '读取文档'],
    'docs:write': ['Change documents', '修改文档'],
    'workspaces:read': ['See workspaces', '查看工作区'],
    'workspaces:write': ['Change workspaces', '修改工作区'],
    'users:read': ['See people in the account', '查看账户中的人员'],
    'updates:read': ['Read updates and replies', '读取动态和回复'],
    'updates:write': ['Write updates and replies', '发布动态和回复'],
    'assets:read': ['See attached files', '查看附件'],
    'tags:read': ['See tags', '查看标签'],
    'teams:read': ['See teams', '查看团队'],
    'account:read': ['See details of the account', '查看账户详情'],
    'notifications:write': ['Send notifications for you', '代您发送通知'],
    'webhooks:read': ['See notifications that boards send to other services', '查看看板发送给其他服务的通知'],
    'webhooks:write': ['Set up notifications that boards send to other services', '设置看板发送给其他服务的通知'],
  }),
  provider: {
    authorizationEndpoint: 'https://auth.monday.com/oauth2/authorize',
    tokenEndpoint: 'https://auth.monday.com/oauth_ms/oauth/token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['me:read'],
    scopeSeparator: ',',
    tokenResponse: { tokenType: 'bearer', lifetimeSeconds: 3600 },
    revocation: { endpoint: 'https://auth.monday.com/oauth_ms/oauth/revoke' },
  },
  notes: [
    'Switch on the new OAuth flow for the version of the app. The older flow has another token endpoint and no refresh tokens.',
    'An administrator must have installed the app in the account before anybody can connect.',
    'Access tokens last an hour, which the answer does not always say. The account is not recognised: it is told only through GraphQL.',
    'That the revocation endpoint follows RFC 7009, and takes form-encoded bodies, was verified in client code only.',
  ],
});
