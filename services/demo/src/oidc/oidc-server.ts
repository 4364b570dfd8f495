import './hush-runtime-warning.ts';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import {
  type ClientMetadata,
  type Configuration,
  interactionPolicy,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider';
import { type HttpListener, listenHttp } from '../listen-http.ts';
import { createInteractions } from './interactions.ts';
import { createMemoryAdapter } from './memory-adapter.ts';
import type { Person } from './person.ts';
import { faultPage, type ProviderBrand, pageHeaders } from './provider-pages.ts';

export interface OidcServerOptions {
  readonly port: number;
  readonly brand: ProviderBrand;
  readonly people: readonly Person[];
  readonly oauthClients: readonly ClientMetadata[];
  /** Client ids whose users are not asked for consent: applications of the same house. */
  readonly houseClientIds?: readonly string[];
  /** Lifetime of access tokens in seconds. */
  readonly accessTokenTtl: number;
  readonly features?: NonNullable<Configuration['features']>;
  /** Answers what is not OpenID; false hands the request on. */
  readonly handle?: (request: IncomingMessage, response: ServerResponse, provider: Provider) => boolean;
}

/** An OpenID provider (oidc-provider) on loopback, with pages for people. */
export interface OidcServer extends HttpListener {
  readonly issuer: string;
  readonly provider: Provider;
}

const DAY = 24 * 60 * 60;

export async function startOidcServer(options: OidcServerOptions): Promise<OidcServer> {
  const { brand, people, port } = options;
  const issuer = `http://localhost:${port}`;
  const provider = new Provider(issuer, await configurationOf(options));
  const interact = createInteractions({ provider, brand, people });
  const answer = provider.callback();

  const listener = await listenHttp(port, (request, response) => {
    if (options.handle?.(request, response, provider) === true) return;
    if (!request.url?.startsWith('/interaction/')) {
      void answer(request, response);
      return;
    }
    interact(request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500, pageHeaders(brand)).end(faultPage(brand, 'server_error'));
    });
  });
  return { ...listener, issuer, provider };
}

async function configurationOf(options: OidcServerOptions): Promise<Configuration> {
  const { brand, people, port, accessTokenTtl, houseClientIds = [] } = options;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return {
    adapter: createMemoryAdapter(),
    clients: [...options.oauthClients],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: 'demo' }] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    scopes: [...new Set(['openid', 'profile', 'email', ...Object.keys(brand.scopeTexts)])],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_, accountId) => {
      const person = people.find(({ id }) => id === accountId);
      return (
        person && {
          accountId,
          claims: () => ({ sub: accountId, name: person.name, email: person.email, email_verified: true }),
        }
      );
    },
    // Cookies do not know ports: everything on localhost shares them, so the names must differ.
    cookies: {
      names: { session: `session-${port}`, interaction: `interaction-${port}`, resume: `resume-${port}` },
      keys: [randomBytes(32).toString('base64url')],
    },
    responseTypes: ['code'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    issueRefreshToken: (_, oauthClient) => oauthClient.grantTypeAllowed('refresh_token'),
    ttl: {
      AccessToken: accessTokenTtl,
      AuthorizationCode: 60,
      Grant: 14 * DAY,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 14 * DAY,
      Session: DAY,
    },
    interactions: { policy: promptPolicy(), url: (_, interaction) => `/interaction/${interaction.uid}` },
    loadExistingGrant: context => existingGrant(context, houseClientIds),
    renderError: (context, { error }) => {
      context.set(pageHeaders(brand));
      context.body = faultPage(brand, error);
    },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_, oauthClient, token) => token.clientId === oauthClient.clientId },
      ...options.features,
    },
  };
}

/** The grant the person has given before; applications of the house need none. */
async function existingGrant({ oidc }: KoaContextWithOIDC, houseClientIds: readonly string[]) {
  const clientId = oidc.client?.clientId;
  if (clientId === undefined) return undefined;
  const grantId = oidc.result?.consent?.grantId ?? oidc.session?.grantIdFor(clientId);
  const known = grantId === undefined ? undefined : await oidc.provider.Grant.find(grantId);
  if (!houseClientIds.includes(clientId)) return known;

  const grant = known ?? new oidc.provider.Grant({ accountId: oidc.session?.accountId, clientId });
  grant.addOIDCScope([...oidc.requestParamOIDCScopes]);
  for (const [resource, { scopes }] of Object.entries(oidc.resourceServers ?? {}))
    grant.addResourceScope(resource, [...scopes]);
  await grant.save();
  return grant;
}

/** The policy of oidc-provider, where a sign-in of this very second would satisfy `max_age=0`. Core 3.1.2.1 means a new one. */
function promptPolicy() {
  const policy = interactionPolicy.base();
  const isMissing = ({ oidc }: KoaContextWithOIDC) =>
    Number(oidc.params?.['max_age'] ?? 1) === 0 && !oidc.result?.login;
  policy.get('login')?.checks.add(new interactionPolicy.Check('max_age_0', 'a new sign-in is asked for', isMissing));
  return policy;
}
