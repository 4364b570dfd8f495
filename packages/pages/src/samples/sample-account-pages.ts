/** /me with twelve entries, and the pages below it, with ordinary and with extreme content. */
import { browsersPage, signedOutEverywherePage } from '../pages/browsers-pages.ts';
import { dataPage, disconnectAllPage, disconnectedAllPage, erasedPage, erasePage } from '../pages/data-pages.ts';
import { type AnsweredView, historyPage } from '../pages/history-page.ts';
import { type ConnectionView, mePage, openRequestsPage } from '../pages/me-page.ts';
import { renamePasskeyPage } from '../pages/rename-passkey-page.ts';
import type { PageContext } from '../views.ts';
import { sampleRefunds } from './sample-approval-views.ts';
import { samplePasskeys, sampleSaved, sampleWaiting } from './sample-entry-views.ts';
import { longMcpServer, longWord, sampleConnection, sampleMcpServer, sampleMe } from './sample-views.ts';

const csrfToken = 'csrf-value';
const backHref = '/me';
const at = new Date('2026-03-04T14:20:00Z');
const hostileTitle = '</bdi><script>alert(1)</script> You have won \u202e';

/** Twelve entries: two open elicitations, six connections, two credentials, two passkeys. */
const connectedTo = (providerName: string): ConnectionView => ({ ...sampleConnection, providerName });
const twelve = {
  ...sampleMe,
  waiting: [
    ...sampleMe.waiting,
    ...sampleMe.waiting.flatMap(waiting => sampleWaiting.slice(0, 1).map(about => ({ ...waiting, about }))),
  ],
  connections: [...sampleMe.connections, ...['Notion', 'Slack', 'Microsoft'].map(connectedTo)],
  credentials: [sampleSaved, { ...sampleSaved, title: 'Deploy key of northwind/website' }],
  passkeys: samplePasskeys,
};

const answered: readonly AnsweredView[] = [
  {
    get mcpServerName() {
      return sampleMcpServer.name;
    },
    about: {
      kind: 'payment',
      amount: { currency: 'EUR', minorUnits: 2490, decimals: 2 },
      payeeName: 'Northwind Books',
    },
    status: 'completed',
    endedAt: at,
    openHref: '/e/0a.sample',
    receiptHref: '/e/0a.sample/receipt',
    refunds: sampleRefunds,
  },
  {
    get mcpServerName() {
      return sampleMcpServer.name;
    },
    about: { kind: 'authorization', providerName: 'GitHub' },
    status: 'completed',
    endedAt: at,
    openHref: '/e/0a.sample',
  },
  {
    mcpServerName: 'Release Notes',
    about: { kind: 'confirmation', title: 'Delete the repository northwind/website' },
    status: 'declined',
    endedAt: at,
    openHref: '/e/0a.sample',
  },
  {
    mcpServerName: 'Release Notes',
    about: { kind: 'form' },
    status: 'completed',
    endedAt: at,
    openHref: '/e/0a.sample',
  },
];

const earlier = [1990, 500].map((minorUnits, index) => ({
  mcpServerName: 'Book Shop',
  amount: { currency: 'EUR', minorUnits, decimals: 2 },
  paidAt: at,
  isTest: index === 1,
  refunds:
    index === 0
      ? [{ amount: { currency: 'EUR', minorUnits: 490, decimals: 2 }, status: 'succeeded' as const, requestedAt: at }]
      : [],
}));
const olderHref = '/me/history?page=2';
const emptyHistory = { answered: [], earlier: [], paymentsKeptDays: 400 };

const rename = {
  label: 'Phone of Ada',
  action: '/me/passkeys/1/rename',
  keepHref: backHref,
  csrfToken,
};
const disconnectAll = { action: '/me/data/disconnect', keepHref: '/me/data', csrfToken };

