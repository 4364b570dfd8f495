import type { Provider } from 'oidc-provider';
import { type OidcServer, startOidcServer } from '../oidc/oidc-server.ts';
import type { Person } from '../oidc/person.ts';
import { createForgeApi } from './forge-api.ts';

export const CODE_FORGE = 'Code Forge';

/** What each permission lets an application do, in the words Code Forge and Postern show. */
export const forgeScopes = {
  repo: 'read the list of your repositories',
  issues: 'create issues in your name',
  delete_repo: 'delete your repositories',
} as const;

/** People have other accounts here than at work, which is why somebody has to connect the two. */
export const developers: readonly Person[] = [
  { id: '70001', name: 'alice-codes', email: 'alice@forge.example' },
  { id: '70002', name: 'bob-builds', email: 'bob@forge.example' },
];

/**
 * Seconds. Short, so that a demo that runs for a while sees Postern renew; and Postern renews after two thirds of it, which is
 * longer than the story without anybody present takes.
 */
const ACCESS_TOKEN_TTL = 5 * 60;

export interface CodeForge extends OidcServer {
  /** Every secret it has issued so far: codes, access tokens, refresh tokens. None of them belongs into MCP. */
  readonly issuedSecrets: () => ReadonlySet<string>;
  /** How many API calls had a valid access token. */
  readonly authorizedCalls: () => number;
  /** How many refresh tokens it has exchanged. */
  readonly refreshes: () => number;
  /** Ends every access token of an account before its time; the grants behind them stay. Returns how many there were. */
  readonly endAccessTokens: (account: string) => Promise<number>;
  /** How many of the tokens it issued for an account, access and refresh tokens, it would accept now. */
  readonly liveTokens: (account: string) => Promise<number>;
}

/** The third party: an OpenID provider, and an API that accepts its own access tokens only. */
export async function startCodeForge(p: {
  port: number;
  postern: { clientId: string; clientSecret: string; redirectUri: string };
}): Promise<CodeForge> {
  const api = createForgeApi();
  const forge = await startOidcServer({
    port: p.port,
    brand: {
      name: CODE_FORGE,
      tagline: 'Where the code lives',
      accent: '#7a3412',
      scopeTexts: { openid: 'know which account is yours', profile: 'see your account name', ...forgeScopes },
    },
    people: developers,
    oauthClients: [
      {
        client_id: p.postern.clientId,
        client_secret: p.postern.clientSecret,
        client_name: 'Desk Helper',
        redirect_uris: [p.postern.redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    accessTokenTtl: ACCESS_TOKEN_TTL,
    handle: api.handle,
  });

  const issued = new Set<string>();
  let refreshes = 0;
  const note = (token: { readonly jti: string }) => void issued.add(token.jti);
  // All three are opaque, and an opaque token is its own identifier.
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

/** The tokens among these that are good for something now and belong to this account. */
async function tokensOf({ AccessToken, RefreshToken }: Provider, issued: Iterable<string>, account: string) {
  const accountId = developers.find(({ name }) => name === account)?.id;
  const found = await Promise.all([...issued].flatMap(value => [AccessToken.find(value), RefreshToken.find(value)]));
  return found.filter(token => token !== undefined).filter(token => token.isValid && token.accountId === accountId);
}
