import { type Brand, createOpenIdServer, type OpenIdUser, Provider } from '@postern/openid-server';
import { devicePages } from './device-pages.ts';
import { type HttpListener, listenHttp } from './http-listener.ts';
import { createObservedAdapter } from './observed-adapter.ts';
import { configurationOf, pairwiseSubject } from './open-id-configuration.ts';
import { type OpenIdProviderOptions, type ProviderSwitches, switchesOf } from './open-id-provider-options.ts';
import { aroundProvider } from './provider-endpoints.ts';
import { FaultList, type ProviderFault } from './provider-fault.ts';
import {
  assertionsIn,
  type LoggedAssertion,
  type LoggedRevocation,
  revocationsIn,
  type SecretInQuery,
  secretsInQueries,
} from './provider-log.ts';
import { type LoggedRequest, type ProviderEndpoint, RequestLog } from './request-log.ts';
import { accountOf, defaultUsers } from './test-account.ts';
import { TokenEndpoint, type TokenHook } from './token-endpoint.ts';
import { TokenLedger } from './token-ledger.ts';

export interface IssuedToken {
  readonly kind: 'AccessToken' | 'RefreshToken' | 'AuthorizationCode';
  /** The account, not the (perhaps pairwise) `sub`. */
  readonly accountId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly grantId: string;
}

/** A real OpenID provider (oidc-provider) in this process. Ends with `await using` or `close()`. */
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly origin: string;
  readonly port: number;
  readonly users: readonly OpenIdUser[];
  /** Assign the members to change the behaviour of later requests. */
  readonly switches: ProviderSwitches;
  /** Requests so far, oldest first; all, or those of one endpoint. */
  requests(endpoint?: ProviderEndpoint): readonly LoggedRequest[];
  clearRequests(): void;
  fault(fault: ProviderFault): void;
  clearFaults(): void;
  /** Awaited between a refresh and its response. Other requests continue meanwhile. */
  onRefresh(hook: TokenHook | undefined): void;
  /** Awaited between the exchange of a code or device code and its response. */
  onExchange(hook: TokenHook | undefined): void;
  /** All issued tokens and codes in order, without their values. */
  readonly issued: readonly IssuedToken[];
  /** Grants, refreshes and the status of each token. */
  readonly tokens: TokenLedger;
  /** Client assertions in the requests so far. */
  assertions(): readonly LoggedAssertion[];
  /** Revocation requests so far (RFC 7009). */
  revocations(): readonly LoggedRevocation[];
  /** Secrets in the queries of the requests so far; empty for a correct client. */
  secretsInQueries(): readonly SecretInQuery[];
  /** Ends a grant and its tokens, as a user can in the account settings. */
  endGrant(grantId: string): Promise<void>;
  /** Invalidates one access token and keeps its grant. */
  endAccessToken(accessToken: string): Promise<void>;
  /** `sub` of an account as this client sees it. */
  subjectOf(sub: string, clientId: string): string;
  readonly provider: Provider;
  close(): Promise<void>;
}

interface TokenModel {
  readonly accountId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly scope?: string | undefined;
  readonly grantId?: string | undefined;
}

export async function startOpenIdProvider(options: OpenIdProviderOptions): Promise<TestProvider> {
  const users = options.users ?? defaultUsers;
  const switches = switchesOf(options);
  const log = new RequestLog();
  const faults = new FaultList();
  const issued: IssuedToken[] = [];
  const tokens = new TokenLedger();
  const tokenEndpoint = new TokenEndpoint({ ledger: tokens, switches });

  // The issuer contains the port, so the listener starts first. It responds with 503 until the provider exists.
  let answer: ((...p: Parameters<Parameters<typeof listenHttp>[0]>) => void) | undefined;
  const listener: HttpListener = await listenHttp(
    (request, response) => (answer ? answer(request, response) : response.writeHead(503).end()),
    { port: options.port },
  );
  const issuer = `http://${options.host ?? 'localhost'}:${options.publicPort ?? listener.port}`;
  const brand: Brand = {
    name: options.name ?? 'Test Provider',
    tagline: 'for tests',
    accent: '#454b54',
    scopeTexts: {},
  };
  const accounts = users.map(accountOf);
  const provider = await createOpenIdServer({
    issuer,
    brand,
    users: accounts,
    skipsConsent: () => options.consent === 'skip',
    configuration: configurationOf({
      options,
      switches,
      accounts,
      devicePages: devicePages(brand),
      adapter: createObservedAdapter({
        onGrantRevoked: grantId => tokens.revokeGrant(grantId),
        keepsGrant: () => !switches.revocationCascades && Provider.ctx?.oidc.route === 'revocation',
        onAccessTokenEnded: accessToken => tokens.endAccessToken(accessToken),
        isInGrace: refreshToken => tokenEndpoint.isInGrace(refreshToken),
      }),
      rotates: refreshToken => tokenEndpoint.rotates(refreshToken),
    }),
    around: provider => aroundProvider({ provider, issuer, switches, log, faults, ledger: tokens, tokenEndpoint }),
  });

  const note = (kind: IssuedToken['kind']) => (token: TokenModel) => {
    const { accountId = '', clientId = '', scope = '', grantId = '' } = token;
    issued.push({ kind, accountId, clientId, scopes: scope.split(' ').filter(part => part !== ''), grantId });
  };
  provider.on('access_token.saved', note('AccessToken'));
  provider.on('access_token.issued', note('AccessToken'));
  provider.on('refresh_token.saved', note('RefreshToken'));
  provider.on('authorization_code.saved', note('AuthorizationCode'));
  answer = provider.callback();

  const secrets = new Set(options.clients.flatMap(({ clientSecret = [] }) => clientSecret));
  return {
    issuer,
    origin: issuer,
    port: listener.port,
    users,
    switches,
    requests: endpoint => log.of(endpoint),
    clearRequests: () => log.clear(),
    fault: fault => faults.add(fault),
    clearFaults: () => faults.clear(),
    onRefresh(hook) {
      tokenEndpoint.hooks.refresh = hook;
    },
    onExchange(hook) {
      tokenEndpoint.hooks.exchange = hook;
    },
    issued,
    tokens,
    assertions: () => assertionsIn(log.of()),
    revocations: () => revocationsIn(log.of(), tokens),
    secretsInQueries: () =>
      secretsInQueries(log.of(), value => secrets.has(value) || tokens.kindOf(value) !== 'unknown'),
    async endGrant(grantId) {
      await provider.RefreshToken.revokeByGrantId(grantId);
      await provider.AccessToken.revokeByGrantId(grantId);
      await provider.Grant.adapter.destroy(grantId);
    },
    async endAccessToken(accessToken) {
      if (!tokens.accessToken(accessToken)) throw new Error('this provider has not issued such an access token');
      await provider.AccessToken.adapter.destroy(accessToken);
    },
    subjectOf: (sub, clientId) => (options.pairwise ? pairwiseSubject(sub, clientId) : sub),
    provider,
    close: () => listener.close(),
    [Symbol.asyncDispose]: () => listener.close(),
  };
}
