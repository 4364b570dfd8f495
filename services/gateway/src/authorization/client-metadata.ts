import { defaultText } from '@postern/api';
import {
  type ClientPresentation,
  type ClientRegistrationStore,
  clientDocument,
  clientKeySet,
} from '@postern/authorization';
import type { Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { redirectUriOf } from '../platform/http/public-urls.ts';
import { registrationContext } from '../sealing/seal-contexts.ts';

/** Path prefixes. The MCP server and the provider follow, as in the redirect URI. */
const CLIENT_PATHS = { document: '/oauth/clients', keySet: '/oauth/keys' } as const;

/** Describes the gateway for its registration as a client, in the name of the MCP server that needs the connection. */
export function createClientPresentation(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'images'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
}): ClientPresentation {
  const under = (folder: string, redirectUri: URL) =>
    new URL(redirectUri.pathname.replace(/^\/callback/, folder), p.config.publicUrl);

  return {
    describe(redirectUri) {
      const mcpServerId = redirectUri.pathname.split('/')[2] ?? '';
      const mcpServer = p.mcpServers.get(mcpServerId);
      if (mcpServer === undefined) throw new TypeError('the redirect URI is of no registered MCP server');
      const { name, logo } = mcpServer.config;
      const logoPath = logo && p.config.images.get(logo.light)?.path;
      return {
        clientName: defaultText(name),
        clientUri: p.config.publicUrl,
        logoUri: logoPath === undefined ? undefined : new URL(logoPath, p.config.publicUrl).href,
      };
    },
    documentUrl: redirectUri => under(CLIENT_PATHS.document, redirectUri),
    keySetUrl: redirectUri => under(CLIENT_PATHS.keySet, redirectUri),
  };
}

/** Stores the client registrations of the gateway, sealed, for all replicas. */
export function createClientRegistrations(p: {
  stores: Pick<Stores, 'clientRegistrations'>;
  vault: Vault;
}): ClientRegistrationStore {
  const { clientRegistrations } = p.stores;
  const open = (key: string, sealed: string) => p.vault.open(sealed, registrationContext(key));

  return {
    async read(key) {
      const sealed = await clientRegistrations.read(key);
      return sealed === undefined ? undefined : open(key, sealed);
    },

    async putIfAbsent(key, value) {
      const sealed = await p.vault.seal(value, registrationContext(key));
      return open(key, await clientRegistrations.putIfAbsent(key, sealed));
    },

    async remove(key, expected) {
      const sealed = await clientRegistrations.read(key);
      if (sealed !== undefined && (await open(key, sealed)) === expected) await clientRegistrations.remove(key, sealed);
    },
  };
}

interface OfClient {
  Params: { mcpServerId: string; provider: string };
}

/** How long an authorization server may cache these documents, in seconds. */
const MAX_AGE_SECONDS = 3600;

export interface ClientRoutesDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl' | 'providers'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly clientPresentation: ClientPresentation;
}

/**
 * Documents for authorization servers: Client ID Metadata Documents, and the public keys of our client assertions. They need no
 * authentication.
 */
export const clientRoutes: FastifyPluginAsync<{ deps: ClientRoutesDeps }> = async (app, { deps }) => {
  const { config, mcpServers, clientPresentation } = deps;
  const providers = new Map(config.providers.map(provider => [provider.name, provider]));

  /** @throws ProblemError `not_found` if the MCP server or the provider is not configured, or the one may not use the other */
  function found({ mcpServerId, provider: name }: OfClient['Params']) {
    const provider = providers.get(name);
    if (provider === undefined || mcpServers.get(mcpServerId)?.providers.includes(name) !== true)
      throw new ProblemError('not_found');
    return { provider, redirectUri: redirectUriOf(config.publicUrl, mcpServerId, name) };
  }

  function send(reply: FastifyReply, document: object | undefined): FastifyReply {
    if (document === undefined) throw new ProblemError('not_found');
    return reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`).type('application/json').send(document);
  }

  app.get<OfClient>(`${CLIENT_PATHS.document}/:mcpServerId/:provider`, (request, reply) => {
    const { provider, redirectUri } = found(request.params);
    return send(reply, clientDocument(provider, clientPresentation, redirectUri));
  });

  app.get<OfClient>(`${CLIENT_PATHS.keySet}/:mcpServerId/:provider`, (request, reply) =>
    send(reply, clientKeySet(found(request.params).provider)),
  );
};
