import { definePreset, inWords } from './preset.ts';

export const box = definePreset({
  name: 'box',
  displayName: 'Box',
  documentation: 'https://developer.box.com/guides/authentication/oauth2/',
  pkce: 'undocumented',
  scopes: inWords({
    root_readonly: ['Read all your files and folders', '读取您的全部文件和文件夹'],
    root_readwrite: ['Read, change and delete all your files and folders', '读取、修改和删除您的全部文件和文件夹'],
    manage_groups: ['Manage groups', '管理群组'],
    manage_managed_users: ['Manage people in your organisation', '管理您组织中的人员'],
    manage_webhook: ['Set up notifications that Box sends to other services', '设置 Box 发送给其他服务的通知'],
    'sign_requests.readwrite': ['Create and manage signature requests', '创建和管理签名请求'],
  }),
  provider: {
    authorizationEndpoint: 'https://account.box.com/api/oauth2/authorize',
    tokenEndpoint: 'https://api.box.com/oauth2/token',
    userinfoEndpoint: 'https://api.box.com/2.0/users/me',
    clientAuthentication: 'client_secret_post',
    scopeImplies: { root_readwrite: ['root_readonly'] },
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'login' },
    revocation: { endpoint: 'https://api.box.com/oauth2/revoke' },
  },
  notes: [
    'An MCP server that names no scopes gets all that the app has. Answers do not name scopes.',
    'Access tokens last about an hour; each refresh token works once and ends after 60 days.',
  ],
});
