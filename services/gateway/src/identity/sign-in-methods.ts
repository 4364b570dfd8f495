import { createHmac, hkdfSync } from 'node:crypto';
import { issuersOf } from '@postern/authorization';
import type { Elicitation, ElicitationId } from '@postern/elicitation';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { IdentityProvider } from './sign-in-flow.ts';

/** Where the link of an elicitation redirects a browser without a session. */
export type SignInMethod =
  | { readonly mode: 'login'; readonly identityProvider: IdentityProvider }
  | { readonly mode: 'external'; readonly mcpServerId: string; readonly verifyUrl: string };

/**
 * Chooses the sign-in method of an elicitation. An unknown id also gets one of the configured methods, always the same one, so that the
 * redirect does not reveal whether an id exists.
 */
export function createSignInMethods(p: {
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  identityProviders: readonly IdentityProvider[];
  /** Equal on all replicas, and secret: an attacker who can compute the method of an unknown id recognizes the existing ones. */
  secret: Uint8Array;
}) {
  const key = new Uint8Array(hkdfSync('sha256', p.secret, '', 'postern sign-in way of unknown ids, 1', 32));
  const loginAt = (issuer: string): SignInMethod | undefined => {
    const identityProvider = p.identityProviders.find(({ config }) => issuersOf(config).includes(issuer));
    return identityProvider === undefined ? undefined : { mode: 'login', identityProvider };
  };
  const methodOf = (
    { mcpServerId, config: { identity } }: RegisteredMcpServer,
    issuer: string,
  ): SignInMethod | undefined => {
    if (identity.mode === 'external') return { mode: 'external', mcpServerId, verifyUrl: identity.verifyUrl };
    return identity.mode === 'login' ? loginAt(issuer) : undefined;
  };

  const byDestination = new Map<string, SignInMethod>();
  for (const mcpServer of p.mcpServers.values())
    for (const issuer of mcpServer.issuers) {
      const method = methodOf(mcpServer, issuer);
      if (method !== undefined)
        byDestination.set(method.mode === 'login' ? method.identityProvider.config.name : method.verifyUrl, method);
    }
  const methods = [...byDestination.values()];

  return {
    /** False if every MCP server uses identity mode `loopback`, which has no sign-in. */
    available: methods.length > 0,

    /** Undefined only if no method is available. */
    of(elicitationId: ElicitationId, elicitation: Elicitation | undefined): SignInMethod | undefined {
      const mcpServer = elicitation === undefined ? undefined : p.mcpServers.get(elicitation.mcpServerId);
      const method =
        mcpServer === undefined || elicitation === undefined
          ? undefined
          : methodOf(mcpServer, elicitation.subject.issuer);
      return (
        method ?? methods[createHmac('sha256', key).update(elicitationId).digest().readUInt32BE() % methods.length]
      );
    },
  };
}

export type SignInMethods = ReturnType<typeof createSignInMethods>;
