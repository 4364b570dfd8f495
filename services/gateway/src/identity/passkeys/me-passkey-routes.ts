import type { BrowserSession, Passkey } from '@postern/elicitation';
import {
  type AddPasskeyView,
  addPasskeyPage,
  passkeyRemovedPage,
  removePasskeyPage,
  renamePasskeyPage,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { PageKit } from '../../pages/page-views.ts';
import { type AccountGuardDeps, createAccountGuard, ignoreMissing } from '../account-guard.ts';
import type { CeremonyStart } from './passkey-ceremony.ts';
import { type PasskeyChangeFlow, parsePasskeyName } from './passkey-change-flow.ts';
import {
  addPasskeyPath,
  createMePasskeys,
  type MePasskeysDeps,
  newPasskeyPath,
  removePasskeyPath,
  renamePasskeyPath,
} from './user-passkeys.ts';

const renameFormSchema = z.strictObject({ csrf_token: z.string().max(128), label: z.string().max(1024) });

interface PasskeyByName {
  Params: { name: string };
}

export interface MePasskeyRoutesDeps extends AccountGuardDeps, MePasskeysDeps {
  readonly passkeyChangeFlow: PasskeyChangeFlow;
}

/**
 * Adds and removes passkeys below `/me`. Every change needs a recent sign-in and an assertion of a passkey. A thief of the session cookie
 * must be able neither to remove a passkey nor to add one.
 */
export const mePasskeyRoutes: FastifyPluginAsync<PageKit<MePasskeyRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { passkeyChangeFlow } = deps;
  const { guardGet, guardForm, guardPasskeyPost, isFresh, freshSignInHref } = createAccountGuard(pages);
  const passkeys = createMePasskeys(pages);

  /** Members of the form that runs the ceremony. */
  const formOf = (browserSession: BrowserSession, started: CeremonyStart) => ({
    ...started,
    csrfToken: browser.csrfToken(browserSession.id),
    keepHref: '/me',
  });

  async function sendRemoval(
    request: FastifyRequest,
    reply: FastifyReply,
    p: { readonly browserSession: BrowserSession; readonly passkey: Passkey; readonly notice?: 'failed' },
  ): Promise<FastifyReply> {
    const { browserSession, passkey, notice } = p;
    const started = await passkeyChangeFlow.begin(browserSession, { to: 'remove', passkeyId: passkey.passkeyId });
    // Another request removed it.
    if (started === undefined) return reply.redirect('/me', 303);
    return reply.send(
      removePasskeyPage(views.context(request), {
        ...passkeys.view(passkey),
        ...formOf(browserSession, started),
        isLast: (await passkeys.list(browserSession)).passkeys.length === 1,
        action: removePasskeyPath(passkey),
        notice,
      }),
    );
  }

  function sendAddition(
    request: FastifyRequest,
    reply: FastifyReply,
    p: { readonly browserSession: BrowserSession; readonly started: CeremonyStart } & Pick<AddPasskeyView, 'notice'>,
  ): FastifyReply {
    const { browserSession, started, notice } = p;
    return reply.send(
      addPasskeyPage(views.context(request), {
        ...formOf(browserSession, started),
        action: started.mode === 'assert' ? addPasskeyPath : newPasskeyPath,
        notice,
      }),
    );
  }

  /** Shows the first step of adding a passkey: an assertion of an existing one. */
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
    guardGet(request, reply, async browserSession => {
      const passkey = await passkeys.find(browserSession, request.params.name);
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      return sendRemoval(request, reply, { browserSession, passkey });
    }),
  );

  app.post<PasskeyByName>('/me/passkeys/:name/remove', (request, reply) =>
    guardPasskeyPost(request, reply, async (browserSession, answer) => {
      const passkey = await passkeys.find(browserSession, request.params.name).catch(ignoreMissing);
      if (passkey === undefined) return reply.redirect('/me', 303);
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      if (!(await passkeyChangeFlow.remove(browserSession, passkey, answer)))
        return sendRemoval(request, reply.code(422), { browserSession, passkey, notice: 'failed' });
      return reply.send(passkeyRemovedPage(views.context(request), { ...passkeys.view(passkey), backHref: '/me' }));
    }),
  );

  const sendRename = (
    request: FastifyRequest,
    p: { readonly browserSession: BrowserSession; readonly passkey: Passkey; readonly notice?: 'invalid' },
  ): string =>
    renamePasskeyPage(views.context(request), {
      label: p.passkey.label,
      action: renamePasskeyPath(p.passkey),
      keepHref: '/me',
      csrfToken: browser.csrfToken(p.browserSession.id),
      notice: p.notice,
    });

  app.get<PasskeyByName>('/me/passkeys/:name/rename', (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const passkey = await passkeys.find(browserSession, request.params.name);
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      return reply.send(sendRename(request, { browserSession, passkey }));
    }),
  );

  // A thief of the session cookie must not be able to swap the names of two passkeys, so that the user removes the wrong one.
  app.post<PasskeyByName>('/me/passkeys/:name/rename', (request, reply) =>
    guardForm(request, reply, renameFormSchema, async (browserSession, { label: typed }) => {
      const passkey = await passkeys.find(browserSession, request.params.name).catch(ignoreMissing);
      if (passkey === undefined) return reply.redirect('/me', 303);
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      const label = parsePasskeyName(typed);
      if (label === undefined)
        return reply.code(422).send(sendRename(request, { browserSession, passkey, notice: 'invalid' }));
      await passkeyChangeFlow.rename(browserSession, passkey, label);
      return reply.redirect('/me', 303);
    }),
  );

  app.get(addPasskeyPath, (request, reply) =>
    guardGet(request, reply, async browserSession =>
      isFresh(browserSession)
        ? sendPermission(request, reply, { browserSession })
        : reply.redirect(freshSignInHref(browserSession), 303),
    ),
  );

  app.post(addPasskeyPath, (request, reply) =>
    guardPasskeyPost(request, reply, async (browserSession, answer) => {
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      const started = await passkeyChangeFlow.permit(browserSession, answer);
      return started === undefined
        ? sendPermission(request, reply.code(422), { browserSession, notice: 'failed' })
        : sendAddition(request, reply, { browserSession, started });
    }),
  );

  app.post(newPasskeyPath, (request, reply) =>
    guardPasskeyPost(request, reply, async (browserSession, answer) => {
      if (!isFresh(browserSession)) return reply.redirect(freshSignInHref(browserSession), 303);
      return (await passkeyChangeFlow.add(browserSession, answer))
        ? reply.redirect('/me', 303)
        : sendPermission(request, reply.code(422), { browserSession, notice: 'not_added' });
    }),
  );
};
