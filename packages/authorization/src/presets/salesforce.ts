import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

export const salesforce = definePreset({
  name: 'salesforce',
  displayName: 'Salesforce',
  documentation: 'https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_web_server_flow.htm&type=5',
  pkce: 'documented',
  placeholders: {
    host: {
      kind: 'host',
      within: ['salesforce.com'],
      help: 'login.salesforce.com, test.salesforce.com for sandboxes, or the My Domain host of your organisation',
      example: 'acme.my.salesforce.com',
      fallback: 'login.salesforce.com',
    },
  },
  scopes: {
    ...standardScopes('openid', 'profile', 'email', 'offline_access'),
    ...inWords({
      api: ['Read and change your Salesforce data', '读取和修改您的 Salesforce 数据'],
      refresh_token: ['Stay connected while you are away', '在您离开时保持连接'],
      full: ['Do everything that you can do in Salesforce', '执行您在 Salesforce 中可以进行的一切操作'],
      web: ['Open Salesforce pages as you', '以您的身份打开 Salesforce 页面'],
      chatter_api: ['Read and write in Chatter', '读取 Chatter 并在其中发布内容'],
      id: ['See your name and email address', '查看您的姓名和电子邮件地址'],
    }),
  },
  provider: {
    authorizationEndpoint: 'https://{host}/services/oauth2/authorize',
    tokenEndpoint: 'https://{host}/services/oauth2/token',
    userinfoEndpoint: 'https://{host}/services/oauth2/userinfo',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['openid', 'refresh_token'],
    defaultScopes: ['api'],
    scopeImplies: { refresh_token: ['offline_access'], offline_access: ['refresh_token'] },
    unreportedScopes: ['refresh_token'],
    tokenResponse: { lifetimeSeconds: 3600 },
    account: { from: 'userinfo', idClaim: 'user_id', nameClaim: 'preferred_username' },
    revocation: { endpoint: 'https://{host}/services/oauth2/revoke', unknownTokenErrors: ['invalid_token'] },
  },
  notes: [
    'Answers do not say how long an access token lasts: as long as the session policy of the organisation. An hour is assumed.',
    'instance_url of the token answer is not handed on; a tool finds its API host in the urls of the userinfo answer.',
  ],
});
