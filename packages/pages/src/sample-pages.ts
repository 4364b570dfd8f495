/** For tests: every page there is, with ordinary and with extreme contents. */
import { connectPage } from './pages/connect-page.ts';
import { devicePage } from './pages/device-page.ts';
import { disconnectedPage, disconnectPage } from './pages/disconnect-pages.ts';
import { donePage } from './pages/done-page.ts';
import { declinedPage, endedPage, workingPage } from './pages/ended-pages.ts';
import { leavingPage } from './pages/leaving-page.ts';
import { type ConnectionView, mePage } from './pages/me-page.ts';
import { errorPage, notFoundPage, wrongBrowserPage, wrongPersonPage } from './pages/refusal-pages.ts';
import { signedOutPage, signInFailedPage, signInPage } from './pages/sign-in-pages.ts';
import type { AuthorizationView, Branding, McpServerView, PageContext, PersonView } from './views.ts';

export const sampleBranding: Branding = { name: 'Northwind', supportUrl: 'https://help.northwind.example/' };

export const sampleMcpServer: McpServerView = { name: 'Issue Tracker', host: 'issues.northwind.example' };

export const samplePerson: PersonView = {
  displayName: 'Ada Okafor',
  detail: 'ada@northwind.example',
  signInHost: 'login.northwind.example',
};

export const sampleAuthorization: AuthorizationView = {
  providerName: 'GitHub',
  destinationHost: 'github.com',
  scopes: [
    { scope: 'repo', description: 'Read and change your repositories, private ones too' },
    { scope: 'read:user', description: 'Read your profile' },
    { scope: 'workflow' },
  ],
};

export const sampleConnect = {
  mcpServer: sampleMcpServer,
  person: samplePerson,
  authorization: sampleAuthorization,
  message: 'I need this to open the issue you asked for in northwind/website.',
  requestedBy: { mcpClient: 'Desk Assistant', tool: 'create_issue' },
  matchCode: 'K7-42',
  expiresAt: new Date('2026-03-04T14:32:00Z'),
  now: new Date('2026-03-04T14:22:00Z'),
  acceptAction: '/e/0a.sample/accept',
  declineAction: '/e/0a.sample/decline',
  switchAccountAction: '/logout',
  csrfToken: 'csrf-value',
};

/** The same ask to a person who connected the account in winter. */
const reconnecting = (reason: 'refused' | 'rejected' | 'expired' | 'more_scopes') => ({
  ...sampleConnect,
  authorization: { ...sampleAuthorization, reconnect: { reason, connectedAt: new Date('2026-01-07T09:05:00Z') } },
});

const manyScopes = [
  'Read your profile',
  'Read your email addresses',
  'Read and change your repositories, private ones too',
  'Read and change your issues and pull requests',
  'Read the members of your organisations',
].map((description, index) => ({ scope: `scope-${index}`, description }));

const releaseNotes: McpServerView = { name: 'Release Notes', host: 'notes.northwind.example' };

export const sampleDevice = {
  mcpServer: sampleMcpServer,
  providerName: 'Living Room TV',
  userCode: 'WDJB-MJHT',
  verificationHref: 'https://tv.example/activate',
  person: samplePerson,
  expiresAt: new Date('2026-03-04T14:32:00Z'),
  now: new Date('2026-03-04T14:22:00Z'),
  checkAction: '/e/0a.sample/device',
  backHref: '/e/0a.sample',
  csrfToken: 'csrf-value',
};

export const sampleConnection: ConnectionView = {
  providerName: 'GitHub',
  accountName: 'ada-okafor',
  mcpServers: [sampleMcpServer],
  scopes: sampleAuthorization.scopes,
  connectedAt: new Date('2026-01-07T09:05:00Z'),
  lastUse: { at: new Date('2026-03-04T14:20:00Z'), mcpServerName: 'Issue Tracker', tool: 'create_issue' },
  disconnectHref: '/me/connections/0a.github',
};

export const sampleMe = {
  signedIn: { person: samplePerson, signOutAction: '/logout', csrfToken: 'csrf-value' },
  waiting: [
    {
      mcpServer: releaseNotes,
      providerName: 'Notion',
      expiresAt: new Date('2026-03-04T14:32:00Z'),
      now: new Date('2026-03-04T14:22:00Z'),
      openHref: '/e/0a.sample',
    },
  ],
  connections: [
    sampleConnection,
    {
      providerName: 'Google',
      accountName: 'ada@northwind.example',
      mcpServers: [sampleMcpServer, releaseNotes],
      scopes: manyScopes,
      connectedAt: new Date('2025-11-21T16:40:00Z'),
      lastUse: { at: new Date('2026-02-11T08:01:00Z'), mcpServerName: 'Release Notes' },
      lost: 'refused' as const,
      disconnectHref: '/me/connections/0a.google',
    },
    {
      providerName: 'Dropbox',
      mcpServers: [],
      scopes: [],
      connectedAt: new Date('2026-03-01T00:00:00Z'),
      disconnectHref: '/me/connections/0a.dropbox',
    },
  ],
};

