import { credentialDeletedPage, deleteCredentialPage, passkeyRemovedPage, removePasskeyPage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { createMeCredentials, deleteCredentialPath } from './me-credentials.ts';
import { createMePasskeys, removePasskeyPath } from './me-passkeys.ts';
import { createMePresence, unlessGone } from './me-presence.ts';
import type { PageDeps } from './page-routes.ts';

interface CredentialById {
  Params: { credentialId: string };
}
interface PasskeyByName {
  Params: { name: string };
}

/** Below `/me`: deleting what a person has typed, and the passkeys that prove it is them. */
export const meSecretRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { look, decide, isFresh, freshSignInHref } = createMePresence(pages);
  const credentials = createMeCredentials(pages);
  const passkeys = createMePasskeys(pages);

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

  app.get<PasskeyByName>('/me/passkeys/:name/remove', (request, reply) =>
    look(request, reply, async browserSession => {
      const passkey = await passkeys.theirs(browserSession, request.params.name);
      // Whoever finds the browser open must not make room for a passkey of their own.
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      return reply.send(
        removePasskeyPage(views.context(request), {
          ...passkeys.view(passkey),
          isLast: (await passkeys.list(browserSession)).length === 1,
          removeAction: removePasskeyPath(passkey),
          keepHref: '/me',
          csrfToken: browser.csrfToken(browserSession.id),
        }),
      );
    }),
  );

  app.post<PasskeyByName>('/me/passkeys/:name/remove', (request, reply) =>
    decide(request, reply, async browserSession => {
      const passkey = await passkeys.theirs(browserSession, request.params.name).catch(unlessGone);
      if (passkey === undefined) return reply.redirect('/me', 303);
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      const { passkeyId, subject: holder } = passkey;
      if (await deps.stores.passkeys.remove(holder, passkeyId))
        deps.events.passkeyRemoved({ subject: browserSession.subject, passkeyId });
      return reply.send(passkeyRemovedPage(views.context(request), { ...passkeys.view(passkey), backHref: '/me' }));
    }),
  );
};
