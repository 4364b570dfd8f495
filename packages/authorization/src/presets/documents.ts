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
    apiHosts: ['api.box.com', 'upload.box.com'],
    authorizationEndpoint: 'https://account.box.com/api/oauth2/authorize',
    tokenEndpoint: 'https://api.box.com/oauth2/token',
    userinfoEndpoint: 'https://api.box.com/2.0/users/me',
    clientAuthentication: 'client_secret_post',
    scopeImplies: { root_readwrite: ['root_readonly'] },
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'login' },
    revocation: { endpoint: 'https://api.box.com/oauth2/revoke' },
  },
  notes: [
    'An MCP server that names no scopes gets all scopes of the app. Responses do not name scopes.',
    'Access tokens last about an hour. Each refresh token works once and expires after 60 days.',
  ],
});

export const docusign = definePreset({
  name: 'docusign',
  displayName: 'Docusign',
  documentation: 'https://developers.docusign.com/platform/auth/authcode',
  pkce: 'documented',
  placeholders: {
    host: {
      kind: 'choice',
      choices: ['account.docusign.com', 'account-d.docusign.com'],
      help: 'account-d.docusign.com is the environment for developers',
      example: 'account-d.docusign.com',
      fallback: 'account.docusign.com',
    },
  },
  scopes: inWords({
    signature: ['Send documents for signature and see their status', '发送待签署的文件并查看其状态'],
    extended: ['Stay connected while you are away', '在您离开时保持连接'],
    impersonation: ['Act for you while you are away', '在您离开时代您操作'],
    'click.manage': ['Create and change agreements that are accepted by a click', '创建和修改点击即同意的协议'],
    'click.send': ['Present agreements that are accepted by a click', '展示点击即同意的协议'],
    organization_read: ['See organisations', '查看组织'],
    user_read: ['See people in your account', '查看您账户中的人员'],
    user_write: ['Change people in your account', '修改您账户中的人员'],
  }),
  provider: {
    authorizationEndpoint: 'https://{host}/oauth/auth',
    tokenEndpoint: 'https://{host}/oauth/token',
    userinfoEndpoint: 'https://{host}/oauth/userinfo',
    clientAuthentication: 'client_secret_basic',
    baseScopes: ['extended'],
    defaultScopes: ['signature'],
    account: { from: 'userinfo', idClaim: 'sub', nameClaim: 'email' },
  },
  notes: [
    'A tool finds its API host (base_uri) in the accounts of the userinfo response.',
    'Client code contains a revocation endpoint, but the available documentation does not. The preset has no revocation.',
  ],
});

export const dropbox = definePreset({
  name: 'dropbox',
  displayName: 'Dropbox',
  documentation: 'https://developers.dropbox.com/oauth-guide',
  pkce: 'documented',
  scopes: inWords({
    'account_info.read': ['See your name and email address', '查看您的姓名和电子邮件地址'],
    'account_info.write': ['Change your profile photo', '修改您的头像'],
    'files.metadata.read': ['See names and details of your files', '查看您文件的名称和详情'],
    'files.metadata.write': ['Change details of your files', '修改您文件的详情'],
    'files.content.read': ['Read your files', '读取您的文件'],
    'files.content.write': ['Change and delete your files', '修改和删除您的文件'],
    'sharing.read': ['See who your files are shared with', '查看您的文件与谁共享'],
    'sharing.write': ['Share your files and change who sees them', '共享您的文件并修改谁可以看到'],
    'file_requests.read': ['See your file requests', '查看您的文件请求'],
    'file_requests.write': ['Create and change your file requests', '创建和修改您的文件请求'],
    'contacts.read': ['See your manually added contacts', '查看您手动添加的联系人'],
    'contacts.write': ['Change your manually added contacts', '修改您手动添加的联系人'],
  }),
  provider: {
    apiHosts: ['api.dropboxapi.com', 'content.dropboxapi.com', 'notify.dropboxapi.com'],
    authorizationEndpoint: 'https://www.dropbox.com/oauth2/authorize',
    tokenEndpoint: 'https://api.dropboxapi.com/oauth2/token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['account_info.read'],
    incrementalScopes: true,
    authorizationParameters: { token_access_type: 'offline', include_granted_scopes: 'user' },
    scopeImplies: {
      'files.metadata.write': ['files.metadata.read'],
      'files.content.read': ['files.metadata.read'],
      'files.content.write': ['files.metadata.read'],
    },
    account: { from: 'token_response', idClaim: 'account_id' },
    revocation: {
      endpoint: 'https://api.dropboxapi.com/2/auth/token/revoke',
      style: 'custom',
      method: 'POST',
      body: 'none',
      token: 'access_token',
      authentication: 'bearer',
      reach: 'connection',
    },
  },
  notes: [
    'Access tokens last four hours; the refresh token stays the same until it is revoked.',
    'Revoking an access token also revokes its refresh token.',
    'Each scope must also be selected for the app.',
  ],
});

export const notion = definePreset({
  name: 'notion',
  displayName: 'Notion',
  documentation: 'https://developers.notion.com/docs/authorization',
  pkce: 'undocumented',
  scopes: {},
  provider: {
    apiHosts: ['api.notion.com'],
    authorizationEndpoint: 'https://api.notion.com/v1/oauth/authorize',
    tokenEndpoint: 'https://api.notion.com/v1/oauth/token',
    clientAuthentication: 'client_secret_basic',
    authorizationParameters: { owner: 'user' },
    // Absent members are null. According to the documentation, errors have the same form as API errors, with a code.
    tokenResponse: { errorMember: 'code' },
    account: { from: 'token_response', idClaim: 'owner.user.id', nameClaim: 'owner.user.name' },
  },
  notes: [
    'There are no scopes. The settings in Notion determine the permissions of the integration, and the user selects the pages.',
    'A refresh replaces both tokens; each refresh token works once.',
    'The revocation endpoint requires a Notion-Version header, which cannot be configured. The preset has no revocation.',
    'The documentation of the token endpoint shows a JSON body. We verified in client code that it accepts form-encoded bodies.',
  ],
});
