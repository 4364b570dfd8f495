import { AuthorizationError } from '@postern/authorization';
import {
  type BrowserSession,
  type Elicitation,
  type ElicitationId,
  isSamePerson,
  isTerminal,
  parseElicitationId,
} from '@postern/elicitation';
import { notFoundPage, signedOutPage, signInFailedPage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { IdentityProvider } from '../../deps.ts';
import { FRESH_SECONDS } from '../../flows/freshness.ts';
import type { ReturnTo } from '../../flows/sign-in-flow.ts';
import { readFormBody } from './form-body.ts';
import { OWN_CONTROLS } from './form-limits.ts';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { assertSameOrigin, isPrefetch } from './same-origin.ts';
import { visitorOf } from './visitor-of.ts';

const loginQuerySchema = z.object({
  e: z.string().max(128).optional(),
  to: z.literal('me').optional(),
  idp: z.string().max(40).optional(),
  switch: z.literal('1').optional(),
  fresh: z.literal('1').optional(),
});
const ticketQuerySchema = z.object({ ticket: z.string().min(1).max(4096) });
const logoutFormSchema = z.strictObject({ csrf_token: z.string().max(128) });

/** Signing in and out of this browser. */
export const loginRoutes: FastifyPluginAsync<PageDeps> = async (app, { deps, browser, views }) => {
  const { signInFlow, signInWays, externalVerification, events } = deps;

  /** Oldest sign-in, in seconds, with which its person may still approve this elicitation. */
  function freshSecondsFor(elicitation: Elicitation): number | undefined {
    if (isTerminal(elicitation)) return undefined;
    const { freshSignInMs } = deps.approvalPolicy.requirementsOf(elicitation);
    return freshSignInMs === undefined ? undefined : freshSignInMs / 1000;
  }

  /** As its page would find it: withdrawn ones are unknown. */
  async function registeredAt(elicitationId: ElicitationId | undefined): Promise<Elicitation | undefined> {
    const found = elicitationId === undefined ? undefined : await deps.service.find(elicitationId);
    return found !== undefined && views.isRegistered(found) ? found : undefined;
  }

  /** Check 1: whether the person at the browser is the one that it is for. */
  function isTheirs(elicitation: Elicitation, browserSession: BrowserSession | undefined): boolean {
    const visitor = visitorOf(elicitation, browserSession);
    return visitor !== undefined && isSamePerson(elicitation, visitor);
  }

  /** Where a person who has just signed in must do so once more, because this ask needs to know how long ago it was. */
  async function stepUpOf(
    returnTo: ReturnTo | undefined,
    browserSession: BrowserSession,
    maxAge: number | undefined,
  ): Promise<string | undefined> {
    const elicitation = returnTo === 'me' ? undefined : await registeredAt(returnTo);
    if (elicitation === undefined || !isTheirs(elicitation, browserSession)) return undefined;
    const needed = freshSecondsFor(elicitation);
    // Asked for already: the identity provider has nothing better to say.
    if (needed === undefined || (maxAge !== undefined && maxAge <= needed)) return undefined;
    return deps.approvalPolicy.mustSignInAgain(elicitation, browserSession) ? views.signInHref(elicitation) : undefined;
  }

  // `/me` asks which one, where there are several identity providers; an elicitation knows.
  const retryOf = (returnTo: ReturnTo | undefined) =>
    returnTo === undefined
      ? {}
      : { retryHref: returnTo === 'me' ? '/me' : `/login?${new URLSearchParams({ e: returnTo })}` };

  // Writes nothing: the transaction travels in a sealed cookie.
  app.get('/login', async (request, reply) => {
    const query = loginQuerySchema.safeParse(request.query);
    if (!query.success) throw new PageError('bad_request');
    // Which of several, only the person can know.
    if (query.data.to === 'me' && query.data.idp === undefined && deps.identityProviders.length > 1)
      return reply.redirect('/me', 303);
    const elicitationId = query.data.to === undefined ? parseElicitationId(query.data.e ?? '') : undefined;
    const returnTo = query.data.to ?? elicitationId;
    const [elicitation, browserSession] = await Promise.all([
      registeredAt(elicitationId),
      browser.readSession(request),
    ]);
    if (elicitation?.identityMode === 'loopback') return reply.redirect(`/e/${elicitation.elicitationId}`, 303);

    // What this elicitation needs is said to its person alone: before check 1 all ids are answered alike.
    const isKnown =
      elicitation !== undefined && query.data.switch === undefined && isTheirs(elicitation, browserSession);
    const isFresh = query.data.fresh === '1';
    // Before a first passkey, a sign-in from before this request proves nothing: the cookie may be stolen.
    const provesFor = isKnown && isFresh ? elicitationId : undefined;
    const ofMe = isFresh && returnTo === 'me' ? FRESH_SECONDS : undefined;
    const maxAge = provesFor !== undefined ? 0 : isKnown ? freshSecondsFor(elicitation) : ofMe;
    let identityProvider: IdentityProvider | undefined;
    if (elicitationId === undefined) {
      identityProvider = signInFlow.identityProviderNamed(query.data.to === 'me' ? query.data.idp : undefined);
    } else {
      const way = signInWays.of(elicitationId, elicitation);
      if (way?.mode === 'external') {
        const binding = browser.digest(browser.ensureId(request, reply));
        return reply.redirect((await externalVerification.opening(way, elicitationId, binding, maxAge)).href, 303);
      }
      identityProvider = way?.identityProvider;
    }
    if (identityProvider === undefined) return reply.code(404).send(notFoundPage(views.context(request)));
    try {
      const { authorizationUrl, cookie } = await signInFlow.start({
        identityProvider,
        returnTo,
        again: query.data.switch === '1',
        ...(maxAge === undefined ? {} : { maxAge }),
        ...(provesFor === undefined ? {} : { provesFor }),
      });
      browser.setLoginCookie(request, reply, cookie);
      return reply.redirect(authorizationUrl.href, 303);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      events.signInFailed({ code: error.code });
      return reply.code(502).send(signInFailedPage(views.context(request), retryOf(returnTo)));
    }
  });

  // No request of this release names it. An identity provider that redirects here answers a request of an older replica.
  app.get('/login/callback', { exposeHeadRoute: false }, async (request, reply) => {
    events.signInFailed({ code: 'shared_redirect_uri' });
    return reply.code(400).send(signInFailedPage(views.context(request), {}));
  });

  app.get('/login/callback/:identityProvider', { exposeHeadRoute: false }, async (request, reply) => {
    if (isPrefetch(request)) throw new PageError('forbidden');
    const callbackUrl = new URL(request.url, deps.config.publicUrl);
    const signedIn = await signInFlow.finish(callbackUrl, browser.loginCookies(request));
    const context = views.context(request);
    switch (signedIn.result) {
      case 'unknown':
        events.signInFailed({ code: 'unknown_transaction' });
        return reply.code(400).send(signInFailedPage(context, {}));
      case 'refused':
        events.signInFailed({ code: signedIn.error.code });
        browser.clearLoginCookie(reply, signedIn.cookie);
        // A code that is worth nothing is the fault of whoever brought it.
        reply.code(signedIn.error.retryable && signedIn.error.providerError !== 'invalid_grant' ? 502 : 400);
        return reply.send(signInFailedPage(context, retryOf(signedIn.returnTo)));
      case 'signed_in': {
        browser.clearLoginCookie(reply, signedIn.cookie);
        await browser.startSession(request, reply, signedIn.browserSession);
        const { returnTo, browserSession: person, maxAge } = signedIn;
        const page = (await stepUpOf(returnTo, person, maxAge)) ?? pageOf(returnTo);
        return page === undefined ? reply.code(404).send(notFoundPage(context)) : reply.redirect(page, 303);
      }
    }
  });

  app.get('/login/continue', { exposeHeadRoute: false }, async (request, reply) => {
    if (isPrefetch(request)) throw new PageError('forbidden');
    const query = ticketQuerySchema.safeParse(request.query);
    const redeemed = query.success
      ? await externalVerification.redeemTicket(query.data.ticket, browser.bindingOf(request))
      : undefined;
    if (redeemed === undefined) {
      events.signInFailed({ code: 'ticket_refused' });
      return reply.code(400).send(signInFailedPage(views.context(request), {}));
    }
    await browser.startSession(request, reply, redeemed.browserSession);
    const { elicitationId, browserSession, maxAge } = redeemed;
    return reply.redirect((await stepUpOf(elicitationId, browserSession, maxAge)) ?? `/e/${elicitationId}`, 303);
  });

  // With `e`, the person wants to come back as somebody else.
  app.post('/logout', async (request, reply) => {
    assertSameOrigin(request, deps.config.publicUrl);
    const query = loginQuerySchema.safeParse(request.query);
    const form = logoutFormSchema.safeParse(await readFormBody(request, OWN_CONTROLS));
    if (!query.success || !form.success) throw new PageError('bad_request');
    const browserSession = await browser.readSession(request);
    if (browserSession !== undefined) {
      if (!browser.isCsrfToken(form.data.csrf_token, browserSession.id)) throw new PageError('forbidden');
      events.signedOut({ subject: browserSession.subject });
    }
    await browser.endSession(request, reply);
    const elicitationId = parseElicitationId(query.data.e ?? '');
    const page = elicitationId === undefined ? undefined : pageOf(elicitationId);
    return page === undefined
      ? reply.send(signedOutPage(views.context(request)))
      : reply.redirect(`${page}?switch=1`, 303);
  });
};

function pageOf(returnTo: ReturnTo | undefined): string | undefined {
  if (returnTo === undefined) return undefined;
  return returnTo === 'me' ? '/me' : `/e/${returnTo}`;
}
