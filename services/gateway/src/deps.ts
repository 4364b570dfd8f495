import { createOutboundFetch } from '@postern/authorization';
import { createElicitationService, type ElicitationService } from '@postern/elicitation';
import { type Authorization, createAuthorization } from './authorization/create-authorization.ts';
import { IssueFlow } from './elicitations/issue-flow.ts';
import { RedemptionFlow } from './elicitations/redemption-flow.ts';
import { createEntries, type Entries } from './entries/create-entries.ts';
import { createEventStreams, type EventStreams } from './events/event-streams.ts';
import type { Foundation } from './foundation.ts';
import { createIdentity, type Identity } from './identity/create-identity.ts';
import {
  type CallerDirectory,
  createCallerDirectory,
  createWaitingRequests,
  type WaitingRequests,
} from './mcp-servers/caller-auth.ts';
import { createRegisteredNames, namesIn, type RegisteredNames } from './mcp-servers/confusable-names.ts';
import { type RegisteredMcpServer, registerMcpServers } from './mcp-servers/registered-mcp-server.ts';
import { createPayments, type Payments } from './payments/create-payments.ts';
import { announcementsOf, elicitationAudit } from './platform/audit/audit-log.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import { sharedSecretOf } from './platform/config/vault-config.ts';
import { createGatewayProof } from './platform/http/gateway-proof.ts';
import type { OutboundLog } from './platform/outbound/outbound-log.ts';
import { configuredHostsOf, outboundPolicyOf } from './platform/outbound/outbound-policy-of.ts';
import { createUpstreams, type UpstreamOf } from './platform/overload/upstream.ts';

/**
 * The parts of the gateway under one configuration, by room, and the foundation below them. Each route and worker declares the members
 * that it uses. A reload creates new ones beside those in use; they hold no connection, timer or listener, so nothing closes them.
 */
export interface GatewayDeps
  extends Authorization,
    Identity,
    Payments,
    Entries,
    Omit<Foundation, keyof AsyncDisposable> {
  readonly config: GatewayConfig;
  readonly service: ElicitationService;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly callers: CallerDirectory;
  readonly waitingRequests: WaitingRequests;
  readonly eventStreams: EventStreams;
  readonly registeredNames: RegisteredNames;
  readonly issueFlow: IssueFlow;
  readonly redemptionFlow: RedemptionFlow;
  readonly gatewayProof: ReturnType<typeof createGatewayProof>;
  readonly upstreamOf: UpstreamOf;
  readonly outboundLog: OutboundLog;
  /** Aborts when another configuration is in force. */
  readonly retired: AbortSignal;
}

/**
 * The composition root: creates the parts of the gateway from a configuration. Sends no request and writes nothing.
 * @param signals.ending aborts when no request of this configuration may wait any longer
 * @param signals.retired aborts when another configuration is in force
 * @throws StartError, ConfigError
 */
export async function createDeps(
  foundation: Foundation,
  config: GatewayConfig,
  { ending, retired }: { readonly ending: AbortSignal; readonly retired: AbortSignal },
): Promise<GatewayDeps> {
  const { stores, observe, auditLog, pseudonym, entropy, now } = foundation;
  const requestLimitMs = config.outbound.timeoutSeconds * 1000;
  const policy = {
    ...outboundPolicyOf(config),
    timeoutMs: requestLimitMs,
    configuredHosts: configuredHostsOf(config),
  };
  const upstreamOf = createUpstreams({
    fetch: createOutboundFetch(policy, foundation.outboundPool.connectionsFor(config)),
    observe: observe.fetch,
    bulkheads: foundation.bulkheads,
  });
  const announcedAs = announcementsOf(config, pseudonym);
  const mcpServers = registerMcpServers(config);
  const registeredNames = createRegisteredNames(namesIn(config));
  const defaultScopes = new Map(config.providers.map(({ name, defaultScopes }) => [name, { defaultScopes }]));
  const service = observe.service(
    createElicitationService({
      elicitations: stores.elicitations,
      connections: stores.connections,
      notifier: stores.notifier,
      providers: name => defaultScopes.get(name),
      audit: elicitationAudit(auditLog),
      entropy,
      now,
    }),
  );

  const { [Symbol.asyncDispose]: _, ...lasting } = foundation;
  const shared = { ...lasting, config, service, mcpServers };
  const outbound = { upstreamOf, outboundLog: observe.outboundLog, requestLimitMs };
  const sharedSecret = sharedSecretOf(config);
  const authorization = createAuthorization({ ...shared, ...outbound });
  const identity = createIdentity({
    ...shared,
    ...outbound,
    announcedAs,
    oauthCallback: authorization.oauthCallback,
    sharedSecret,
  });
  const payments = await createPayments({ ...shared, ...outbound, ...identity });
  const entries = createEntries({ ...shared, ...outbound });
  const callers = createCallerDirectory({ mcpServers, audience: config.publicUrl, now, apiKeys: foundation.apiKeys });

  return {
    ...shared,
    ...authorization,
    ...identity,
    ...payments,
    ...entries,
    issueFlow: new IssueFlow({ ...shared, ...authorization, ...identity, ...payments, registeredNames }),
    redemptionFlow: new RedemptionFlow({ ...shared, ...payments }),
    registeredNames,
    retired,
    gatewayProof: createGatewayProof(sharedSecret),
    callers,
    waitingRequests: createWaitingRequests(ending, callers.isCurrent),
    eventStreams: createEventStreams({
      feeds: stores.feeds,
      max: config.overload.eventStreams,
      onFull: () => foundation.overload.refused('wait', 'cap'),
      onError: error => foundation.logger.warn({ event: 'events.unread', error }, 'reading events failed; retrying'),
    }),
    upstreamOf,
    outboundLog: outbound.outboundLog,
  };
}
