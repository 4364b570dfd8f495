import { createHmac, hkdfSync } from 'node:crypto';
import type { Elicitation, ElicitationId } from '@postern/elicitation';
import type { IdentityProvider } from '../deps.ts';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';

/** Where the link of an elicitation sends a browser in which nobody is signed in. */
export type SignInWay =
  | { readonly mode: 'login'; readonly identityProvider: IdentityProvider }
  | { readonly mode: 'external'; readonly mcpServerId: string; readonly verifyUrl: string };

/**
 * Chooses how an elicitation's person signs in. An unknown id is answered in one of the configured ways as well, the same one each time,
 * so that the answer does not tell whether an id exists.
 */
export function createSignInWays(p: {
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  identityProviders: readonly IdentityProvider[];
  /** Equal on all replicas, and known to nobody else: whoever could tell the way of an unknown id would recognise the others. */
  secret: Uint8Array;
}) {
  const key = new Uint8Array(hkdfSync('sha256', p.secret, '', 'postern sign-in way of unknown ids, 1', 32));
  const loginAt = (issuer: string): SignInWay | undefined => {
    const identityProvider = p.identityProviders.find(({ config }) => config.issuer === issuer);
    return identityProvider === undefined ? undefined : { mode: 'login', identityProvider };
  };
  const wayOf = ({ mcpServerId, config: { identity } }: RegisteredMcpServer, issuer: string): SignInWay | undefined => {
    if (identity.mode === 'external') return { mode: 'external', mcpServerId, verifyUrl: identity.verifyUrl };
    return identity.mode === 'login' ? loginAt(issuer) : undefined;
  };

  const byDestination = new Map<string, SignInWay>();
  for (const mcpServer of p.mcpServers.values())
    for (const issuer of mcpServer.issuers) {
      const way = wayOf(mcpServer, issuer);
      if (way !== undefined) byDestination.set(way.mode === 'login' ? issuer : way.verifyUrl, way);
    }
  const ways = [...byDestination.values()];

  return {
    /** Whether anybody can sign in for an elicitation: not where every MCP server is in identity mode `loopback`. */
    exist: ways.length > 0,

    /** Undefined only where no way exists. */
    of(elicitationId: ElicitationId, elicitation: Elicitation | undefined): SignInWay | undefined {
      const mcpServer = elicitation === undefined ? undefined : p.mcpServers.get(elicitation.mcpServerId);
      const way =
        mcpServer === undefined || elicitation === undefined ? undefined : wayOf(mcpServer, elicitation.subject.issuer);
      return way ?? ways[createHmac('sha256', key).update(elicitationId).digest().readUInt32BE() % ways.length];
    },
  };
}

export type SignInWays = ReturnType<typeof createSignInWays>;
