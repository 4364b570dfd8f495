import { AuthorizationError, type Provider, type ProviderRegistry } from '@postern/authorization';
import { connectionIdOf, type Elicitation } from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';

/**
 * Which scopes an attempt asks the provider for: those of the elicitation and those the same connection already has. A new
 * grant replaces the old one, and most providers grant exactly what was asked, so asking for less would take away from one
 * tool what another one needs. The page shows the same list.
 */
export function createScopePlan(p: {
  stores: Pick<RedisStores, 'connections'>;
  providers: ProviderRegistry;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
}) {
  return async function scopesFor(elicitation: Elicitation): Promise<string[]> {
    const { request, subject, mcpServerId } = elicitation;
    const owner = p.mcpServers.get(mcpServerId)?.connectionOwner ?? mcpServerId;
    const connection = await p.stores.connections.read(
      connectionIdOf({ owner, subject, provider: request.provider, resource: request.resource }),
    );
    const provider = p.providers.get(request.provider);
    const isSameAccount = request.expectedAccount === undefined || request.expectedAccount === connection?.account?.id;
    if (connection === undefined || provider === undefined || !isSameAccount) return [...request.scopes];
    const kept = connection.scopes.filter(scope => isRequestable(provider, scope));
    return [...new Set([...request.scopes, ...kept])].sort();
  };
}

export type ScopePlan = ReturnType<typeof createScopePlan>;

/** Providers may grant what nobody can ask for. */
function isRequestable(provider: Provider, scope: string): boolean {
  try {
    provider.requestedScopes([scope]);
    return true;
  } catch (error) {
    if (error instanceof AuthorizationError && error.code === 'scope_not_allowed') return false;
    throw error;
  }
}
