import { AuthorizationError, type Provider, type ProviderRegistry } from '@postern/authorization';
import {
  type Clock,
  connectionIdOf,
  digestOf,
  type ElicitationOf,
  reconnectReason,
  type Stores,
} from '@postern/elicitation';
import { ownerOf, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { ScopePlan } from './authorization-start.ts';

/**
 * Plans the scopes of an attempt. A new grant replaces the old one, and most providers grant only the requested scopes. So the
 * request includes the scopes of the existing connection, or one tool would lose the scopes of another. A provider that adds new
 * scopes to the old ones gets only the missing ones.
 */
export function createScopePlanner(p: {
  stores: Pick<Stores, 'connections'>;
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
    const held = connection.scopes.filter(scope => isRequestable(provider, scope));
    // A provider adds scopes only to a grant that still exists.
    const requested =
      provider.incremental && connection.lost === undefined
        ? missing(provider, request.scopes, held)
        : [...new Set([...request.scopes, ...held])];
    const reason = reconnectReason(connection, request.scopes, p.now());
    return {
      ...planned(withBase(provider, requested), held),
      connection,
      reason,
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

/** The configuration no longer allows a scope that it allowed at issue. The accept reports the error. */
function ifNotAllowed(error: unknown, scopes: readonly string[]): readonly string[] {
  if (error instanceof AuthorizationError && error.code === 'scope_not_allowed') return scopes;
  throw error;
}

/**
 * Adds the scopes that the configuration always requests: the page must show them too. Keeps the spelling of an elicitation that was
 * issued under another configuration, which the domain compares.
 */
function withBase(provider: Provider | undefined, scopes: readonly string[]): readonly string[] {
  try {
    return [...new Set([...(provider?.requestedScopes(scopes) ?? []), ...scopes])];
  } catch (error) {
    return ifNotAllowed(error, scopes);
  }
}

/** A provider may grant scopes that cannot be requested. */
function isRequestable(provider: Provider, scope: string): boolean {
  try {
    provider.requestedScopes([scope]);
    return true;
  } catch (error) {
    if (error instanceof AuthorizationError && error.code === 'scope_not_allowed') return false;
    throw error;
  }
}
