import type { LocalizedText, ProviderRegistry } from '@postern/authorization';
import {
  askDigest,
  type BrowserSession,
  type Clock,
  type Connection,
  type Credential,
  type Elicitation,
  type ElicitationOf,
  type Kind,
} from '@postern/elicitation';
import {
  type Branding,
  type ConnectedAccountView,
  displayHost,
  type LastUseView,
  type Locale,
  type McpServerView,
  negotiateLocale,
  type PageContext,
  type PersonView,
  type ScopeView,
} from '@postern/pages';
import type { FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../../config/config-schema.ts';
import { mayAsk, mayRead, mayUse, type RegisteredMcpServer } from '../../registered-mcp-server.ts';
import { operatorReferenceFor } from './operator-reference.ts';

/** Turns records and configuration into what pages show. */
export function createPageViews(p: {
  branding: Branding;
  stylesheetPath: string;
  config: Pick<GatewayConfig, 'providers' | 'identityProviders'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  providers: ProviderRegistry;
  now: Clock;
  passkeysChangedAt: (request: FastifyRequest) => Date | undefined;
}) {
  const providers = new Map(p.config.providers.map(provider => [provider.name, provider]));

  return {
    now: p.now,

    context(request: FastifyRequest): PageContext {
      const operatorReference = operatorReferenceFor(request);
      const passkeysChangedAt = p.passkeysChangedAt(request);
      return {
        locale: negotiateLocale(request.headers['accept-language']),
        branding: p.branding,
        stylesheetPath: p.stylesheetPath,
        ...(operatorReference === undefined ? {} : { operatorReference }),
        ...(passkeysChangedAt === undefined ? {} : { passkeysChangedAt }),
      };
    },

    /**
     * Whether the MCP server may still ask this, and still recognises people as it did when it asked. A permission that the
     * operator withdraws ends with it also for links that are out already, and what was issued for a machine of one person
     * is not for the public.
     */
    isRegistered({ mcpServerId, identityMode, request, subject }: Elicitation): boolean {
      const mcpServer = p.mcpServers.get(mcpServerId);
      return (
        mcpServer?.identityMode === identityMode &&
        mcpServer.issuers.includes(subject.issuer) &&
        mayAsk(mcpServer, request) &&
        (request.kind !== 'authorization' || providers.has(request.provider))
      );
    },

    /** Where the last page leads back to, if that is still registered. */
    wayBack({ mcpServerId, returnUrl }: Elicitation): { readonly returnHref?: string } {
      const returnHref = p.mcpServers.get(mcpServerId)?.returnUrls.find(registered => registered === returnUrl);
      return returnHref === undefined ? {} : { returnHref };
    },

    /** Where a person signs in anew for this elicitation. */
    signInHref: ({ elicitationId }: Elicitation): string => `/login?${new URLSearchParams({ e: elicitationId })}`,

    /** Likewise, so that the sign-in proves them for this very elicitation: nothing older will do. */
    freshSignInHref: ({ elicitationId }: Elicitation): string =>
      `/login?${new URLSearchParams({ e: elicitationId, fresh: '1' })}`,

    isDevice: ({ request }: ElicitationOf<'authorization'>): boolean =>
      p.providers.get(request.provider)?.flow === 'device',

    /**
     * Made from the stored request whenever a page shows it, and compared with the digest of the moment it was issued when the form comes
     * back: what was shown, what is stored and what was asked are then one thing, or nothing is approved.
     */
    shownDigest: ({ request }: ElicitationOf<Exclude<Kind, 'authorization'>>): string => askDigest(request),

    /** What a person can name when asking about it; it stands in the signed receipt as well. */
    receiptNumber: ({ elicitationId }: Elicitation): string => elicitationId,

    /** From the registration, never from what the MCP server says. */
    mcpServer(elicitation: Elicitation): McpServerView {
      const mcpServer = p.mcpServers.get(elicitation.mcpServerId);
      if (mcpServer === undefined) throw new TypeError('the MCP server is not registered');
      return mcpServerView(mcpServer);
    },

    /** A connection, with everybody who may use it now. */
    connectedAccount(connection: Connection): ConnectedAccountView {
      const { provider, account } = connection;
      return {
        providerName: providers.get(provider)?.displayName ?? provider,
        ...(account === undefined ? {} : { accountName: account.name ?? account.id }),
        mcpServers: [...p.mcpServers.values()].filter(caller => mayUse(caller, connection)).map(mcpServerView),
      };
    },

    /** All that may read a credential now. */
    credentialReaders: (credential: Credential): McpServerView[] =>
      [...p.mcpServers.values()].filter(caller => mayRead(caller, credential)).map(mcpServerView),

    /** Who used something last, for its person. */
    lastUse({ lastUse }: Pick<Connection, 'lastUse'>): { readonly lastUse?: LastUseView } {
      if (lastUse === undefined) return {};
      const { at, mcpServerId, tool } = lastUse;
      const mcpServerName = this.mcpServerName(mcpServerId);
      return { lastUse: { at: new Date(at), mcpServerName, ...(tool === undefined ? {} : { tool }) } };
    },

    mcpServerName: (mcpServerId: string): string => p.mcpServers.get(mcpServerId)?.config.name ?? mcpServerId,

    /** Host of the provider as configured; of the remote MCP server where only that is configured. */
    issuerHost(name: string): string {
      const config = providers.get(name);
      const url = config?.authorizationEndpoint ?? config?.issuer ?? config?.mcpResource;
      if (url === undefined) throw new TypeError('the provider is not configured');
      return displayHost(new URL(url));
    },

    person(session: BrowserSession): PersonView {
      const { origin } = session;
      const identityProvider =
        'identityProvider' in origin
          ? p.config.identityProviders.find(candidate => candidate.name === origin.identityProvider)
          : undefined;
      return {
        displayName: session.displayName,
        ...(session.detail === undefined ? {} : { detail: session.detail }),
        ...(identityProvider === undefined ? {} : { signInHost: displayHost(new URL(identityProvider.issuer)) }),
      };
    },

    providerName: (name: string): string => providers.get(name)?.displayName ?? name,

    scopes: (provider: string, scopes: readonly string[], locale: Locale): ScopeView[] =>
      scopes.map(scope => {
        const description = localized(p.providers.get(provider)?.scopeDescriptions[scope], locale);
        return description === undefined ? { scope } : { scope, description };
      }),
  };
}

export type PageViews = ReturnType<typeof createPageViews>;

function mcpServerView({ config }: RegisteredMcpServer): McpServerView {
  return {
    name: config.name,
    host: displayHost(new URL(config.url)),
    ...(config.logoPath === undefined ? {} : { logoPath: config.logoPath }),
  };
}

function localized(text: LocalizedText | undefined, locale: Locale): string | undefined {
  return typeof text === 'object' ? (text[locale] ?? text['en']) : text;
}
