import {
  type ClientPresentation,
  createProviderRegistry,
  createRemoteRegistrations,
  type ProviderRegistry,
} from '@postern/authorization';
import type { Clock, ElicitationService, Entropy, Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { type OutboundLog, providerAt } from '../platform/outbound/outbound-log.ts';
import { providerThrough, type UpstreamOf } from '../platform/overload/upstream.ts';
import { AccessTokenFlow } from './access-token-flow.ts';
import { AuthorizationStart } from './authorization-start.ts';
import { createClientPresentation, createClientRegistrations } from './client-metadata.ts';
import { createDeviceFlow, type DeviceFlow } from './device-flow.ts';
import { createDisconnection, type Disconnection } from './disconnection.ts';
import { OAuthCallback } from './oauth-callback.ts';
import type { ProviderAnswers } from './provider-answers.ts';
import { createRevocationFlow, type RevocationFlow } from './revocation-flow.ts';
import { createScopePlanner, type ScopePlanner } from './scope-plan.ts';
import { createStoreGrant } from './store-grant.ts';
import { createTokenRefresh, type RefreshesInProgress, type TokenRefresh } from './token-refresh.ts';
import { createTokenSets } from './token-set.ts';

/** The services of this room: providers, connecting, access tokens, refresh and revocation. */
export interface Authorization {
  readonly providers: ProviderRegistry;
  readonly clientPresentation: ClientPresentation;
  readonly revocationFlow: RevocationFlow;
  readonly tokenRefresh: TokenRefresh;
  readonly authorizationStart: AuthorizationStart;
  readonly oauthCallback: OAuthCallback;
  readonly deviceFlow: DeviceFlow;
  readonly scopePlan: ScopePlanner;
  readonly accessTokenFlow: AccessTokenFlow;
  readonly disconnection: Disconnection;
}

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
}): Authorization {
  const { config, now } = p;
  const upstreamOf = (provider: string) => p.upstreamOf('provider', provider);
  const clientPresentation = createClientPresentation(p);
  const clientRegistrations = createClientRegistrations(p);
  const entries = config.providers.flatMap(provider => {
    const upstream = upstreamOf(provider.name);
    const { fetch } = upstream;
    const registrationsOf = createRemoteRegistrations({
      presentation: clientPresentation,
      store: clientRegistrations,
      onUnusedClient: client => p.auditLog.record('client.unused', client),
      fetch,
      now,
    });
    // Its own registry, so that providers share no metadata, and a slow provider delays no other provider.
    const created = createProviderRegistry({ providers: [provider], fetch, now, registrationsOf }).get(provider.name);
    const as = p.outboundLog.operationsOf(providerAt(provider));
    return created === undefined ? [] : [[provider.name, providerThrough(upstream, as, created)] as const];
  });
  const byName = new Map(entries);
  const providers: ProviderRegistry = { get: byName.get.bind(byName), names: [...byName.keys()] };

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
    authorizationStart: new AuthorizationStart(common),
    oauthCallback: new OAuthCallback({ ...common, storeGrant }),
    deviceFlow: createDeviceFlow({ ...common, storeGrant }),
    scopePlan: createScopePlanner(common),
    accessTokenFlow: new AccessTokenFlow({ ...common, tokenRefresh, upstreamOf }),
    disconnection: createDisconnection({ ...common, revocationFlow }),
  };
}
