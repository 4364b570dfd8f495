import { definePreset, inWords } from './preset.ts';

export const airtable = definePreset({
  name: 'airtable',
  displayName: 'Airtable',
  documentation: 'https://airtable.com/developers/web/api/oauth-reference',
  pkce: 'documented',
  scopes: inWords({
    'data.records:read': ['Read records', '读取记录'],
    'data.records:write': ['Create, change and delete records', '创建、修改和删除记录'],
    'data.recordComments:read': ['Read comments on records', '读取记录的评论'],
    'data.recordComments:write': ['Write comments on records', '在记录中发表评论'],
    'schema.bases:read': ['See how your bases are built', '查看您的数据库的结构'],
    'schema.bases:write': ['Change how your bases are built', '修改您的数据库的结构'],
    'user.email:read': ['See your email address', '查看您的电子邮件地址'],
    'webhook:manage': ['Set up notifications that bases send to other services', '设置数据库发送给其他服务的通知'],
  }),
  provider: {
    authorizationEndpoint: 'https://airtable.com/oauth2/v1/authorize',
    tokenEndpoint: 'https://airtable.com/oauth2/v1/token',
    userinfoEndpoint: 'https://api.airtable.com/v0/meta/whoami',
    clientAuthentication: 'client_secret_basic',
    defaultScopes: ['data.records:read', 'schema.bases:read'],
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'email' },
  },
  notes: [
    'Airtable insists on PKCE. Access tokens last an hour; each refresh token works once and ends after 60 days without use.',
    'The email address is shown only when user.email:read was granted. No revocation endpoint is known.',
  ],
});
