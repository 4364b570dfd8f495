import { definePreset, inWords, type PresetMembers } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

const documentation = 'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow';

const scopes = {
  ...standardScopes('openid', 'profile', 'email', 'offline_access'),
  ...inWords({
    'User.Read': ['Read your profile', '读取您的个人资料'],
    'User.ReadBasic.All': ['See names of people in your organisation', '查看您组织中人员的姓名'],
    'Mail.Read': ['Read your email', '读取您的电子邮件'],
    'Mail.ReadWrite': ['Read, change and delete your email', '读取、修改和删除您的电子邮件'],
    'Mail.Send': ['Send email for you', '代您发送电子邮件'],
    'Calendars.Read': ['See your calendars', '查看您的日历'],
    'Calendars.ReadWrite': ['See and change your calendars', '查看和修改您的日历'],
    'Contacts.Read': ['See your contacts', '查看您的联系人'],
    'Contacts.ReadWrite': ['See and change your contacts', '查看和修改您的联系人'],
    'Files.Read': ['Read your files', '读取您的文件'],
    'Files.ReadWrite': ['Read, change and delete your files', '读取、修改和删除您的文件'],
    'Files.Read.All': ['Read all files that you can open', '读取您可以打开的所有文件'],
    'Files.ReadWrite.All': ['Change and delete all files that you can open', '修改和删除您可以打开的所有文件'],
    'Sites.Read.All': ['Read SharePoint sites that you can open', '读取您可以打开的 SharePoint 网站'],
    'Sites.ReadWrite.All': ['Change SharePoint sites that you can open', '修改您可以打开的 SharePoint 网站'],
    'Tasks.Read': ['See your tasks', '查看您的任务'],
    'Tasks.ReadWrite': ['See and change your tasks', '查看和修改您的任务'],
    'Notes.Read': ['Read your OneNote notebooks', '读取您的 OneNote 笔记本'],
    'Notes.ReadWrite': ['Read and change your OneNote notebooks', '读取和修改您的 OneNote 笔记本'],
    'Chat.Read': ['Read your Teams chats', '读取您的 Teams 聊天'],
    'Chat.ReadWrite': ['Read your Teams chats and write in them', '读取您的 Teams 聊天并发送消息'],
    'ChannelMessage.Send': ['Write in Teams channels for you', '代您在 Teams 频道中发送消息'],
    'Team.ReadBasic.All': ['See the teams that you belong to', '查看您所属的团队'],
    'OnlineMeetings.ReadWrite': ['See and create your online meetings', '查看和创建您的在线会议'],
  }),
};

const common = {
  clientAuthentication: 'client_secret_post',
  baseScopes: ['openid', 'profile', 'offline_access'],
  defaultScopes: ['User.Read'],
  scopeImplies: {
    'Mail.ReadWrite': ['Mail.Read'],
    'Calendars.ReadWrite': ['Calendars.Read'],
    'Contacts.ReadWrite': ['Contacts.Read'],
    'Files.ReadWrite': ['Files.Read'],
    'Files.Read.All': ['Files.Read'],
    'Files.ReadWrite.All': ['Files.ReadWrite', 'Files.Read.All', 'Files.Read'],
    'Sites.ReadWrite.All': ['Sites.Read.All'],
    'Tasks.ReadWrite': ['Tasks.Read'],
    'Notes.ReadWrite': ['Notes.Read'],
    'Chat.ReadWrite': ['Chat.Read'],
  },
  unreportedScopes: ['profile', 'email'],
  // The user has to sign in again, e.g. because of a new conditional access policy.
  tokenResponse: { refusedErrors: ['interaction_required'] },
} as const satisfies PresetMembers;

const notes = [
  'Microsoft has no revocation endpoint: after a disconnection the refresh token is deleted here, and stays valid there until it expires.',
  'One request can only ask for scopes of one API. The scopes described here are those of Microsoft Graph.',
  'Refresh tokens last 90 days without use (24 hours for single-page apps); every refresh brings a new one.',
];

/** People of one organisation. */
export const microsoftEntra = definePreset({
  name: 'microsoft-entra',
  displayName: 'Microsoft',
  documentation,
  pkce: 'documented',
  placeholders: {
    tenant: {
      kind: 'uuid',
      help: 'Directory (tenant) id of your organisation; a domain or "common" would not match the issuer of its tokens',
      example: '11111111-2222-4333-8444-555555555555',
    },
  },
  scopes,
  provider: {
    ...common,
    issuer: 'https://login.microsoftonline.com/{tenant}/v2.0',
    discovery: 'oidc',
    // Entra ID checks S256 but does not say so in its metadata.
    allowMissingPkceMetadata: true,
    account: { from: 'id_token', idClaim: 'oid', nameClaim: 'preferred_username' },
  },
  notes: [
    ...notes,
    'The metadata is silent about PKCE and about iss in callbacks (RFC 9207); neither can be required.',
  ],
});

/** People of any organisation, or with a personal account. */
export const microsoft = definePreset({
  name: 'microsoft',
  displayName: 'Microsoft',
  documentation,
  pkce: 'documented',
  placeholders: {
    accounts: {
      kind: 'choice',
      choices: ['common', 'organizations', 'consumers'],
      help: 'Whose accounts: of everybody, of organisations only, or personal ones only',
      example: 'organizations',
      fallback: 'common',
    },
  },
  scopes,
  provider: {
    ...common,
    authorizationEndpoint: 'https://login.microsoftonline.com/{accounts}/oauth2/v2.0/authorize',
    tokenEndpoint: 'https://login.microsoftonline.com/{accounts}/oauth2/v2.0/token',
    deviceAuthorizationEndpoint: 'https://login.microsoftonline.com/{accounts}/oauth2/v2.0/devicecode',
    userinfoEndpoint: 'https://graph.microsoft.com/oidc/userinfo',
    account: { from: 'userinfo', idClaim: 'sub', nameClaim: 'name' },
  },
  notes: [
    ...notes,
    'Endpoints are explicit, because the issuer of tokens is another one for every organisation. The account is read from Microsoft Graph, so at least one Graph scope must be granted.',
  ],
});
