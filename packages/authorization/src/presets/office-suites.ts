import { definePreset, type PresetMembers, type PresetScopes, standardScopes } from './preset.ts';

const googleScope = (name: string) => `https://www.googleapis.com/auth/${name}`;
const googleStandardScopes = standardScopes('openid', 'profile', 'email');

export const google = definePreset({
  name: 'google',
  displayName: 'Google',
  mark: { letters: 'Go', colour: '#4285f4' },
  documentation: 'https://developers.google.com/identity/protocols/oauth2/web-server',
  pkce: 'documented',
  scopeDocumentation: 'https://developers.google.com/identity/protocols/oauth2/scopes',
  scopes: {
    ...googleStandardScopes,
    [googleScope('userinfo.email')]: 'see',
    [googleScope('userinfo.profile')]: 'see',
    [googleScope('gmail.readonly')]: 'see',
    [googleScope('gmail.modify')]: 'delete',
    [googleScope('gmail.send')]: 'change',
    [googleScope('gmail.compose')]: 'delete',
    [googleScope('gmail.labels')]: 'delete',
    'https://mail.google.com/': 'delete',
    [googleScope('calendar')]: 'delete',
    [googleScope('calendar.readonly')]: 'see',
    [googleScope('calendar.events')]: 'delete',
    [googleScope('calendar.events.readonly')]: 'see',
    [googleScope('drive')]: 'delete',
    [googleScope('drive.readonly')]: 'see',
    [googleScope('drive.file')]: 'delete',
    [googleScope('drive.metadata.readonly')]: 'see',
    [googleScope('documents')]: 'delete',
    [googleScope('documents.readonly')]: 'see',
    [googleScope('spreadsheets')]: 'delete',
    [googleScope('spreadsheets.readonly')]: 'see',
    [googleScope('presentations')]: 'delete',
    [googleScope('presentations.readonly')]: 'see',
    [googleScope('contacts')]: 'delete',
    [googleScope('contacts.readonly')]: 'see',
    [googleScope('tasks')]: 'delete',
    [googleScope('tasks.readonly')]: 'see',
    [googleScope('youtube.readonly')]: 'see',
    [googleScope('youtube.upload')]: 'change',
    [googleScope('cloud-platform')]: 'delete',
    [googleScope('bigquery')]: 'delete',
  },
  provider: {
    apiHosts: ['*.googleapis.com'],
    issuer: 'https://accounts.google.com',
    // The response to a refresh has no refresh token: developers.google.com/identity/protocols/oauth2/web-server#offline
    refresh: { rotates: false },
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

const microsoftScopes: PresetScopes = {
  ...standardScopes('openid', 'profile', 'email', 'offline_access'),
  'User.Read': 'see',
  'User.ReadBasic.All': 'see',
  'Mail.Read': 'see',
  'Mail.ReadWrite': 'delete',
  'Mail.Send': 'change',
  'Calendars.Read': 'see',
  'Calendars.ReadWrite': 'delete',
  'Contacts.Read': 'see',
  'Contacts.ReadWrite': 'delete',
  'Files.Read': 'see',
  'Files.ReadWrite': 'delete',
  'Files.Read.All': 'see',
  'Files.ReadWrite.All': 'delete',
  'Sites.Read.All': 'see',
  'Sites.ReadWrite.All': 'delete',
  'Tasks.Read': 'see',
  'Tasks.ReadWrite': 'delete',
  'Notes.Read': 'see',
  'Notes.ReadWrite': 'delete',
  'Chat.Read': 'see',
  'Chat.ReadWrite': 'delete',
  'ChannelMessage.Send': 'change',
  'Team.ReadBasic.All': 'see',
  'OnlineMeetings.ReadWrite': 'delete',
  '.default': 'delete',
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
  // Names without a resource are those of Microsoft Graph, also under its application id:
  // https://learn.microsoft.com/en-us/entra/identity-platform/scopes-oidc. Microsoft's own libraries compare scopes without case.
  scopeSpelling: {
    prefixes: ['https://graph.microsoft.com/', '00000003-0000-0000-c000-000000000000/'],
    ignoreCase: true,
  },
  // .default asks for the permissions of the app; responses name these.
  unreportedScopes: ['profile', 'email', '.default', '*/.default'],
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
  mark: { letters: 'Ms', colour: '#0078d4' },
  documentation: microsoftDocumentation,
  pkce: 'documented',
  placeholders: {
    tenant: {
      kind: 'uuid',
      help: 'Directory (tenant) id of your organisation. A domain or "common" would not match the issuer of the tokens',
      example: '11111111-2222-4333-8444-555555555555',
    },
  },
  scopeDocumentation: 'https://learn.microsoft.com/en-us/graph/permissions-reference',
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
  mark: { letters: 'Ms', colour: '#0078d4' },
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
  scopeDocumentation: 'https://learn.microsoft.com/en-us/graph/permissions-reference',
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
    'The preset has explicit endpoints, because each organisation has its own token issuer. Postern reads the account from Microsoft Graph. The account of a connection with scopes of another API is therefore unknown.',
  ],
});