const sampleDisconnect = {
  ...sampleConnection,
  provider: 'revoke' as const,
  disconnectAction: '/me/connections/0a.github/disconnect',
  keepHref: '/me',
  csrfToken: 'csrf-value',
};

const sampleDisconnected = { ...sampleConnection, provider: 'revoked' as const, backHref: '/me' };

const longWord = 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft';
const longHost = `${'very-long-label-that-goes-on-and-on.'.repeat(5)}example.org:8443`;
const longMcpServer: McpServerView = { name: longWord, host: longHost, logoPath: '/assets/logo.svg' };

/** What an operator, an MCP server and a person may at worst send through. */
const extremeConnect = {
  ...sampleConnect,
  mcpServer: longMcpServer,
  person: { displayName: longWord, detail: `${longWord}@${longWord}.example`, signInHost: longHost },
  authorization: {
    providerName: longWord,
    destinationHost: longHost,
    scopes: [
      { scope: `https://api.example.org/auth/${longWord}`, isNew: true },
      { scope: 'x', description: longWord },
    ],
    reconnect: { reason: 'rejected' as const, connectedAt: new Date('2026-01-07T09:05:00Z') },
  },
  message: `${longWord} ${'مرحبا بالعالم '.repeat(6)} ${'word '.repeat(60)}`,
  requestedBy: { mcpClient: longWord, tool: longWord },
  matchCode: 'K7-42-99-AB',
  notice: 'fewer_scopes' as const,
  missing: [{ scope: `https://api.example.org/auth/${longWord}` }],
};

const extremeConnection: ConnectionView = {
  providerName: longWord,
  accountName: `${longWord}@${longWord}.example`,
  mcpServers: [longMcpServer, sampleMcpServer, releaseNotes],
  scopes: extremeConnect.authorization.scopes,
  connectedAt: new Date('2026-01-07T09:05:00Z'),
  lastUse: { at: new Date('2026-03-04T14:20:00Z'), mcpServerName: longWord, tool: longWord },
  lost: 'rejected',
  disconnectHref: '/me/connections/0a.long',
};

const mcpServer = sampleMcpServer;
const returnHref = 'https://issues.northwind.example/back';

