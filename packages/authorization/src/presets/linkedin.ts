import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

export const linkedin = definePreset({
  name: 'linkedin',
  displayName: 'LinkedIn',
  documentation: 'https://learn.microsoft.com/en-us/linkedin/shared/authentication/authorization-code-flow',
  pkce: 'unsupported',
  scopes: {
    ...standardScopes('openid', 'profile', 'email'),
    ...inWords({
      w_member_social: ['Post, comment and like for you', '代您发帖、评论和点赞'],
      r_basicprofile: ['See your name, photo and headline', '查看您的姓名、照片和职业头衔'],
      r_organization_social: ['Read posts of pages that you manage', '读取您管理的主页的帖子'],
      w_organization_social: ['Post for pages that you manage', '代您管理的主页发帖'],
      rw_organization_admin: ['Manage your pages and see their statistics', '管理您的主页并查看其统计数据'],
      r_ads: ['See your advertising accounts', '查看您的广告账户'],
      rw_ads: ['Manage your advertising accounts', '管理您的广告账户'],
      r_ads_reporting: ['See results of your advertising', '查看您的广告效果'],
    }),
  },
  provider: {
    authorizationEndpoint: 'https://www.linkedin.com/oauth/v2/authorization',
    tokenEndpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
    userinfoEndpoint: 'https://api.linkedin.com/v2/userinfo',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['openid', 'profile'],
    scopeSeparator: ',',
    scopeImplies: { rw_ads: ['r_ads'] },
    tokenResponse: { tokenType: 'bearer' },
    account: { from: 'userinfo', idClaim: 'sub', nameClaim: 'name' },
    revocation: { endpoint: 'https://www.linkedin.com/oauth/v2/revoke', token: 'access_token' },
  },
  notes: [
    'LinkedIn refuses every token request of a confidential client that carries a code verifier, so none is sent.',
    'Access tokens last 60 days; refresh tokens are issued to selected partners only, everybody else connects anew.',
  ],
});
