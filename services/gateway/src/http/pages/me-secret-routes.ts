import { credentialDeletedPage, deleteCredentialPage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { createMeCredentials, deleteCredentialPath } from './me-credentials.ts';
import { createMePresence, unlessGone } from './me-presence.ts';
import type { PageDeps } from './page-routes.ts';

interface CredentialById {
  Params: { credentialId: string };
}

/** Below `/me`: deleting what a person has typed. */
export const meSecretRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { look, decide } = createMePresence(pages);
  const credentials = createMeCredentials(pages);

  app.get<CredentialById>('/me/credentials/:credentialId/delete', (request, reply) =>
    look(request, reply, async browserSession => {
      const credential = await credentials.theirs(browserSession, request.params.credentialId);
      return reply.send(
        deleteCredentialPage(views.context(request), {
          ...(await credentials.view(credential)),
          deleteAction: deleteCredentialPath(credential),
          keepHref: '/me',
          csrfToken: browser.csrfToken(browserSession.id),
        }),
      );
    }),
  );

  app.post<CredentialById>('/me/credentials/:credentialId/delete', (request, reply) =>
    decide(request, reply, async browserSession => {
      const credential = await credentials.theirs(browserSession, request.params.credentialId).catch(unlessGone);
      if (credential === undefined) return reply.redirect('/me', 303);
      await deps.credentialFlow.delete(credential, 'person').catch(unlessGone);
      const saved = credentials.saved(credential);
      return reply.send(credentialDeletedPage(views.context(request), { ...saved, backHref: '/me' }));
    }),
  );
};
