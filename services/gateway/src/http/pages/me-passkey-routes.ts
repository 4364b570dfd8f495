import type { BrowserSession, Passkey } from '@postern/elicitation';
import {
  type AddPasskeyView,
  addPasskeyPage,
  passkeyPageHeaders,
  passkeyRemovedPage,
  passkeyScript,
  removePasskeyPage,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { CeremonyStart } from '../../flows/passkey-ceremony.ts';
import { addPasskeyPath, createMePasskeys, newPasskeyPath, removePasskeyPath } from './me-passkeys.ts';
import { createMePresence, unlessGone } from './me-presence.ts';
import type { PageDeps } from './page-routes.ts';

interface PasskeyByName {
  Params: { name: string };
}

/**
 * Below `/me`: the passkeys that prove it is this person. Every change needs a recent sign-in and an assertion of a passkey: whoever has
 * only the browser must neither make room for a passkey of their own nor add one.
 */
export const mePasskeyRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { passkeyChangeFlow } = deps;
  const { look, decideWithPasskey, isFresh, freshSignInHref } = createMePresence(pages);
  const passkeys = createMePasskeys(pages);

  /** Of the form that runs the ceremony. */
  const formOf = (browserSession: BrowserSession, started: CeremonyStart) => ({
    ...started,
    csrfToken: browser.csrfToken(browserSession.id),
    scriptPath: passkeyScript.path,
    keepHref: '/me',
  });

  async function sendRemoval(
    request: FastifyRequest,
    reply: FastifyReply,
    p: { readonly browserSession: BrowserSession; readonly passkey: Passkey; readonly notice?: 'failed' },
  ): Promise<FastifyReply> {
    const { browserSession, passkey, notice } = p;
    const started = await passkeyChangeFlow.begin(browserSession, { to: 'remove', passkeyId: passkey.passkeyId });
    // Removed meanwhile.
    if (started === undefined) return reply.redirect('/me', 303);
    return reply.headers(passkeyPageHeaders).send(
      removePasskeyPage(views.context(request), {
        ...passkeys.view(passkey),
        ...formOf(browserSession, started),
        isLast: (await passkeys.list(browserSession)).passkeys.length === 1,
        action: removePasskeyPath(passkey),
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  function sendAddition(
    request: FastifyRequest,
    reply: FastifyReply,
    p: { readonly browserSession: BrowserSession; readonly started: CeremonyStart } & Pick<AddPasskeyView, 'notice'>,
  ): FastifyReply {
    const { browserSession, started, notice } = p;
    return reply.headers(passkeyPageHeaders).send(
      addPasskeyPage(views.context(request), {
        ...formOf(browserSession, started),
        action: started.mode === 'assert' ? addPasskeyPath : newPasskeyPath,
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  /** The first step of adding one. */
  async function sendPermission(
    request: FastifyRequest,
    reply: FastifyReply,
    p: { readonly browserSession: BrowserSession } & Pick<AddPasskeyView, 'notice'>,
  ): Promise<FastifyReply> {
    const { addPasskeyHref } = await passkeys.list(p.browserSession);
    const started =
      addPasskeyHref === undefined ? undefined : await passkeyChangeFlow.begin(p.browserSession, { to: 'add' });
    return started === undefined ? reply.redirect('/me', 303) : sendAddition(request, reply, { ...p, started });
  }

  app.get<PasskeyByName>('/me/passkeys/:name/remove', (request, reply) =>
    look(request, reply, async browserSession => {
      const passkey = await passkeys.theirs(browserSession, request.params.name);
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      return sendRemoval(request, reply, { browserSession, passkey });
    }),
  );

  app.post<PasskeyByName>('/me/passkeys/:name/remove', (request, reply) =>
    decideWithPasskey(request, reply, async (browserSession, answer) => {
      const passkey = await passkeys.theirs(browserSession, request.params.name).catch(unlessGone);
      if (passkey === undefined) return reply.redirect('/me', 303);
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      if (!(await passkeyChangeFlow.remove(browserSession, passkey, answer)))
        return sendRemoval(request, reply.code(422), { browserSession, passkey, notice: 'failed' });
      return reply.send(passkeyRemovedPage(views.context(request), { ...passkeys.view(passkey), backHref: '/me' }));
    }),
  );

  app.get(addPasskeyPath, (request, reply) =>
    look(request, reply, async browserSession =>
      isFresh(browserSession)
        ? sendPermission(request, reply, { browserSession })
        : reply.redirect(freshSignInHref(browserSession), 303),
    ),
  );

  app.post(addPasskeyPath, (request, reply) =>
    decideWithPasskey(request, reply, async (browserSession, answer) => {
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      const started = await passkeyChangeFlow.permit(browserSession, answer);
      return started === undefined
        ? sendPermission(request, reply.code(422), { browserSession, notice: 'failed' })
        : sendAddition(request, reply, { browserSession, started });
    }),
  );

  app.post(newPasskeyPath, (request, reply) =>
    decideWithPasskey(request, reply, async (browserSession, answer) => {
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      return (await passkeyChangeFlow.add(browserSession, answer))
        ? reply.redirect('/me', 303)
        : sendPermission(request, reply.code(422), { browserSession, notice: 'not_added' });
    }),
  );
};
