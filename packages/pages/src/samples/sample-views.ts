/** Sample views of pages, with ordinary and extreme content. */
import { loadLanguage, locales } from '../languages/languages.ts';
import type { ConnectionView } from '../pages/me-page.ts';
import { scopeText } from '../scope-texts.ts';
import type { AuthorizationView, McpServerView, PersonView, RequestedScopeView } from '../views.ts';

// Samples are shown in every language.
await Promise.all(locales.map(loadLanguage));

const issueTracker: McpServerView = {
  name: { en: 'Issue Tracker', de: 'Aufgabenverwaltung' },
  host: 'issues.northwind.example',
};
const shown = { ...issueTracker };

/** The MCP server of the samples. Within {@link withMcpServer}, another one. */
export const sampleMcpServer: McpServerView = shown;

/** Renders samples with an MCP server of an operator in place of ours. */
export function withMcpServer(mcpServer: McpServerView, render: () => string): string {
  Object.assign(shown, mcpServer);
  try {
    return render();
  } finally {
    Reflect.deleteProperty(shown, 'logo');
    Object.assign(shown, issueTracker);
  }
}

export const samplePerson: PersonView = {
  displayName: 'Ada Okafor',
  detail: 'ada@northwind.example',
  signInHost: 'login.northwind.example',
};

/** A permission at GitHub with its own texts. `access` as in the preset of the authorization package. */
function ofGithub(scope: string, access: NonNullable<RequestedScopeView['access']>): RequestedScopeView {
  const texts = locales.flatMap(locale => {
    const found = scopeText('github', scope, locale);
    return found === undefined ? [] : [[locale, found.text] as const];
  });
  return { scope, description: Object.fromEntries(texts), access };
}

export const sampleAuthorization: AuthorizationView = {
  providerName: 'GitHub',
  providerMark: { letters: 'GH', colour: '#24292f' },
  destinationHost: 'github.com',
  scopes: [ofGithub('repo', 'delete'), ofGithub('workflow', 'change'), ofGithub('read:user', 'see')],
};

export const sampleConnect = {
  mcpServer: sampleMcpServer,
  person: samplePerson,
  authorization: sampleAuthorization,
  message: {
    en: 'I need this to open the issue you asked for in northwind/website.',
    de: 'Ich brauche das, um den gewünschten Eintrag in northwind/website anzulegen.',
  },
  requestedBy: { mcpClient: 'Desk Assistant', tool: 'create_issue' },
  matchCode: 'K7-42',
  expiresAt: new Date('2026-03-04T14:32:00Z'),
  now: new Date('2026-03-04T14:22:00Z'),
  acceptAction: '/e/0a.sample/accept',
  declineAction: '/e/0a.sample/decline',
  switchAccountAction: '/logout',
  manageHref: '/me/mcp-servers/issues',
  csrfToken: 'csrf-value',
  watch: { statusHref: '/e/0a.sample/status', pageHref: '/e/0a.sample', phase: 'decision' },
};

/** The same request to a user who connected the account in winter. */
export const reconnecting = (reason: 'refused' | 'rejected' | 'expired' | 'more_scopes') => ({
  ...sampleConnect,
  authorization: { ...sampleAuthorization, reconnect: { reason, connectedAt: new Date('2026-01-07T09:05:00Z') } },
});

export const manyScopes: readonly RequestedScopeView[] = [
  ofGithub('read:user', 'see'),
  { scope: 'scope-1', description: 'Read your email addresses', access: 'see' },
  ofGithub('repo', 'delete'),
  { scope: 'scope-3', description: 'Read and change your issues and pull requests', access: 'change' },
  { scope: 'scope-4', description: 'Read the members of your organisations', access: 'see' },
];

