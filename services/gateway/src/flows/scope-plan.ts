import { AuthorizationError, type Provider, type ProviderRegistry } from '@postern/authorization';
import {
  type Clock,
  type Connection,
  connectionIdOf,
  digestOf,
  type ElicitationOf,
  type ReconnectReason,
  reconnectReason,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { ownerOf, type RegisteredMcpServer } from '../registered-mcp-server.ts';

/** What an attempt will ask the provider for, and how that differs from what is granted already. */
export interface ScopePlan {
  /** Asked for at the provider. */
  readonly requested: readonly string[];
  /** Granted already, and granted still afterwards. */
  readonly held: readonly string[];
  /** The connection that will be replaced, and why it does not serve. */
  readonly connection?: Connection;
  readonly reason?: ReconnectReason;
  /** The same for the same plan: a consent counts for the plan that was shown, and for no other. */
  readonly digest: string;
}

/**
 * Plans the scopes of an attempt. A new grant replaces the old one and most providers grant exactly what was asked, so the
 * request holds what the connection already has as well, or one tool would lose what another one needs. Only where the provider
 * itself adds new scopes to the old ones is it asked for the missing ones alone.
 */
export function createScopePlanner(p: {
  stores: Pick<RedisStores, 'connections'>;
  providers: ProviderRegistry;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  now: Clock;
}) {
  return async function planFor(elicitation: ElicitationOf<'authorization'>): Promise<ScopePlan> {
    const { request, subject, mcpServerId } = elicitation;
    const owner = ownerOf(p.mcpServers, mcpServerId);
    const connection = await p.stores.connections.read(
      connectionIdOf({ owner, subject, provider: request.provider, resource: request.resource }),
    );
    const provider = p.providers.get(request.provider);
    const isSameAccount = request.expectedAccount === undefined || request.expectedAccount === connection?.account?.id;
    if (connection === undefined || provider === undefined || !isSameAccount)
      return planned(withBase(provider, request.scopes), []);
    const kept = connection.scopes.filter(scope => isRequestable(provider, scope));
    // What the provider adds new scopes to must still be there.
    const requested =
      provider.incremental && connection.lost === undefined
        ? missing(provider, request.scopes, kept)
        : [...new Set([...request.scopes, ...kept])];
    const reason = reconnectReason(connection, request.scopes, p.now());
    return {
      ...planned(withBase(provider, requested), kept),
      connection,
      ...(reason === undefined ? {} : { reason }),
    };
  };
}

export type ScopePlanner = ReturnType<typeof createScopePlanner>;

function planned(
  requested: readonly string[],
  held: readonly string[],
): Pick<ScopePlan, 'requested' | 'held' | 'digest'> {
  const sorted = [...requested].sort();
  return { requested: sorted, held, digest: digestOf(JSON.stringify(['scope plan', sorted])).slice(0, 22) };
}

function missing(provider: Provider, needed: readonly string[], held: readonly string[]): readonly string[] {
  try {
    return provider.scopesToRequest(needed, held);
  } catch (error) {
    return ifNotAllowed(error, needed);
  }
}

/** Allowed when it was issued, no longer configured now: accepting will say that the provider cannot be asked. */
function ifNotAllowed(error: unknown, scopes: readonly string[]): readonly string[] {
  if (error instanceof AuthorizationError && error.code === 'scope_not_allowed') return scopes;
  throw error;
}

/** With what the configuration always adds, because the person is to see it too. */
function withBase(provider: Provider | undefined, scopes: readonly string[]): readonly string[] {
  try {
    return provider?.requestedScopes(scopes) ?? scopes;
  } catch (error) {
    return ifNotAllowed(error, scopes);
  }
}

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