export const sampleAccountPages: Readonly<Record<string, (context: PageContext) => string>> = {
  'me-twelve': context => mePage(context, twelve),
  'open-requests': context => openRequestsPage(context, { count: 12, declineAction: '/me/decline-open', csrfToken }),
  'open-requests-none': context =>
    openRequestsPage(context, { count: 0, declineAction: '/me/decline-open', csrfToken }),
  history: context =>
    historyPage(context, { answered, earlier, answersKeptHours: 24, paymentsKeptDays: 400, olderHref, backHref }),
  'history-empty': context => historyPage(context, { ...emptyHistory, answersKeptHours: 24, backHref }),
  'history-extreme': context =>
    historyPage(context, {
      answersKeptHours: 2160,
      paymentsKeptDays: 4000,
      earlier: [
        {
          mcpServerName: longWord,
          amount: { currency: 'JPY', minorUnits: 999_999_999_999, decimals: 0 },
          paidAt: at,
          isTest: true,
          refunds: [],
        },
      ],
      newerHref: '/me/history',
      olderHref,
      answered: [
        {
          mcpServerName: longWord,
          about: {
            kind: 'payment',
            amount: { currency: 'JPY', minorUnits: 999_999_999_999, decimals: 0 },
            payeeName: longWord,
          },
          status: 'completed',
          endedAt: at,
          openHref: '/e/0a.sample',
        },
        {
          mcpServerName: longMcpServer.name,
          about: { kind: 'credential', title: hostileTitle },
          status: 'failed',
          endedAt: at,
          openHref: '/e/0a.sample',
        },
      ],
      backHref,
    }),
  browsers: context =>
    browsersPage(context, {
      browsers: [
        { name: 'Firefox, Windows', signedInAt: at, isThis: true },
        { name: 'Safari, iOS', signedInAt: new Date('2026-03-04T08:02:00Z'), isThis: false },
        { signedInAt: new Date('2026-03-04T07:40:00Z'), throughName: 'Embedded App', isThis: false },
      ],
      endAllAction: '/me/browsers/end',
      csrfToken,
      backHref,
    }),
  'browsers-extreme': context =>
    browsersPage(context, {
      browsers: Array.from({ length: 20 }, () => ({ signedInAt: at, throughName: longWord, isThis: false })),
      endAllAction: '/me/browsers/end',
      csrfToken,
      backHref,
    }),
  'browsers-ended': context => signedOutEverywherePage(context, {}),
  'passkey-rename': context => renamePasskeyPage(context, rename),
  'passkey-rename-invalid': context =>
    renamePasskeyPage(context, { ...rename, label: `"><script>${longWord}`, notice: 'invalid' }),
  data: context =>
    dataPage(context, {
      exportAction: '/me/data/export',
      disconnectHref: '/me/data/disconnect',
      eraseHref: '/me/data/erase',
      csrfToken,
      backHref,
    }),
  'disconnect-all': context =>
    disconnectAllPage(context, {
      ...disconnectAll,
      count: 12,
      revoked: ['GitHub', 'Google'],
      unsupported: ['Dropbox'],
    }),
  'disconnect-all-extreme': context =>
    disconnectAllPage(context, { ...disconnectAll, count: 1, revoked: [], unsupported: [longWord, hostileTitle] }),
  'disconnected-all': context =>
    disconnectedAllPage(context, { revoked: ['GitHub'], pending: ['Google'], unsupported: [longWord], backHref }),
  'disconnected-all-none': context =>
    disconnectedAllPage(context, { revoked: [], pending: [], unsupported: [], backHref }),
  erase: context =>
    erasePage(context, {
      action: '/me/data/erase',
      keepHref: '/me/data',
      csrfToken,
      hasPasskeys: true,
      answersKeptHours: 24,
    }),
  'erase-plain': context =>
    erasePage(context, {
      action: '/me/data/erase',
      keepHref: '/me/data',
      csrfToken,
      hasPasskeys: false,
      answersKeptHours: 24,
    }),
  erased: context => erasedPage(context, { revoked: ['GitHub'], pending: ['Google'], unsupported: [] }),
  'erased-plain': context => erasedPage(context, { revoked: [], pending: [], unsupported: [] }),
};
