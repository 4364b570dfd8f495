import type { OpenIdUser, Provider } from '@postern/openid-server';
import { type DemoProvider, startProvider } from '../start-provider.ts';
import { createForgeApi, publicRepositories } from './forge-api.ts';

export const CODE_FORGE = 'Code Forge';
/** Its colour on its own pages, and of its mark at Postern. */
export const FORGE_COLOUR = '#8a3b12';

/** What the scopes allow, in texts that Code Forge and Postern show. */
export const forgeScopes = {
  repo: { text: 'Read the list of your repositories', access: 'see' },
  issues: { text: 'Create issues in your name', access: 'change' },
  delete_repo: { text: 'Delete your repositories', access: 'delete' },
} as const;

/** The accounts differ from those at Example ID, so users must connect them. */
export const developers: readonly OpenIdUser[] = [
  { sub: '70001', name: 'alice-codes', email: 'alice@forge.example' },
  { sub: '70002', name: 'bob-builds', email: 'bob@forge.example' },
];

/**
 * In seconds. Short enough that Postern refreshes tokens while a user tries the demo. Postern refreshes after two thirds of
 * this time, which is longer than the unattended story.
 */
const ACCESS_TOKEN_TTL = 5 * 60;

export interface CodeForge extends DemoProvider {
  /** All codes, access tokens and refresh tokens issued so far. None may appear in MCP messages. */
  readonly issuedSecrets: () => ReadonlySet<string>;
  /** Number of API calls with a valid access token. */
  readonly authorizedCalls: () => number;
  /** Number of refreshes. */
  readonly refreshes: () => number;
  /** Invalidates all access tokens of an account and keeps its grants. Returns the number of tokens. */
  readonly endAccessTokens: (account: string) => Promise<number>;
  /** Number of valid access and refresh tokens of an account. */
  readonly liveTokens: (account: string) => Promise<number>;
}

/** Starts the third party: an OpenID provider, and an API that accepts only access tokens of this provider. */
export async function startCodeForge(p: {
  port: number;
  postern: { clientId: string; clientSecret: string; redirectUri: string };
}): Promise<CodeForge> {
  const api = createForgeApi();
  const forge = await startProvider({
    port: p.port,
    brand: {
      name: CODE_FORGE,
      tagline: 'Repositories, issues, builds',
      accent: FORGE_COLOUR,
      mark: '<path d="M8.5 7.5 4 12l4.5 4.5M15.5 7.5 20 12l-4.5 4.5M13.5 5l-3 14"/>',
      headingFont: 'ui-monospace, SFMono-Regular, Menlo, monospace',
      scopeTexts: {
        openid: 'Know which account is yours',
        profile: 'See your account name',
        ...Object.fromEntries(Object.entries(forgeScopes).map(([scope, { text }]) => [scope, text])),
      },
    },
    front: {
      title: 'Where the code lives',
      body: `<p>Public repositories of everyone here.</p>
<ul class="rows">
${publicRepositories.map(({ name, description }) => `<li><b>${name}</b><span>${description}</span></li>`).join('\n')}
</ul>
<p class="muted">Accounts: ${developers.map(({ name }) => name).join(', ')}. An application that needs your repositories sends you here, and you decide.</p>`,
    },
    users: developers,
    configuration: {
      clients: [
        {
          client_id: p.postern.clientId,
          client_secret: p.postern.clientSecret,
          client_name: 'Desk Helper',
          redirect_uris: [p.postern.redirectUri],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      ttl: { AccessToken: ACCESS_TOKEN_TTL },
    },
    around: api.around,
  });

  const issued = new Set<string>();
  let refreshes = 0;
  const note = (token: { readonly jti: string }) => void issued.add(token.jti);
  // All three are opaque: their `jti` is the token itself.
  forge.provider.on('authorization_code.saved', note);
  forge.provider.on('access_token.saved', note);
  forge.provider.on('refresh_token.saved', note);
  forge.provider.on('grant.success', ({ oidc }) => {
    if (oidc.params?.['grant_type'] === 'refresh_token') refreshes += 1;
  });
  return {
    ...forge,
    issuedSecrets: () => issued,
    authorizedCalls: api.authorizedCalls,
    refreshes: () => refreshes,

    async endAccessTokens(account) {
      const tokens = await tokensOf(forge.provider, issued, account);
      const accessTokens = tokens.filter(({ kind }) => kind === 'AccessToken');
      await Promise.all(accessTokens.map(token => token.destroy()));
      return accessTokens.length;
    },

    liveTokens: async account => (await tokensOf(forge.provider, issued, account)).length,
  };
}

/** Returns those tokens that are valid and belong to this account. */
async function tokensOf({ AccessToken, RefreshToken }: Provider, issued: Iterable<string>, account: string) {
  const accountId = developers.find(({ name }) => name === account)?.sub;
  const found = await Promise.all([...issued].flatMap(value => [AccessToken.find(value), RefreshToken.find(value)]));
  return found.filter(token => token !== undefined).filter(token => token.isValid && token.accountId === accountId);
}
