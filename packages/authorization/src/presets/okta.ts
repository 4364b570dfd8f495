import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

const documentation = 'https://developer.okta.com/docs/guides/implement-grant-type/authcode/main/';
const domain = { kind: 'host', help: 'Domain of your organisation at Okta', example: 'acme.okta.com' } as const;
const standard = standardScopes('openid', 'profile', 'email', 'offline_access');
const baseScopes = ['openid', 'profile', 'offline_access'];
const account = { from: 'id_token', idClaim: 'sub', nameClaim: 'preferred_username' } as const;

/** A custom authorization server: protects your own APIs. */
export const okta = definePreset({
  name: 'okta',
  displayName: 'Okta',
  documentation,
  pkce: 'documented',
  placeholders: {
    domain,
    authorizationServer: {
      kind: 'slug',
      help: 'Id of the custom authorization server',
      example: 'aus1a2b3c4d5e6f7g8h9',
      fallback: 'default',
    },
  },
  scopes: standard,
  provider: {
    issuer: 'https://{domain}/oauth2/{authorizationServer}',
    discovery: 'oidc',
    baseScopes,
    account,
  },
  notes: [
    'Refresh tokens need the grant type Refresh Token in the app; with rotation each works once.',
    'Scopes are those that you defined at the authorization server; describe them with scopeDescriptions.',
  ],
});

/** The authorization server of the organisation: protects the API of Okta itself. */
export const oktaOrg = definePreset({
  name: 'okta-org',
  displayName: 'Okta',
  documentation: 'https://developer.okta.com/docs/guides/implement-oauth-for-okta/main/',
  pkce: 'documented',
  placeholders: { domain },
  scopes: {
    ...standard,
    ...inWords({
      'okta.users.read': ['See people in your organisation', '查看您组织中的人员'],
      'okta.users.manage': ['Create and change people in your organisation', '创建和修改您组织中的人员'],
      'okta.users.read.self': ['Read your profile', '读取您的个人资料'],
      'okta.users.manage.self': ['Change your profile', '修改您的个人资料'],
      'okta.groups.read': ['See groups in your organisation', '查看您组织中的群组'],
      'okta.groups.manage': ['Create and change groups in your organisation', '创建和修改您组织中的群组'],
      'okta.apps.read': ['See apps of your organisation', '查看您组织的应用'],
      'okta.apps.manage': ['Create and change apps of your organisation', '创建和修改您组织的应用'],
      'okta.logs.read': ['Read the activity log of your organisation', '读取您组织的活动日志'],
      'okta.policies.read': ['See sign-in rules of your organisation', '查看您组织的登录规则'],
    }),
  },
  provider: {
    issuer: 'https://{domain}',
    discovery: 'oidc',
    baseScopes,
    defaultScopes: ['okta.users.read.self'],
    account,
  },
  notes: ['Scopes of the Okta API must be granted to the app, and the user must be an administrator for most of them.'],
});
