import { definePreset, inWords } from './preset.ts';

export const linear = definePreset({
  name: 'linear',
  displayName: 'Linear',
  documentation: 'https://linear.app/developers/oauth-2-0-authentication',
  pkce: 'documented',
  scopes: inWords({
    read: ['Read your Linear workspace', '读取您的 Linear 工作区'],
    write: ['Change issues, projects and more in Linear', '修改 Linear 中的事务、项目等内容'],
    'issues:create': ['Create issues', '创建事务'],
    'comments:create': ['Write comments on issues', '在事务中发表评论'],
    'timeSchedule:write': ['Create and change time schedules', '创建和修改排班表'],
    admin: ['Manage the whole workspace', '管理整个工作区'],
  }),
  provider: {
    authorizationEndpoint: 'https://linear.app/oauth/authorize',
    tokenEndpoint: 'https://api.linear.app/oauth/token',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['read'],
    requestScopeSeparator: ',',
    scopeSeparator: ',',
    scopeImplies: { write: ['issues:create', 'comments:create'] },
    authorizationParameters: { prompt: 'consent' },
    // Scopes have been answered as a list, too.
    tokenResponse: { format: 'json' },
    revocation: {
      endpoint: 'https://api.linear.app/oauth/revoke',
      style: 'bearer',
      token: 'access_token',
      unknownTokenStatuses: [400],
    },
  },
  notes: [
    'The account is not recognised: Linear tells it only through GraphQL.',
    'Whether revoking the access token also ends its refresh token could not be verified.',
  ],
});
