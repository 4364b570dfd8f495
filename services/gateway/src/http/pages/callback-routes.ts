import { wrongBrowserPage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { isPrefetch } from './same-origin.ts';
import { visitorOf } from './visitor-of.ts';

/**
 * The provider's answer. An answer that is taken sends the browser on at once, because this URL holds a code. A refused one is
 * a 4xx right here: its state is burnt, so the code in the address is worth nothing to us any more.
 */
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