export const samplePages: Readonly<Record<string, (context: PageContext) => string>> = {
  'sign-in': context => signInPage(context, { continueHref: '/login', destinationHost: 'login.northwind.example' }),
  'sign-in-connections': context => signInPage(context, { continueHref: '/login', purpose: 'connections' }),
  'sign-in-plain': context => signInPage(context, { continueHref: '/login' }),
  connect: context => connectPage(context, sampleConnect),
  'connect-loopback': context => {
    const { person: _person, switchAccountAction: _action, message: _message, ...view } = sampleConnect;
    return connectPage(context, { ...view, authorization: { ...sampleAuthorization, scopes: [] } });
  },
  'connect-denied': context => connectPage(context, { ...sampleConnect, notice: 'provider_denied' }),
  'connect-unavailable': context => connectPage(context, { ...sampleConnect, notice: 'provider_unavailable' }),
  'connect-refused': context => connectPage(context, { ...sampleConnect, notice: 'provider_refused' }),
  'connect-wrong-account': context => connectPage(context, { ...sampleConnect, notice: 'wrong_account' }),
  'connect-start-again': context => connectPage(context, { ...sampleConnect, notice: 'start_again' }),
  'connect-fewer-scopes': context =>
    connectPage(context, {
      ...sampleConnect,
      notice: 'fewer_scopes',
      missing: [{ scope: 'repo', description: 'Read and change your repositories, private ones too' }],
    }),
  'connect-scopes-changed': context => connectPage(context, { ...sampleConnect, notice: 'scopes_changed' }),
  'connect-again-refused': context => connectPage(context, { ...reconnecting('refused'), shown: 'shown-value' }),
  'connect-again-rejected': context => connectPage(context, reconnecting('rejected')),
  'connect-again-expired': context => connectPage(context, reconnecting('expired')),
  'connect-more': context => {
    const view = reconnecting('more_scopes');
    const scopes = view.authorization.scopes.map((scope, index) => ({ ...scope, isNew: index === 0 }));
    return connectPage(context, { ...view, authorization: { ...view.authorization, scopes } });
  },
  'connect-more-of-many': context => {
    const view = reconnecting('more_scopes');
    const scopes = [...manyScopes, { scope: 'workflow', description: 'Change your workflows', isNew: true }];
    return connectPage(context, { ...view, authorization: { ...view.authorization, scopes } });
  },
  'connect-extreme': context => connectPage(context, extremeConnect),
  leaving: context =>
    leavingPage(context, {
      mcpServer,
      providerName: 'GitHub',
      destinationHost: 'github.com',
      continueHref: 'https://github.com/login/oauth/authorize?client_id=1&scope=repo',
      backHref: '/e/0a.sample',
    }),
  'leaving-extreme': context =>
    leavingPage(context, {
      mcpServer: longMcpServer,
      providerName: longWord,
      destinationHost: longHost,
      continueHref: `https://${longHost}/authorize`,
      backHref: '/e/0a.sample',
    }),
  device: context => devicePage(context, sampleDevice),
  'device-not-yet': context => devicePage(context, { ...sampleDevice, notice: 'not_yet' }),
  'device-wait': context => {
    const { person: _person, now: _now, ...view } = sampleDevice;
    return devicePage(context, { ...view, notice: 'wait' });
  },
  'device-extreme': context =>
    devicePage(context, {
      ...sampleDevice,
      mcpServer: longMcpServer,
      providerName: longWord,
      userCode: 'BCDF-GHJK-LMNP-QRST-VWXZ-0123456789',
      verificationHref: `https://${longHost}/activate`,
    }),
  me: context => mePage(context, sampleMe),
  'me-empty': context => mePage(context, { ...sampleMe, waiting: [], connections: [] }),
  'me-loopback': context => mePage(context, { waiting: [], connections: [sampleConnection] }),
  'me-extreme': context =>
    mePage(context, {
      signedIn: {
        ...sampleMe.signedIn,
        person: { displayName: longWord, detail: `${longWord}@${longWord}.example`, signInHost: longHost },
      },
      waiting: [
        {
          mcpServer: longMcpServer,
          providerName: longWord,
          expiresAt: new Date('2026-03-04T14:32:00Z'),
          openHref: '/e/0a.sample',
        },
      ],
      connections: [extremeConnection, { ...extremeConnection, lost: 'expired' }],
    }),
  disconnect: context => disconnectPage(context, sampleDisconnect),
  'disconnect-unsupported': context =>
    disconnectPage(context, {
      ...sampleDisconnect,
      mcpServers: [sampleMcpServer, releaseNotes],
      provider: 'unsupported',
      providerHref: 'https://github.com/settings/applications',
    }),
  'disconnect-shared': context => disconnectPage(context, { ...sampleDisconnect, mcpServers: [], provider: 'shared' }),
  'disconnect-extreme': context =>
    disconnectPage(context, {
      ...sampleDisconnect,
      ...extremeConnection,
      provider: 'unsupported',
      providerHref: `https://${longHost}/settings`,
    }),
  disconnected: context => disconnectedPage(context, sampleDisconnected),
  'disconnected-pending': context => disconnectedPage(context, { ...sampleDisconnected, provider: 'pending' }),
  'disconnected-unsupported': context =>
    disconnectedPage(context, {
      ...sampleDisconnected,
      provider: 'unsupported',
      providerHref: 'https://github.com/settings/applications',
    }),
  'disconnected-shared': context =>
    disconnectedPage(context, { ...sampleDisconnected, mcpServers: [], provider: 'shared' }),
  'disconnected-extreme': context =>
    disconnectedPage(context, {
      ...extremeConnection,
      provider: 'unsupported',
      providerHref: `https://${longHost}/settings`,
      backHref: '/me',
    }),
  done: context =>
    donePage(context, {
      mcpServer,
      providerName: 'GitHub',
      accountName: 'ada-okafor',
      scopes: sampleAuthorization.scopes,
      returnHref,
    }),
  'done-plain': context => donePage(context, { mcpServer, providerName: 'GitHub', scopes: [] }),
  working: context => workingPage(context, { mcpServer, reloadHref: '/e/0a.sample' }),
  declined: context => declinedPage(context, { mcpServer, returnHref }),
  'declined-plain': context => declinedPage(context, { mcpServer }),
  expired: context => endedPage(context, { mcpServer, reason: 'expired' }),
  cancelled: context => endedPage(context, { mcpServer, reason: 'cancelled' }),
  failed: context => endedPage(context, { mcpServer, reason: 'failed' }),
  'wrong-person': context =>
    wrongPersonPage(context, { person: samplePerson, switchAccountAction: '/logout', csrfToken: 'csrf-value' }),
  'wrong-browser': wrongBrowserPage,
  'signed-out': signedOutPage,
  'not-found': notFoundPage,
  'sign-in-failed': context => signInFailedPage(context, { retryHref: '/login' }),
  'error-bad-request': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'bad_request' }),
  'error-forbidden': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'forbidden' }),
  'error-too-many-requests': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'too_many_requests' }),
  'error-unavailable': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'unavailable' }),
  'error-internal': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'internal' }),
};