/** More permissions of every risk than fit the first view. */
export const everyRisk: readonly RequestedScopeView[] = [
  ...Array.from({ length: 9 }, (_, index) => ({
    scope: `see-${index}`,
    description: `See what is on list ${index + 1}`,
    access: 'see' as const,
  })),
  { scope: 'openid' },
  { scope: 'admin:unknown' },
  ...Array.from({ length: 8 }, (_, index) => ({
    scope: `delete-${index}`,
    description: `Delete list ${index + 1} and everything on it`,
    access: 'delete' as const,
  })),
];

export const releaseNotes: McpServerView = {
  name: { en: 'Release Notes', de: 'Versionshinweise' },
  host: 'notes.northwind.example',
};

export const sampleDevice = {
  mcpServer: sampleMcpServer,
  providerName: 'Fabrikam Music',
  userCode: 'WDJB-MJHT',
  verificationHref: 'https://music.fabrikam.example/device',
  person: samplePerson,
  expiresAt: new Date('2026-03-04T14:32:00Z'),
  now: new Date('2026-03-04T14:22:00Z'),
  checkAction: '/e/0a.sample/device',
  backHref: '/e/0a.sample',
  csrfToken: 'csrf-value',
  watch: { statusHref: '/e/0a.sample/status', pageHref: '/e/0a.sample', phase: 'decision' },
};

export const sampleConnection: ConnectionView = {
  providerName: 'GitHub',
  accountName: 'ada-okafor',
  mcpServers: [sampleMcpServer],
  scopes: sampleAuthorization.scopes,
  connectedAt: new Date('2026-01-07T09:05:00Z'),
  lastUse: {
    at: new Date('2026-03-04T14:20:00Z'),
    get mcpServerName() {
      return sampleMcpServer.name;
    },
    tool: 'create_issue',
  },
  disconnectHref: '/me/connections/0a.github',
};

/** The pages below /me. */
export const belowMe = {
  historyHref: '/me/history',
  answersKeptHours: 24,
  browsersHref: '/me/browsers',
  dataHref: '/me/data',
};

export const sampleMe = {
  signedIn: { person: samplePerson, signOutAction: '/logout', csrfToken: 'csrf-value' },
  waiting: [
    {
      mcpServer: releaseNotes,
      about: { kind: 'authorization' as const, providerName: 'Notion', permissions: 3 },
      expiresAt: new Date('2026-03-04T14:32:00Z'),
      now: new Date('2026-03-04T14:22:00Z'),
      openHref: '/e/0a.sample',
      manageHref: '/me/mcp-servers/releases',
    },
  ],
  muted: [
    {
      mcpServer: releaseNotes,
      mutedAt: new Date('2026-03-03T09:00:00Z'),
      manageHref: '/me/mcp-servers/releases',
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
  credentials: [],
  passkeys: [],
  ...belowMe,
};

export const sampleDisconnect = {
  ...sampleConnection,
  provider: 'revoke' as const,
  disconnectAction: '/me/connections/0a.github/disconnect',
  keepHref: '/me',
  csrfToken: 'csrf-value',
};

export const sampleDisconnected = { ...sampleConnection, provider: 'revoked' as const, backHref: '/me' };

export const longWord = 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft';
export const longHost = `${'very-long-label-that-goes-on-and-on.'.repeat(5)}example.org:8443`;
export const longMcpServer: McpServerView = { name: longWord, host: longHost, logo: { path: '/assets/logo.svg' } };

/** The most extreme input of an operator, an MCP server and a user. */
export const extremeConnect = {
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

export const extremeConnection: ConnectionView = {
  providerName: longWord,
  accountName: `${longWord}@${longWord}.example`,
  mcpServers: [longMcpServer, sampleMcpServer, releaseNotes],
  scopes: extremeConnect.authorization.scopes,
  connectedAt: new Date('2026-01-07T09:05:00Z'),
  lastUse: { at: new Date('2026-03-04T14:20:00Z'), mcpServerName: longWord, tool: longWord },
  lost: 'rejected',
  disconnectHref: '/me/connections/0a.long',
};
