import { wrongBrowserPage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { isPrefetch } from './same-origin.ts';
import { visitorOf } from './visitor-of.ts';

/** The provider's answer. Whatever it brings, the browser leaves this URL at once: it may hold a code. */
export const callbackRoutes: FastifyPluginAsync<PageDeps> = async (app, { deps, browser, views }) => {
  app.get<{ Params: { mcpServerId: string; provider: string } }>(
    '/callback/:mcpServerId/:provider',
    { exposeHeadRoute: false },
    async (request, reply) => {
      if (isPrefetch(request)) throw new PageError('forbidden');
      const { mcpServerId, provider } = request.params;
      const browserSession = await browser.readSession(request);
      const answer = await deps.authorizationFlow.answer({
        mcpServerId: deps.mcpServers.has(mcpServerId) ? mcpServerId : '(unknown)',
        providerName: deps.providers.get(provider) === undefined ? '(unknown)' : provider,
        callbackUrl: new URL(request.url, deps.config.publicUrl),
        browserBinding: browser.bindingOf(request),
        visitorOf: elicitation =>
          views.isRegistered(elicitation) ? visitorOf(elicitation, browserSession) : undefined,
      });
      switch (answer.result) {
        case 'refused':
          return reply.code(400).send(wrongBrowserPage(views.context(request)));
        case 'settled':
          return reply.redirect(`/e/${answer.elicitationId}`, 303);
        case 'verify':
          return reply.redirect(answer.url.href, 303);
      }
    },
  );
};
