import { definePreset, inWords } from './preset.ts';
import { standardScopes } from './standard-scopes.ts';

const auth = (name: string) => `https://www.googleapis.com/auth/${name}`;
const standard = standardScopes('openid', 'profile', 'email');

export const google = definePreset({
  name: 'google',
  displayName: 'Google',
  documentation: 'https://developers.google.com/identity/protocols/oauth2/web-server',
  pkce: 'documented',
  scopes: {
    ...standard,
    ...inWords({
      [auth('userinfo.email')]: ['See your email address', '查看您的电子邮件地址'],
      [auth('userinfo.profile')]: ['See your name', '查看您的姓名'],
      [auth('gmail.readonly')]: ['Read your email', '读取您的电子邮件'],
      [auth('gmail.modify')]: ['Read, sort and send your email', '读取、整理和发送您的电子邮件'],
      [auth('gmail.send')]: ['Send email for you', '代您发送电子邮件'],
      [auth('gmail.compose')]: ['Write drafts and send email for you', '代您撰写草稿和发送电子邮件'],
      [auth('gmail.labels')]: ['See and change your email labels', '查看和修改您的邮件标签'],
      'https://mail.google.com/': ['Read, send and delete all your email', '读取、发送和删除您的全部电子邮件'],
      [auth('calendar')]: ['See, change and delete your calendars', '查看、修改和删除您的日历'],
      [auth('calendar.readonly')]: ['See your calendars', '查看您的日历'],
      [auth('calendar.events')]: ['See and change events in your calendars', '查看和修改您日历中的活动'],
      [auth('calendar.events.readonly')]: ['See events in your calendars', '查看您日历中的活动'],
      [auth('drive')]: ['See, change and delete all your Drive files', '查看、修改和删除您的全部云端硬盘文件'],
      [auth('drive.readonly')]: ['See and download all your Drive files', '查看和下载您的全部云端硬盘文件'],
      [auth('drive.file')]: [
        'See and change the Drive files that you use with it',
        '查看和修改您与其共用的云端硬盘文件',
      ],
      [auth('drive.metadata.readonly')]: [
        'See names and details of your Drive files',
        '查看您云端硬盘文件的名称和详情',
      ],
      [auth('documents')]: ['See, change and delete your Docs documents', '查看、修改和删除您的文档'],
      [auth('documents.readonly')]: ['See your Docs documents', '查看您的文档'],
      [auth('spreadsheets')]: ['See, change and delete your Sheets', '查看、修改和删除您的电子表格'],
      [auth('spreadsheets.readonly')]: ['See your Sheets', '查看您的电子表格'],
      [auth('presentations')]: ['See, change and delete your Slides', '查看、修改和删除您的演示文稿'],
      [auth('presentations.readonly')]: ['See your Slides', '查看您的演示文稿'],
      [auth('contacts')]: ['See, change and delete your contacts', '查看、修改和删除您的联系人'],
      [auth('contacts.readonly')]: ['See your contacts', '查看您的联系人'],
      [auth('tasks')]: ['See, change and delete your tasks', '查看、修改和删除您的任务'],
      [auth('tasks.readonly')]: ['See your tasks', '查看您的任务'],
      [auth('youtube.readonly')]: ['See your YouTube account', '查看您的 YouTube 账户'],
      [auth('youtube.upload')]: ['Upload and manage your YouTube videos', '上传和管理您的 YouTube 视频'],
      [auth('cloud-platform')]: [
        'See and change everything in your Google Cloud',
        '查看和修改您 Google Cloud 中的一切',
      ],
      [auth('bigquery')]: ['See and change your data in BigQuery', '查看和修改您 BigQuery 中的数据'],
    }),
  },
  provider: {
    issuer: 'https://accounts.google.com',
    discovery: 'oidc',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['openid', 'email'],
    incrementalScopes: true,
    // A refresh token is only issued with access_type=offline, and after the first time only with prompt=consent.
    authorizationParameters: { access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true' },
    // Answers use the long names, whatever was asked for.
    scopeImplies: {
      email: [auth('userinfo.email')],
      [auth('userinfo.email')]: ['email'],
      profile: [auth('userinfo.profile')],
      [auth('userinfo.profile')]: ['profile'],
      [auth('gmail.modify')]: [auth('gmail.readonly')],
      [auth('calendar')]: [auth('calendar.readonly'), auth('calendar.events'), auth('calendar.events.readonly')],
      [auth('calendar.events')]: [auth('calendar.events.readonly')],
      [auth('drive')]: [auth('drive.readonly'), auth('drive.file'), auth('drive.metadata.readonly')],
      [auth('drive.readonly')]: [auth('drive.metadata.readonly')],
      [auth('documents')]: [auth('documents.readonly')],
      [auth('spreadsheets')]: [auth('spreadsheets.readonly')],
      [auth('presentations')]: [auth('presentations.readonly')],
      [auth('contacts')]: [auth('contacts.readonly')],
      [auth('tasks')]: [auth('tasks.readonly')],
    },
    account: { from: 'id_token', idClaim: 'sub', nameClaim: 'email' },
    revocation: { reach: 'grant', unknownTokenErrors: ['invalid_token'] },
  },
  notes: [
    'Revoking ends everything that the user ever granted to this client, so also connections of other MCP servers that use the same client.',
    'An app in the status Testing gets refresh tokens that end after seven days; there are at most 100 refresh tokens per user and client.',
    'Gmail, Drive and other restricted scopes need a verification by Google before people outside the organisation can use them.',
  ],
});
