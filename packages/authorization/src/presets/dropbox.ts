import { definePreset, inWords } from './preset.ts';

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
    },
  },
  notes: [
    'Access tokens last four hours; the refresh token stays the same until it is revoked.',
    'Revoking with an access token also ends the refresh token that it came from.',
    'Each scope must be ticked for the app as well.',
  ],
});
