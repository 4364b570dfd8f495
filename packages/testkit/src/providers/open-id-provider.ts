import { createHash } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { type ClientMetadata, type Configuration, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { type HttpListener, listenHttp } from './http-listener.ts';
import { createMemoryAdapter } from './memory-adapter.ts';
import { FaultList, type ProviderFault } from './provider-fault.ts';
import { createInteractions } from './provider-interactions.ts';
import { errorPage } from './provider-pages.ts';
import { type LoggedRequest, type ProviderEndpoint, RequestLog } from './request-log.ts';
import { claimsOf, defaultUsers, type TestUser } from './test-user.ts';

export interface TestClient {
  readonly clientId: string;
  /** Absent: a public client. */
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  readonly name?: string;
  /** Resource that tokens of this client are for when it names none. */
  readonly defaultResource?: string;
  /** Further registration metadata, by its registered names. */
  readonly metadata?: Omit<Partial<ClientMetadata>, 'client_id'>;
}

export interface OpenIdProviderOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Host in the issuer; the listener is on 127.0.0.1 for both. Default `localhost`. */
  readonly host?: 'localhost' | '127.0.0.1';
  /** Shown on the pages. */
  readonly name?: string;
  readonly users?: readonly TestUser[];
  readonly clients: readonly TestClient[];
  /** Scopes beside `openid profile email offline_access`. */
  readonly scopes?: readonly string[];
  /** Format of access tokens that are for a resource (RFC 8707). Others are always opaque. Default `opaque`. */
  readonly accessTokenFormat?: 'jwt' | 'opaque';
  /** Lifetime of access tokens in seconds. Default 3600. */
  readonly accessTokenTtl?: number;
  /** A different `sub` for every client; the claims `tid` and `oid` stay the same. */
  readonly pairwise?: boolean;
  /** `skip`: nobody is asked for consent (a company's identity provider). Default `ask`. */
  readonly consent?: 'ask' | 'skip';
  /** Whether name and e-mail are in the ID token, or only at the userinfo endpoint. Default true. */
  readonly profileInIdToken?: boolean;
  /** Every refresh gives a new refresh token and ends the old one. Default true. */
  readonly rotateRefreshTokens?: boolean;
  /** Further features of oidc-provider, e.g. `{ dPoP: { enabled: true } }`. */
  readonly features?: Pick<NonNullable<Configuration['features']>, 'dPoP' | 'pushedAuthorizationRequests'>;
}

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
  readonly users: readonly TestUser[];
  /** Requests so far, oldest first; all, or those of one endpoint. */
  requests(endpoint?: ProviderEndpoint): readonly LoggedRequest[];
  clearRequests(): void;
  fault(fault: ProviderFault): void;
  clearFaults(): void;
  /** What has been issued, in order, without the values. */
  readonly issued: readonly IssuedToken[];
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

const day = 24 * 60 * 60;

