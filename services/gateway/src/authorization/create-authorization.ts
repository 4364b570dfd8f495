import { createProviderRegistry, createRemoteRegistrations } from '@postern/authorization';
import type { Clock, ElicitationService, Entropy, Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { type OutboundLog, watchedProviders } from '../platform/outbound/outbound-log.ts';
import { providersThrough, type UpstreamOf } from '../platform/overload/upstream.ts';
import { createAccessTokenFlow } from './access-token-flow.ts';
import { createAuthorizationStart } from './authorization-start.ts';
import { createClientPresentation } from './client-metadata.ts';
import { createClientRegistrations } from './client-registrations.ts';
import { createDecryptedTokenCache } from './decrypted-token-cache.ts';
import { createDeviceFlow } from './device-flow.ts';
import { createDisconnection } from './disconnection.ts';
import { createOAuthCallback } from './oauth-callback.ts';
import type { ProviderAnswers } from './provider-answers.ts';
import { createRevocationFlow, type RevocationFlow } from './revocation-flow.ts';
import { createScopePlanner } from './scope-plan.ts';
import { createStoreGrant } from './store-grant.ts';
import { createTokenRefresh, type RefreshesInProgress, type TokenRefresh } from './token-refresh.ts';
import { createTokenSets } from './token-set.ts';

/** Creates the services of this room: providers, connecting, access tokens, refresh and revocation. */
export function createAuthorization(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'images' | 'providers'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  stores: Stores;
  service: ElicitationService;
  vault: Vault;
  auditLog: AuditLog;
  upstreamOf: UpstreamOf;
  outboundLog: OutboundLog;
  observe: {
    tokenRefresh(flow: TokenRefresh): TokenRefresh;
    revocationFlow(flow: RevocationFlow): RevocationFlow;
  };
  now: Clock;
  entropy: Entropy;
  /** Timeout of one request to a provider, in milliseconds. */
  requestLimitMs: number;
  refreshes: RefreshesInProgress;
  providerAnswers: ProviderAnswers;
  replicaId: string;
}) {
  const { config, now } = p;
  const upstreamOf = (provider: string) => p.upstreamOf('provider', provider);
  const clientPresentation = createClientPresentation(p);
  const clientRegistrations = createClientRegistrations(p);
  const registries = config.providers.map(provider => {
    const { fetch } = upstreamOf(provider.name);
    const registrationsOf = createRemoteRegistrations({
      presentation: clientPresentation,
      store: clientRegistrations,
      onUnusedClient: client => p.auditLog.record('client.unused', client),
      fetch,
      now,
    });
    const registry = createProviderRegistry({ providers: [provider], fetch, now, registrationsOf });
    return watchedProviders(registry, [provider], p.outboundLog);
  });
  const providers = providersThrough(upstreamOf, registries);

  const tokenSets = createTokenSets(p.vault);
  const common = { ...p, providers, tokenSets };
  const revocationFlow = p.observe.revocationFlow(createRevocationFlow(common));
  const tokenRefresh = p.observe.tokenRefresh(createTokenRefresh({ ...common, revocationFlow }));
  const storeGrant = createStoreGrant({ ...common, revocationFlow });
  return {
    providers,
    clientPresentation,
    revocationFlow,
    tokenRefresh,
    authorizationStart: createAuthorizationStart(common),
    oauthCallback: createOAuthCallback({ ...common, storeGrant }),
    deviceFlow: createDeviceFlow({ ...common, storeGrant }),
    scopePlan: createScopePlanner(common),
    accessTokenFlow: createAccessTokenFlow({
      ...common,
      tokenRefresh,
      upstreamOf,
      decryptedTokenCache: createDecryptedTokenCache(common),
    }),
    disconnection: createDisconnection({ ...common, revocationFlow }),
  };
}

export type Authorization = ReturnType<typeof createAuthorization>;
