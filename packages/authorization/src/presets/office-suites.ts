import { definePreset, inWords, type PresetMembers, standardScopes } from './preset.ts';

const googleScope = (name: string) => `https://www.googleapis.com/auth/${name}`;
const googleStandardScopes = standardScopes('openid', 'profile', 'email');

export const google = definePreset({
  name: 'google',
  displayName: 'Google',
  documentation: 'https://developers.google.com/identity/protocols/oauth2/web-server',
  pkce: 'documented',
  scopes: {
    ...googleStandardScopes,
    ...inWords({
      [googleScope('userinfo.email')]: ['See your email address', '查看您的电子邮件地址'],
      [googleScope('userinfo.profile')]: ['See your name', '查看您的姓名'],
      [googleScope('gmail.readonly')]: ['Read your email', '读取您的电子邮件'],
      [googleScope('gmail.modify')]: ['Read, sort and send your email', '读取、整理和发送您的电子邮件'],
      [googleScope('gmail.send')]: ['Send email for you', '代您发送电子邮件'],
      [googleScope('gmail.compose')]: ['Write drafts and send email for you', '代您撰写草稿和发送电子邮件'],
      [googleScope('gmail.labels')]: ['See and change your email labels', '查看和修改您的邮件标签'],
      'https://mail.google.com/': ['Read, send and delete all your email', '读取、发送和删除您的全部电子邮件'],
      [googleScope('calendar')]: ['See, change and delete your calendars', '查看、修改和删除您的日历'],
      [googleScope('calendar.readonly')]: ['See your calendars', '查看您的日历'],
      [googleScope('calendar.events')]: ['See and change events in your calendars', '查看和修改您日历中的活动'],
      [googleScope('calendar.events.readonly')]: ['See events in your calendars', '查看您日历中的活动'],
      [googleScope('drive')]: ['See, change and delete all your Drive files', '查看、修改和删除您的全部云端硬盘文件'],
      [googleScope('drive.readonly')]: ['See and download all your Drive files', '查看和下载您的全部云端硬盘文件'],
      [googleScope('drive.file')]: [
        'See and change the Drive files that you use with it',
        '查看和修改您与其共用的云端硬盘文件',
      ],
      [googleScope('drive.metadata.readonly')]: [
        'See names and details of your Drive files',
        '查看您云端硬盘文件的名称和详情',
      ],
      [googleScope('documents')]: ['See, change and delete your Docs documents', '查看、修改和删除您的文档'],
      [googleScope('documents.readonly')]: ['See your Docs documents', '查看您的文档'],
      [googleScope('spreadsheets')]: ['See, change and delete your Sheets', '查看、修改和删除您的电子表格'],
      [googleScope('spreadsheets.readonly')]: ['See your Sheets', '查看您的电子表格'],
      [googleScope('presentations')]: ['See, change and delete your Slides', '查看、修改和删除您的演示文稿'],
      [googleScope('presentations.readonly')]: ['See your Slides', '查看您的演示文稿'],
      [googleScope('contacts')]: ['See, change and delete your contacts', '查看、修改和删除您的联系人'],
      [googleScope('contacts.readonly')]: ['See your contacts', '查看您的联系人'],
      [googleScope('tasks')]: ['See, change and delete your tasks', '查看、修改和删除您的任务'],
      [googleScope('tasks.readonly')]: ['See your tasks', '查看您的任务'],
      [googleScope('youtube.readonly')]: ['See your YouTube account', '查看您的 YouTube 账户'],
      [googleScope('youtube.upload')]: ['Upload and manage your YouTube videos', '上传和管理您的 YouTube 视频'],
      [googleScope('cloud-platform')]: [
        'See and change everything in your Google Cloud',
        '查看和修改您 Google Cloud 中的一切',
      ],
      [googleScope('bigquery')]: ['See and change your data in BigQuery', '查看和修改您 BigQuery 中的数据'],
    }),
  },
  provider: {
    apiHosts: ['*.googleapis.com'],
    issuer: 'https://accounts.google.com',
    discovery: 'oidc',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['openid', 'email'],
    incrementalScopes: true,
    // A refresh token is only issued with access_type=offline, and after the first time only with prompt=consent.
    authorizationParameters: { access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true' },
    // Responses always use the long names.
    scopeImplies: {
      email: [googleScope('userinfo.email')],
      [googleScope('userinfo.email')]: ['email'],
      profile: [googleScope('userinfo.profile')],
      [googleScope('userinfo.profile')]: ['profile'],
      [googleScope('gmail.modify')]: [googleScope('gmail.readonly')],
      [googleScope('calendar')]: [
        googleScope('calendar.readonly'),
        googleScope('calendar.events'),
        googleScope('calendar.events.readonly'),
      ],
      [googleScope('calendar.events')]: [googleScope('calendar.events.readonly')],
      [googleScope('drive')]: [
        googleScope('drive.readonly'),
        googleScope('drive.file'),
        googleScope('drive.metadata.readonly'),
      ],
      [googleScope('drive.readonly')]: [googleScope('drive.metadata.readonly')],
      [googleScope('documents')]: [googleScope('documents.readonly')],
      [googleScope('spreadsheets')]: [googleScope('spreadsheets.readonly')],
      [googleScope('presentations')]: [googleScope('presentations.readonly')],
      [googleScope('contacts')]: [googleScope('contacts.readonly')],
      [googleScope('tasks')]: [googleScope('tasks.readonly')],
    },
    account: { from: 'id_token', idClaim: 'sub', nameClaim: 'email' },
    revocation: { reach: 'grant', unknownTokenErrors: ['invalid_token'] },
  },
  notes: [
    'A revocation ends everything that the user ever granted to this client, including connections of other MCP servers that use the same client.',
    'Refresh tokens of an app in the status Testing expire after seven days. Each user has at most 100 refresh tokens per client.',
    'Google must verify the app before people outside the organisation can use Gmail, Drive and other restricted scopes.',
  ],
});

const microsoftDocumentation = 'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow';

const microsoftScopes = {
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

const microsoftMembers = {
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

const microsoftNotes = [
  'Microsoft has no revocation endpoint. After a disconnection, Postern deletes the refresh token, but it stays valid at Microsoft until it expires.',
  'A request can contain only scopes of one API. The preset describes the scopes of Microsoft Graph.',
  'Refresh tokens expire after 90 days without use (24 hours for single-page apps). Every refresh returns a new one.',
];

/** Accounts of one organisation. */
export const microsoftEntra = definePreset({
  name: 'microsoft-entra',
  displayName: 'Microsoft',
  documentation: microsoftDocumentation,
  pkce: 'documented',
  placeholders: {
    tenant: {
      kind: 'uuid',
      help: 'Directory (tenant) id of your organisation. A domain or "common" would not match the issuer of the tokens',
      example: '11111111-2222-4333-8444-555555555555',
    },
  },
  scopes: microsoftScopes,
  provider: {
    ...microsoftMembers,
    issuer: 'https://login.microsoftonline.com/{tenant}/v2.0',
    discovery: 'oidc',
    // Entra ID checks S256 but does not say so in its metadata.
    allowMissingPkceMetadata: true,
    account: { from: 'id_token', idClaim: 'oid', nameClaim: 'preferred_username' },
  },
  notes: [
    ...microsoftNotes,
    'The metadata mentions neither PKCE nor iss in callbacks (RFC 9207), so Postern cannot require them.',
  ],
});

/** Accounts of any organisation, and personal accounts. */
export const microsoft = definePreset({
  name: 'microsoft',
  displayName: 'Microsoft',
  documentation: microsoftDocumentation,
  pkce: 'documented',
  placeholders: {
    accounts: {
      kind: 'choice',
      choices: ['common', 'organizations', 'consumers'],
      help: 'Accepted accounts: all, only those of organisations, or only personal ones',
      example: 'organizations',
      fallback: 'common',
    },
  },
  scopes: microsoftScopes,
  provider: {
    ...microsoftMembers,
    authorizationEndpoint: 'https://login.microsoftonline.com/{accounts}/oauth2/v2.0/authorize',
    tokenEndpoint: 'https://login.microsoftonline.com/{accounts}/oauth2/v2.0/token',
    deviceAuthorizationEndpoint: 'https://login.microsoftonline.com/{accounts}/oauth2/v2.0/devicecode',
    userinfoEndpoint: 'https://graph.microsoft.com/oidc/userinfo',
    account: { from: 'userinfo', idClaim: 'sub', nameClaim: 'name' },
  },
  notes: [
    ...microsoftNotes,
    'The preset has explicit endpoints, because each organisation has its own token issuer. Postern reads the account from Microsoft Graph, so at least one Graph scope must be granted.',
  ],
});
