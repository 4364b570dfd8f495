/** Every page, with ordinary and with extreme content. */
import { connectPage } from '../pages/connect-page.ts';
import { devicePage } from '../pages/device-page.ts';
import { disconnectedPage, disconnectPage } from '../pages/disconnect-pages.ts';
import { donePage } from '../pages/done-page.ts';
import { declinedPage, endedPage, workingPage } from '../pages/ended-pages.ts';
import { leavingPage } from '../pages/leaving-page.ts';
import { mePage } from '../pages/me-page.ts';
import { errorPage, noRequestPage, notFoundPage, wrongBrowserPage, wrongPersonPage } from '../pages/refusal-pages.ts';
import { signedOutPage, signInAgainPage, signInFailedPage, signInPage } from '../pages/sign-in-pages.ts';
import type { PageContext } from '../views.ts';
import { sampleAccountPages } from './sample-account-pages.ts';
import { sampleApprovalPages } from './sample-approval-pages.ts';
import { sampleEntryPages } from './sample-entry-pages.ts';
import { sampleProtectionPages } from './sample-protection-pages.ts';
import {
  belowMe,
  everyRisk,
  extremeConnect,
  extremeConnection,
  longHost,
  longMcpServer,
  longWord,
  manyScopes,
  reconnecting,
  releaseNotes,
  sampleAuthorization,
  sampleConnect,
  sampleConnection,
  sampleDevice,
  sampleDisconnect,
  sampleDisconnected,
  sampleMcpServer,
  sampleMe,
  samplePerson,
} from './sample-views.ts';

const mcpServer = sampleMcpServer;
const passkeysChangedAt = new Date('2026-03-01T21:07:00Z');
const returnHref = 'https://issues.northwind.example/back';

export const samplePages: Readonly<Record<string, (context: PageContext) => string>> = {
  ...sampleApprovalPages,
  ...sampleEntryPages,
  ...sampleProtectionPages,
  ...sampleAccountPages,
  'sign-in': context => signInPage(context, { continueHref: '/login', destinationHost: 'login.northwind.example' }),
  'sign-in-connections': context => signInPage(context, { continueHref: '/login', purpose: 'connections' }),
  'sign-in-plain': context => signInPage(context, { continueHref: '/login' }),
  'sign-in-choice': context =>
    signInPage(context, {
      purpose: 'connections',
      choices: [
        { name: 'Northwind staff', href: '/login?to=me&idp=staff' },
        { name: 'Northwind customers', href: '/login?to=me&idp=customers' },
        { name: longWord, href: '/login?to=me&idp=long' },
      ],
    }),
  connect: context => connectPage(context, sampleConnect),
  'connect-passkeys-changed': context => connectPage({ ...context, passkeysChangedAt }, sampleConnect),
  'connect-loopback': context => {
    const { person: _person, switchAccountAction: _action, message: _message, ...view } = sampleConnect;
    return connectPage(context, { ...view, authorization: { ...sampleAuthorization, scopes: [] } });
  },
  'connect-denied': context => connectPage(context, { ...sampleConnect, notice: 'provider_denied' }),
  'connect-unavailable': context => connectPage(context, { ...sampleConnect, notice: 'provider_unavailable' }),
  'connect-misconfigured': context =>
    connectPage(
      { ...context, operatorReference: 'rq_8f2c1d00aa11bb22' },
      { ...sampleConnect, notice: 'provider_unavailable' },
    ),
  'connect-refused': context => connectPage(context, { ...sampleConnect, notice: 'provider_refused' }),
  'connect-wrong-account': context => connectPage(context, { ...sampleConnect, notice: 'wrong_account' }),
  'connect-start-again': context => connectPage(context, { ...sampleConnect, notice: 'start_again' }),
  'connect-fewer-scopes': context =>
    connectPage(context, {
      ...sampleConnect,
      notice: 'fewer_scopes',
      missing: sampleAuthorization.scopes.slice(0, 1),
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
    const scopes = [...manyScopes, { scope: 'audit_log', isNew: true }];
    return connectPage(context, { ...view, authorization: { ...view.authorization, scopes } });
  },
  'connect-every-risk': context =>
    connectPage(context, { ...sampleConnect, authorization: { ...sampleAuthorization, scopes: everyRisk } }),
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
  'me-loopback': context =>
    mePage(context, { waiting: [], connections: [sampleConnection], credentials: [], passkeys: [], ...belowMe }),
  'me-extreme': context =>
    mePage(context, {
      signedIn: {
        ...sampleMe.signedIn,
        person: { displayName: longWord, detail: `${longWord}@${longWord}.example`, signInHost: longHost },
      },
      waiting: [
        {
          mcpServer: longMcpServer,
          about: { kind: 'authorization', providerName: longWord },
          expiresAt: new Date('2026-03-04T14:32:00Z'),
          openHref: '/e/0a.sample',
        },
      ],
      connections: [extremeConnection, { ...extremeConnection, lost: 'expired' }],
      credentials: [],
      passkeys: [],
      ...belowMe,
    }),
  'connect-remote-resource': context =>
    connectPage(context, {
      ...sampleConnect,
      authorization: {
        providerName: 'Fabrikam Design',
        destinationHost: 'id.design.example',
        resourceHost: 'mcp.design.example',
        scopes: [
          {
            scope: 'files:read',
            description: { en: 'See your drawings', de: 'Ihre Zeichnungen sehen' },
            access: 'see',
          },
        ],
      },
      message: {
        en: 'I need the drawing that you mentioned.',
        de: 'Ich brauche die Zeichnung, die Sie erwähnt haben.',
      },
      requestedBy: { mcpClient: 'Desk Assistant', tool: 'read_drawing' },
    }),
  disconnect: context => disconnectPage(context, sampleDisconnect),
  'disconnect-unsupported': context =>
    disconnectPage(context, {
      ...sampleDisconnect,
      mcpServers: [sampleMcpServer, releaseNotes],
      provider: 'unsupported',
      accessUntil: new Date('2026-03-04T15:22:00Z'),
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
  'disconnected-refresh-token': context =>
    disconnectedPage(context, {
      ...sampleDisconnected,
      provider: 'refresh_token_revoked',
      accessUntil: new Date('2026-03-04T15:22:00Z'),
    }),
  'disconnected-access-token': context =>
    disconnectedPage(context, { ...sampleDisconnected, provider: 'access_token_revoked' }),
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
      accessUntil: 'unknown',
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
      connectionsHref: '/me',
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
  'no-request': context => noRequestPage(context, { requestHref: '/e/el_sample' }),
  'no-request-signed-out': context => noRequestPage(context, {}),
  'signed-out': context =>
    signedOutPage(context, { endSessionHref: 'https://id.example.com/session/end?client_id=postern' }),
  'not-found': notFoundPage,
  'sign-in-again': context => signInAgainPage(context, { appName: longMcpServer.name }),
  'sign-in-failed': context => signInFailedPage(context, { retryHref: '/login' }),
  'sign-in-misconfigured': context =>
    signInFailedPage({ ...context, operatorReference: 'rq_8f2c1d00aa11bb22' }, { retryHref: '/login' }),
  'error-bad-request': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'bad_request' }),
  'error-forbidden': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'forbidden' }),
  'error-too-many-requests': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'too_many_requests' }),
  'error-unavailable': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'unavailable' }),
  'error-internal': context => errorPage(context, { requestId: 'req-8f2c1d', kind: 'internal' }),
};
