import {
  type Amount,
  type Connection,
  type Credential,
  type ElicitationRequest,
  kinds,
  type McpServer,
  type StorageQuota,
} from '@postern/elicitation';
import type { CredentialCheckConfig } from './config/approval-config.ts';
import type { McpServerConfig } from './config/config-schema.ts';

/** An MCP server as configured, together with what the domain must know of it. */
export interface RegisteredMcpServer extends McpServer {
  readonly config: McpServerConfig;
  /** Accepted `aud` of access tokens it hands over. */
  readonly audience: readonly string[];
}

export function registerMcpServer(config: McpServerConfig, quota: StorageQuota): RegisteredMcpServer {
  return {
    config,
    mcpServerId: config.id,
    identityMode: config.identity.mode,
    // The colon keeps groups and ids apart: neither may contain one.
    connectionOwner: config.group === undefined ? config.id : `group:${config.group}`,
    kinds: kindsOf(config),
    providers: config.providers,
    ...(config.payment === undefined
      ? {}
      : { payment: { processors: config.payment.processors, maxMinorUnits: config.payment.maxAmount } }),
    issuers: config.issuers,
    returnUrls: config.returnUrls,
    audience: config.audiences.length > 0 ? config.audiences : [config.url],
    limits: {
      subjectMax: config.limits.elicitationsPerSubject,
      subjectWindowMs: config.limits.subjectWindowSeconds * 1000,
      maxTtlMs: config.limits.maxTtlSeconds * 1000,
      quota,
    },
  };
}

/** Payments only where the operator has set limits for them. */
function kindsOf({ kinds: named, payment }: McpServerConfig): McpServer['kinds'] {
  return named ?? kinds.filter(kind => kind !== 'payment' || payment !== undefined);
}

/** Whether the operator (still) lets this MCP server ask for it. */
export function mayAsk({ kinds, providers, payment }: McpServer, request: ElicitationRequest): boolean {
  if (!kinds.includes(request.kind)) return false;
  switch (request.kind) {
    case 'authorization':
      return providers.includes(request.provider);
    case 'payment':
      return payment?.processors.includes(request.processor) === true && isWithinLimit(payment, request.terms.amount);
    default:
      return true;
  }
}

/** In a currency that has a limit, and not above it. */
function isWithinLimit(
  { maxMinorUnits }: NonNullable<McpServer['payment']>,
  { currency, minorUnits }: Amount,
): boolean {
  return Object.hasOwn(maxMinorUnits, currency) && minorUnits <= (maxMinorUnits[currency] ?? 0);
}

/** How a credential of this name is checked before it is accepted. A name is the MCP server's to choose, also one that every object has. */
export function checkOf(
  mcpServer: Pick<RegisteredMcpServer, 'config'> | undefined,
  name: string,
): CredentialCheckConfig | undefined {
  const checks = mcpServer?.config.credentialChecks ?? {};
  return Object.hasOwn(checks, name) ? checks[name] : undefined;
}

/** Who owns the connections made for an MCP server. One that is no longer registered owned its own. */
export function ownerOf(mcpServers: ReadonlyMap<string, RegisteredMcpServer>, mcpServerId: string): string {
  return mcpServers.get(mcpServerId)?.connectionOwner ?? mcpServerId;
}

/** Its owner's, and still something the operator lets this MCP server ask for. */
export function mayRead(caller: RegisteredMcpServer, credential: Credential): boolean {
  return (
    credential.owner === caller.connectionOwner &&
    caller.kinds.includes('credential') &&
    caller.issuers.includes(credential.subject.issuer)
  );
}

/** Its owner's, and still something the operator lets this MCP server ask for. */
export function mayUse(caller: RegisteredMcpServer, connection: Connection): boolean {
  return (
    connection.owner === caller.connectionOwner &&
    caller.providers.includes(connection.provider) &&
    caller.issuers.includes(connection.subject.issuer)
  );
}
