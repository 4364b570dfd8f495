import type { Connection, McpServer } from '@postern/elicitation';
import type { McpServerConfig } from './config/config-schema.ts';

/** An MCP server as configured, together with what the domain must know of it. */
export interface RegisteredMcpServer extends McpServer {
  readonly config: McpServerConfig;
  /** Accepted `aud` of access tokens it hands over. */
  readonly audience: readonly string[];
}

export function registerMcpServer(config: McpServerConfig): RegisteredMcpServer {
  return {
    config,
    mcpServerId: config.id,
    identityMode: config.identity.mode,
    // The colon keeps groups and ids apart: neither may contain one.
    connectionOwner: config.group === undefined ? config.id : `group:${config.group}`,
    kinds: config.kinds,
    providers: config.providers,
    issuers: config.issuers,
    returnUrls: config.returnUrls,
    audience: config.audiences.length > 0 ? config.audiences : [config.url],
    limits: {
      subjectMax: config.limits.elicitationsPerSubject,
      subjectWindowMs: config.limits.subjectWindowSeconds * 1000,
      maxTtlMs: config.limits.maxTtlSeconds * 1000,
    },
  };
}

/** Who owns the connections made for an MCP server. One that is no longer registered owned its own. */
export function ownerOf(mcpServers: ReadonlyMap<string, RegisteredMcpServer>, mcpServerId: string): string {
  return mcpServers.get(mcpServerId)?.connectionOwner ?? mcpServerId;
}

/** Its owner's, and still something the operator lets this MCP server ask for. */
export function mayUse(caller: RegisteredMcpServer, connection: Connection): boolean {
  return (
    connection.owner === caller.connectionOwner &&
    caller.providers.includes(connection.provider) &&
    caller.issuers.includes(connection.subject.issuer)
  );
}