export async function startOpenIdProvider(options: OpenIdProviderOptions): Promise<TestProvider> {
  const users = options.users ?? defaultUsers;
  const name = options.name ?? 'Test Provider';
  const log = new RequestLog();
  const faults = new FaultList();
  const issued: IssuedToken[] = [];

  // The issuer contains the port, and the provider is made from the issuer: listen first, answer when it is there.
  let answer: ((...p: Parameters<Parameters<typeof listenHttp>[0]>) => void) | undefined;
  const listener: HttpListener = await listenHttp(
    (request, response) => (answer ? answer(request, response) : response.writeHead(503).end()),
    options.port === undefined ? {} : { port: options.port },
  );
  const issuer = `http://${options.host ?? 'localhost'}:${listener.port}`;
  const provider = new Provider(issuer, await configuration(options, users, listener.port));
  const interactions = createInteractions({ provider, name, users });

  provider.use(async (context, next) => {
    const url = new URL(context.url, issuer);
    const endpoint = endpointOf(url.pathname);
    const entry = log.add({ endpoint, method: context.method, url, headers: context.headers, form: {} });
    const fault = faults.take(endpoint);
    if (fault?.hang === true || fault?.drop === 'before') {
      context.respond = false;
      if (fault.drop === 'before') context.req.socket.destroy();
      return;
    }
    if (fault?.status !== undefined) {
      context.status = fault.status;
      context.set(fault.headers ?? {});
      context.body = fault.body ?? '';
      entry.status = fault.status;
      return;
    }
    if (endpoint === 'interaction') {
      context.respond = false;
      await (context.method === 'POST' ? interactions.submit : interactions.show)(context.req, context.res);
      return;
    }
    await next();
    entry.form = formOf(context);
    entry.status = context.status;
    if (fault?.drop === 'after') {
      context.respond = false;
      context.req.socket.destroy();
    }
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

  return {
    issuer,
    origin: issuer,
    port: listener.port,
    users,
    requests: endpoint => log.of(endpoint),
    clearRequests: () => log.clear(),
    fault: fault => faults.add(fault),
    clearFaults: () => faults.clear(),
    issued,
    subjectOf: (sub, clientId) => (options.pairwise ? pairwiseSubject(sub, clientId) : sub),
    provider,
    close: () => listener.close(),
    [Symbol.asyncDispose]: () => listener.close(),
  };
}

async function configuration(
  options: OpenIdProviderOptions,
  users: readonly TestUser[],
  port: number,
): Promise<Configuration> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const scopes = ['openid', 'offline_access', 'profile', 'email', ...(options.scopes ?? [])];
  const accessTokenTtl = options.accessTokenTtl ?? 3600;
  const user = (accountId: string | undefined) => users.find(({ sub }) => sub === accountId);

  return {
    adapter: createMemoryAdapter(),
    clients: options.clients.map(registration),
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: `key-of-${port}` }] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    scopes,
    claims: {
      openid: ['sub', 'tid', 'oid'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
    },
    conformIdTokenClaims: options.profileInIdToken === false,
    subjectTypes: [options.pairwise ? 'pairwise' : 'public'],
    pairwiseIdentifier: (_, accountId, oauthClient) => pairwiseSubject(accountId, oauthClient.clientId),
    findAccount: (_, accountId) => {
      const account = user(accountId);
      return account && { accountId, claims: () => ({ sub: accountId, ...claimsOf(account) }) };
    },
    extraTokenClaims: (_, token) => {
      const account = 'accountId' in token ? user(token.accountId) : undefined;
      return account && { tid: claimsOf(account).tid, oid: claimsOf(account).oid };
    },
    // Cookies are shared between ports of a host, and tests run several providers at once.
    cookies: {
      names: { session: `session-${port}`, interaction: `interaction-${port}`, resume: `resume-${port}` },
      keys: ['cookie key of a test provider'],
    },
    pkce: { required: () => false },
    rotateRefreshToken: options.rotateRefreshTokens ?? true,
    expiresWithSession: () => false,
    issueRefreshToken: (_, oauthClient) => oauthClient.grantTypeAllowed('refresh_token'),
    ttl: {
      AccessToken: accessTokenTtl,
      AuthorizationCode: 60,
      Grant: 14 * day,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 14 * day,
      Session: 14 * day,
    },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    ...(options.consent === 'skip' && { loadExistingGrant: grantEverything }),
    renderError: (context, out) => {
      context.type = 'html';
      context.body = errorPage(out.error);
    },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_, oauthClient, oneOf) =>
          (Array.isArray(oneOf) ? oneOf[0] : oneOf) ??
          options.clients.find(({ clientId }) => clientId === oauthClient?.clientId)?.defaultResource ??
          [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: scopes.join(' '),
          audience: resource,
          accessTokenTTL: accessTokenTtl,
          accessTokenFormat: options.accessTokenFormat ?? 'opaque',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
      ...options.features,
    },
  };
}

function registration({ clientId, clientSecret, redirectUris, name, metadata }: TestClient): ClientMetadata {
  return {
    client_id: clientId,
    redirect_uris: [...redirectUris],
    grant_types: ['authorization_code', 'refresh_token'],
    ...(name !== undefined && { client_name: name }),
    ...(clientSecret === undefined ? { token_endpoint_auth_method: 'none' } : { client_secret: clientSecret }),
    ...metadata,
  };
}

async function grantEverything(context: KoaContextWithOIDC) {
  const { oidc } = context;
  const clientId = oidc.client?.clientId;
  const grantId =
    oidc.result?.consent?.grantId ?? (clientId === undefined ? undefined : oidc.session?.grantIdFor(clientId));
  const known = grantId === undefined ? undefined : await oidc.provider.Grant.find(grantId);
  const grant = known ?? new oidc.provider.Grant({ accountId: oidc.session?.accountId, clientId });
  grant.addOIDCScope([...oidc.requestParamOIDCScopes]);
  for (const resource of Object.keys(oidc.resourceServers ?? {})) {
    grant.addResourceScope(resource, [...oidc.requestParamScopes]);
  }
  await grant.save();
  return grant;
}

function pairwiseSubject(accountId: string, clientId: string): string {
  return createHash('sha256').update(`${clientId} ${accountId}`).digest('base64url');
}

const paths: Record<string, ProviderEndpoint> = {
  '/.well-known/openid-configuration': 'metadata',
  '/.well-known/oauth-authorization-server': 'metadata',
  '/auth': 'authorization',
  '/jwks': 'jwks',
  '/me': 'userinfo',
  '/request': 'pushed_authorization_request',
  '/token': 'token',
  '/token/introspection': 'introspection',
  '/token/revocation': 'revocation',
};

function endpointOf(pathname: string): ProviderEndpoint {
  if (pathname.startsWith('/interaction/')) return 'interaction';
  if (pathname.startsWith('/auth/')) return 'authorization';
  return paths[pathname] ?? 'other';
}

function formOf(context: object): Record<string, string> {
  // Set by oidc-provider on requests that it has parsed.
  const body = 'oidc' in context ? (context as KoaContextWithOIDC).oidc.body : undefined;
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]));
}
