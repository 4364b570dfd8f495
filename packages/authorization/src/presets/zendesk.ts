import { definePreset, inWords } from './preset.ts';

export const zendesk = definePreset({
  name: 'zendesk',
  displayName: 'Zendesk',
  documentation: 'https://developer.zendesk.com/api-reference/ticketing/oauth/grant_type_tokens/',
  pkce: 'documented',
  placeholders: {
    subdomain: { kind: 'slug', help: 'What stands before .zendesk.com', example: 'acme' },
  },
  scopes: inWords({
    read: ['Read everything you can in Zendesk', '读取您在 Zendesk 中可以访问的一切'],
    write: ['Change everything you can in Zendesk', '修改您在 Zendesk 中可以访问的一切'],
    'tickets:read': ['Read tickets', '读取工单'],
    'tickets:write': ['Create and change tickets', '创建和修改工单'],
    'users:read': ['See people in Zendesk', '查看 Zendesk 中的人员'],
    'users:write': ['Create and change people in Zendesk', '创建和修改 Zendesk 中的人员'],
    'organizations:read': ['See organisations', '查看组织'],
    'organizations:write': ['Create and change organisations', '创建和修改组织'],
    'hc:read': ['Read the help centre', '读取帮助中心'],
    'hc:write': ['Change the help centre', '修改帮助中心'],
    'macros:read': ['See macros', '查看宏'],
    'macros:write': ['Create and change macros', '创建和修改宏'],
    'triggers:read': ['See triggers', '查看触发器'],
    'triggers:write': ['Create and change triggers', '创建和修改触发器'],
    impersonate: ['Act for other people in Zendesk', '以其他人的身份在 Zendesk 中操作'],
  }),
  provider: {
    authorizationEndpoint: 'https://{subdomain}.zendesk.com/oauth/authorizations/new',
    tokenEndpoint: 'https://{subdomain}.zendesk.com/oauth/tokens',
    userinfoEndpoint: 'https://{subdomain}.zendesk.com/api/v2/users/me.json',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['users:read'],
    defaultScopes: ['tickets:read'],
    // Without it a token lasts until it is revoked.
    tokenParameters: { expires_in: '3600' },
    scopeImplies: {
      read: ['tickets:read', 'users:read', 'organizations:read', 'hc:read', 'macros:read', 'triggers:read'],
      write: ['tickets:write', 'users:write', 'organizations:write', 'hc:write', 'macros:write', 'triggers:write'],
    },
    account: { from: 'userinfo', idClaim: 'user.id', nameClaim: 'user.email' },
    revocation: {
      endpoint: 'https://{subdomain}.zendesk.com/api/v2/oauth/tokens/current.json',
      style: 'custom',
      method: 'DELETE',
      body: 'none',
      token: 'access_token',
      authentication: 'bearer',
    },
  },
  notes: [
    'One configured provider is one Zendesk instance. A client for many instances (global OAuth client) is granted by Zendesk.',
    'Whether deleting the access token also ends its refresh token could not be verified.',
  ],
});
