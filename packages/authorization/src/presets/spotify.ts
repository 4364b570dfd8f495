import { definePreset, inWords } from './preset.ts';

export const spotify = definePreset({
  name: 'spotify',
  displayName: 'Spotify',
  documentation: 'https://developer.spotify.com/documentation/web-api/tutorials/code-flow',
  pkce: 'documented',
  scopes: inWords({
    'user-read-private': ['See your country and subscription', '查看您的国家或地区和订阅'],
    'user-read-email': ['See your email address', '查看您的电子邮件地址'],
    'user-read-playback-state': ['See what is playing and on which device', '查看正在播放的内容和设备'],
    'user-modify-playback-state': ['Control what is playing', '控制播放'],
    'user-read-currently-playing': ['See what is playing', '查看正在播放的内容'],
    'user-read-recently-played': ['See what you played recently', '查看您最近播放的内容'],
    'user-top-read': ['See your favourite artists and tracks', '查看您喜爱的艺人和曲目'],
    'user-library-read': ['See your saved music', '查看您收藏的音乐'],
    'user-library-modify': ['Change your saved music', '修改您收藏的音乐'],
    'user-follow-read': ['See whom you follow', '查看您关注的对象'],
    'user-follow-modify': ['Follow and unfollow for you', '代您关注和取消关注'],
    'playlist-read-private': ['See your private playlists', '查看您的私密歌单'],
    'playlist-read-collaborative': ['See playlists that you share', '查看您共享的歌单'],
    'playlist-modify-private': ['Change your private playlists', '修改您的私密歌单'],
    'playlist-modify-public': ['Change your public playlists', '修改您的公开歌单'],
    streaming: ['Play music for you', '为您播放音乐'],
  }),
  provider: {
    authorizationEndpoint: 'https://accounts.spotify.com/authorize',
    tokenEndpoint: 'https://accounts.spotify.com/api/token',
    userinfoEndpoint: 'https://api.spotify.com/v1/me',
    clientAuthentication: 'client_secret_basic',
    defaultScopes: ['user-read-private'],
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'display_name' },
  },
  notes: [
    'There is no revocation endpoint: the user removes the app in the account settings.',
    'Apps in development mode work only for people that are listed in the app.',
  ],
});
