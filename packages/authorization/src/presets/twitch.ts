import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

export const twitch = definePreset({
  name: 'twitch',
  displayName: 'Twitch',
  documentation: 'https://dev.twitch.tv/docs/authentication/getting-tokens-oauth/',
  pkce: 'undocumented',
  scopes: {
    ...standardScopes('openid'),
    ...inWords({
      'user:read:email': ['See your email address', '查看您的电子邮件地址'],
      'user:read:follows': ['See the channels that you follow', '查看您关注的频道'],
      'user:read:subscriptions': ['See the channels that you subscribe to', '查看您订阅的频道'],
      'user:edit': ['Change your description', '修改您的简介'],
      'user:read:chat': ['Read chat as you', '以您的身份读取聊天'],
      'user:write:chat': ['Write in chat for you', '代您在聊天中发言'],
      'channel:read:subscriptions': ['See who subscribes to your channel', '查看谁订阅了您的频道'],
      'channel:manage:broadcast': ['Change the title and category of your stream', '修改您直播的标题和分类'],
      'channel:manage:schedule': ['Change your stream schedule', '修改您的直播日程'],
      'channel:manage:videos': ['Delete videos of your channel', '删除您频道的视频'],
      'clips:edit': ['Create clips for you', '代您创建剪辑'],
      'moderator:read:followers': ['See who follows channels that you moderate', '查看您管理的频道的关注者'],
      'moderator:manage:banned_users': ['Ban people from channels that you moderate', '在您管理的频道中封禁用户'],
    }),
  },
  provider: {
    authorizationEndpoint: 'https://id.twitch.tv/oauth2/authorize',
    tokenEndpoint: 'https://id.twitch.tv/oauth2/token',
    userinfoEndpoint: 'https://id.twitch.tv/oauth2/userinfo',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['openid'],
    // Reads scopes that are a list.
    tokenResponse: { format: 'json' },
    account: { from: 'userinfo', idClaim: 'sub', nameClaim: 'preferred_username' },
    revocation: { endpoint: 'https://id.twitch.tv/oauth2/revoke', token: 'access_token' },
  },
  notes: [
    'Answers name scopes as a list, not as text with spaces.',
    'A refusal to refresh has no error code of its own, so a lost connection is noticed only when the API rejects the token.',
    'Requests to the API need a Client-Id header beside the token.',
  ],
});
