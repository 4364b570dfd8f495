import { definePreset, inWords } from './preset.ts';

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
    'A tool finds its API host (base_uri) in the accounts of the userinfo answer.',
    'A revocation endpoint exists in client code, but not in the documentation that could be read; revocation is left out.',
  ],
});
