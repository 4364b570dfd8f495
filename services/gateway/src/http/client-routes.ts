import { clientDocument, clientKeySet } from '@postern/authorization';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import type { GatewayDeps } from '../deps.ts';
import { CLIENT_PATHS } from '../flows/client-presentation.ts';
import { redirectUriOf } from '../flows/redirect-uri.ts';
import { ProblemError } from './problem-error.ts';

interface OfClient {
  Params: { mcpServerId: string; provider: string };
}

/** How long an authorization server may remember who we are, in seconds. */
const MAX_AGE_SECONDS = 3600;

/**
 * What authorization servers read about us: Client ID Metadata Documents, and the keys that our client assertions are signed
 * with. Public, the same for everybody.
 */
export const clientRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  const { config, mcpServers, clientPresentation } = deps;
  const providers = new Map(config.providers.map(provider => [provider.name, provider]));

  /** @throws ProblemError `not_found` for what is not registered, and for what nobody needs. */
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
