/** For tests: every page there is, with ordinary and with extreme contents. */
import { connectPage } from './pages/connect-page.ts';
import { donePage } from './pages/done-page.ts';
import { declinedPage, endedPage, workingPage } from './pages/ended-pages.ts';
import { leavingPage } from './pages/leaving-page.ts';
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
    scopes: [{ scope: `https://api.example.org/auth/${longWord}` }, { scope: 'x', description: longWord }],
  },
  message: `${longWord} ${'مرحبا بالعالم '.repeat(6)} ${'word '.repeat(60)}`,
  requestedBy: { mcpClient: longWord, tool: longWord },
  matchCode: 'K7-42-99-AB',
  notice: 'provider_denied' as const,
};

const mcpServer = sampleMcpServer;
const returnHref = 'https://issues.northwind.example/back';

export const samplePages: Readonly<Record<string, (context: PageContext) => string>> = {
  'sign-in': context => signInPage(context, { continueHref: '/login', destinationHost: 'login.northwind.example' }),
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
