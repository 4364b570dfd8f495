import { isSameUrl } from '@postern/authorization';
import {
  type Amount,
  type Connection,
  type Credential,
  DomainError,
  type ElicitationRequest,
  kinds,
  type McpServer,
  type PaymentRequest,
  type StorageQuota,
  type Subject,
} from '@postern/elicitation';
import {
  type CredentialCheckConfig,
  type LimitDefaults,
  limitDefaults,
  limitDefaultsOf,
  type McpServerConfig,
  type QuotaConfig,
  storageQuotaOf,
} from '../platform/config/mcp-server-config.ts';

/** A configured MCP server, with the members that the domain needs. */
export interface RegisteredMcpServer extends McpServer {
  readonly config: McpServerConfig;
  /** Accepted `aud` of the access tokens that it passes on. */
  readonly audience: readonly string[];
}

/** An authenticated caller. */
export interface Caller {
  readonly mcpServer: RegisteredMcpServer;
  /** The API key that it sent. Undefined for a JWT. */
  readonly apiKey:
    | { readonly apiKeyId: string; readonly source: 'file' | 'store'; readonly digest: string }
    | undefined;
}

/** @internal exported for tests */
export function registerMcpServer(
  config: McpServerConfig,
  quota: StorageQuota,
  defaults: LimitDefaults = limitDefaults.network,
): RegisteredMcpServer {
  const { limits, identity } = config;
  return {
    config,
    mcpServerId: config.id,
    identityMode: identity.mode,
    // Groups and ids contain no colon, so they cannot collide.
    connectionOwner: config.group === undefined ? config.id : `group:${config.group}`,
    kinds: kindsOf(config),
    providers: config.providers,
    payment: config.payment && { processors: config.payment.processors, maxMinorUnits: config.payment.maxAmount },
    issuers: config.issuers,
    returnUrls: config.returnUrls,
    audience: config.audiences.length > 0 ? config.audiences : [config.url],
    limits: {
      subjectMax: limits.elicitationsPerSubject ?? defaults.elicitationsPerSubject,
      subjectWindowMs: limits.subjectWindowSeconds * 1000,
      openMax: limits.openElicitationsPerSubject ?? defaults.openElicitationsPerSubject,
      maxTtlMs: limits.maxTtlSeconds * 1000,
      quota,
    },
  };
}

/** Registers the configured MCP servers, by id. */
export function registerMcpServers(
  config: QuotaConfig & { readonly publicUrl: string; readonly mcpServers: readonly McpServerConfig[] },
): ReadonlyMap<string, RegisteredMcpServer> {
  const defaults = limitDefaultsOf(config.publicUrl);
  return new Map(
    config.mcpServers.map(server => [server.id, registerMcpServer(server, storageQuotaOf(server, config), defaults)]),
  );
}

/** Payments only if the operator configured limits for them. */
function kindsOf({ kinds: named, payment }: McpServerConfig): McpServer['kinds'] {
  return named ?? kinds.filter(kind => kind !== 'payment' || payment !== undefined);
}

/** Returns the registered payee of this name. Its account is where the processor sends the money. */
export function payeeOf(
  { config }: Pick<RegisteredMcpServer, 'config'>,
  { terms, processor }: Pick<PaymentRequest, 'terms' | 'processor'>,
): { readonly name: string; readonly account?: string } | undefined {
  const found = config.payment?.payees.find(({ name }) => name === terms.payee.name);
  if (found === undefined) return undefined;
  const account = Object.hasOwn(found.accounts, processor) ? found.accounts[processor] : undefined;
  return { name: found.name, account };
}

/** Whether a processor may (still) take a payment: its payee is registered, and has the account that the request has. */
export function isForRegisteredPayee(mcpServer: Pick<RegisteredMcpServer, 'config'>, request: PaymentRequest): boolean {
  if (request.processor === 'none') return true;
  const payee = payeeOf(mcpServer, request);
  return payee !== undefined && payee.account === request.payeeAccount;
}

/** Whether the configuration (still) allows this request of the MCP server. */
export function mayAsk(mcpServer: RegisteredMcpServer, request: ElicitationRequest): boolean {
  const { kinds, providers, payment } = mcpServer;
  if (!kinds.includes(request.kind)) return false;
  switch (request.kind) {
    case 'authorization':
      return providers.includes(request.provider);
    case 'payment':
      return (
        payment?.processors.includes(request.processor) === true &&
        isWithinLimit(payment, request.terms.amount) &&
        isForRegisteredPayee(mcpServer, request)
      );
    default:
      return true;
  }
}

/** Whether the currency has a limit and the amount does not exceed it. */
function isWithinLimit(
  { maxMinorUnits }: NonNullable<McpServer['payment']>,
  { currency, minorUnits }: Amount,
): boolean {
  return Object.hasOwn(maxMinorUnits, currency) && minorUnits <= (maxMinorUnits[currency] ?? 0);
}

/** Returns the check of a credential. The MCP server chooses the name, so it may be a name like `constructor`. */
export function checkOf(
  mcpServer: Pick<RegisteredMcpServer, 'config'> | undefined,
  name: string,
): CredentialCheckConfig | undefined {
  const checks = mcpServer?.config.credentialChecks ?? {};
  return Object.hasOwn(checks, name) ? checks[name] : undefined;
}

/** Returns the owner of the connections of an MCP server. A removed MCP server counts as the owner of its connections. */
export function ownerOf(mcpServers: ReadonlyMap<string, RegisteredMcpServer>, mcpServerId: string): string {
  return mcpServers.get(mcpServerId)?.connectionOwner ?? mcpServerId;
}

/** Returns the user that the caller names, with the issuer as configured for the caller, which records keep. */
export function asConfigured({ issuers }: RegisteredMcpServer, { issuer, subject }: Subject): Subject {
  const known = issuers.includes(issuer) ? issuer : issuers.find(candidate => isSameUrl(candidate, issuer));
  return { issuer: known ?? issuer, subject };
}

/** As `asConfigured`, for records of the user. @throws DomainError `issuer_not_allowed` */
export function allowedSubject(caller: RegisteredMcpServer, named: Subject): Subject {
  const subject = asConfigured(caller, named);
  if (!caller.issuers.includes(subject.issuer)) throw issuerNotAllowed();
  return subject;
}

export const issuerNotAllowed = (): DomainError =>
  new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');

/** Whether the caller shares the owner of the record and may still request its kind. */
export function mayRead(caller: RegisteredMcpServer, credential: Credential): boolean {
  return (
    credential.owner === caller.connectionOwner &&
    caller.kinds.includes('credential') &&
    caller.issuers.includes(credential.subject.issuer)
  );
}

/** Whether the caller shares the owner of the record and may still request its kind. */
export function mayUse(caller: RegisteredMcpServer, connection: Connection): boolean {
  return (
    connection.owner === caller.connectionOwner &&
    caller.kinds.includes('authorization') &&
    caller.providers.includes(connection.provider) &&
    caller.issuers.includes(connection.subject.issuer)
  );
}
