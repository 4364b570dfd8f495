import { definePreset, inWords } from './preset.ts';

export const discord = definePreset({
  name: 'discord',
  displayName: 'Discord',
  documentation: 'https://discord.com/developers/docs/topics/oauth2',
  pkce: 'documented',
  scopes: inWords({
    identify: ['See your name and picture', '查看您的名称和头像'],
    email: ['See your email address', '查看您的电子邮件地址'],
    guilds: ['See the servers that you are in', '查看您所在的服务器'],
    'guilds.join': ['Join servers for you', '代您加入服务器'],
    'guilds.members.read': ['See your nickname and roles in servers', '查看您在服务器中的昵称和身份组'],
    connections: ['See accounts that you linked with Discord', '查看您与 Discord 关联的账户'],
    'gdm.join': ['Join group messages for you', '代您加入群组消息'],
    'role_connections.write': ['Change what your linked roles say about you', '修改您的关联身份组信息'],
    'applications.commands': ['Add commands to a server', '向服务器添加命令'],
    'webhook.incoming': ['Post in a channel that you choose', '在您选择的频道中发布消息'],
  }),
  provider: {
    issuer: 'https://discord.com',
    authorizationEndpoint: 'https://discord.com/oauth2/authorize',
    tokenEndpoint: 'https://discord.com/api/oauth2/token',
    userinfoEndpoint: 'https://discord.com/api/users/@me',
    clientAuthentication: 'client_secret_basic',
    baseScopes: ['identify'],
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'username' },
    revocation: { endpoint: 'https://discord.com/api/oauth2/token/revoke' },
  },
  notes: [
    'Discord announces iss in callbacks (RFC 9207): one that is there is compared. With requireIss: true its absence is refused, too.',
    'Discord may end every token of the same authorization when one of them is revoked.',
    'Reading messages as the user needs scopes that Discord grants to partners only.',
  ],
});
