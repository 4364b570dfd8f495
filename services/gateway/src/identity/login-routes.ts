import { AuthorizationError } from '@postern/authorization';
import {
  type BrowserSession,
  type Elicitation,
  type ElicitationId,
  type ElicitationService,
  isSamePerson,
  isTerminal,
  parseElicitationId,
  type Subject,
} from '@postern/elicitation';
import { notFoundPage, signInAgainPage, signInFailedPage } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { visitorOf } from '../pages/browser-cookies.ts';
import { assertNoPrefetch, PageError } from '../pages/page-request.ts';
import type { PageKit } from '../pages/page-views.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import { browserName } from './browser-name.ts';
import type { ExternalVerification } from './external-verification.ts';
import {
  type AccountPage,
  accountPageSchema,
  accountPages,
  type IdentityProvider,
  isAccountPage,
  type ReturnTo,
  type SignInFlow,
} from './sign-in-flow.ts';
import type { SignInMethods } from './sign-in-methods.ts';
import { FRESH_SECONDS, type SignInPolicy } from './sign-in-policy.ts';

const loginQuerySchema = z.object({
  e: z.string().max(128).optional(),
  to: accountPageSchema.optional(),
  idp: z.string().max(40).optional(),
  switch: z.literal('1').optional(),
  fresh: z.literal('1').optional(),
});
const ticketQuerySchema = z.object({ ticket: z.string().min(1).max(4096) });

export interface LoginRoutesDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly identityProviders: readonly IdentityProvider[];
  readonly service: Pick<ElicitationService, 'find' | 'listOpen' | 'listEnded'>;
  readonly auditLog: AuditLog;
  readonly signInFlow: SignInFlow;
  readonly signInMethods: SignInMethods;
  readonly signInPolicy: SignInPolicy;
  readonly externalVerification: Pick<ExternalVerification, 'opening' | 'redeemTicket'>;
}

/** Sign-in of a browser. */
export const loginRoutes: FastifyPluginAsync<PageKit<LoginRoutesDeps>> = async (app, { deps, browser, views }) => {
  const { signInFlow, signInMethods, signInPolicy, externalVerification, auditLog } = deps;

  /** Maximum age of a sign-in that may approve this elicitation, in seconds. */
  function freshSecondsFor(elicitation: Elicitation): number | undefined {
    if (isTerminal(elicitation)) return undefined;
    const maxAgeMs = signInPolicy.maxAgeMs(elicitation);
    return maxAgeMs === undefined ? undefined : maxAgeMs / 1000;
  }

  /** Finds an elicitation as its page does: undefined once the operator has withdrawn the permission. */
  async function findAllowed(elicitationId: ElicitationId | undefined): Promise<Elicitation | undefined> {
    const found = elicitationId === undefined ? undefined : await deps.service.find(elicitationId);
    return found !== undefined && views.isStillAllowed(found) ? found : undefined;
  }

  /** Same-person check 1: whether the elicitation was issued for the signed-in user. */
  function isForVisitor(elicitation: Elicitation, browserSession: BrowserSession | undefined): boolean {
    const visitor = visitorOf(elicitation, browserSession);
    return visitor !== undefined && isSamePerson(elicitation, visitor);
  }

  /** Returns the URL of a second sign-in, if this one does not prove the age that the elicitation requires. */
  async function stepUpHref(
    returnTo: ReturnTo | undefined,
    browserSession: BrowserSession,
    maxAge: number | undefined,
  ): Promise<string | undefined> {
    const elicitation = isAccountPage(returnTo) ? undefined : await findAllowed(returnTo);
    if (elicitation === undefined || !isForVisitor(elicitation, browserSession)) return undefined;
    const needed = freshSecondsFor(elicitation);
    // The request already had this `max_age`, so repeating it would not help.
    if (needed === undefined || (maxAge !== undefined && maxAge <= needed)) return undefined;
    return signInPolicy.mustSignInAgain(elicitation, browserSession) ? views.signInHref(elicitation) : undefined;
  }

  /**
   * Sends a person whom an application vouched for to that application, for a page of the account. An elicitation, open or ended, tells the
   * application whose account it is.
   */
  async function signInAtApplication(
    request: FastifyRequest,
    reply: FastifyReply,
    { subject, mcpServerId, to }: { readonly subject: Subject; readonly mcpServerId: string; readonly to: AccountPage },
  ): Promise<FastifyReply> {
    const visitor = { kind: 'signed_in', subject, vouchedBy: mcpServerId } as const;
    const [open, ended] = await Promise.all([
      deps.service.listOpen(visitor, [mcpServerId]),
      deps.service.listEnded(visitor),
    ]);
    const known = [...open, ...ended].find(
      elicitation => elicitation.mcpServerId === mcpServerId && views.isStillAllowed(elicitation),
    );
    const method = known && signInMethods.of(known.elicitationId, known);
    if (known === undefined || method?.mode !== 'external')
      return reply.send(signInAgainPage(views.context(request), { appName: views.mcpServerName(mcpServerId) }));
    const binding = browser.digest(browser.ensureId(request, reply));
    const url = await externalVerification.opening(method, known.elicitationId, binding, FRESH_SECONDS, to);
    return reply.redirect(url.href, 303);
  }

  // With several identity providers, `/me` lets the user choose. An elicitation determines its own.
  const retryOf = (returnTo: ReturnTo | undefined) =>
    returnTo === undefined
      ? {}
      : { retryHref: isAccountPage(returnTo) ? '/me' : `/login?${new URLSearchParams({ e: returnTo })}` };

  // Writes nothing to Redis: the transaction is kept in a sealed cookie.
  app.get('/login', async (request, reply) => {
    const query = loginQuerySchema.safeParse(request.query);
    if (!query.success) throw new PageError('bad_request');
    const elicitationId = query.data.to === undefined ? parseElicitationId(query.data.e ?? '') : undefined;
    const returnTo = query.data.to ?? elicitationId;
    const [elicitation, browserSession] = await Promise.all([findAllowed(elicitationId), browser.readSession(request)]);
    const vouchedBy =
      browserSession && 'vouchedBy' in browserSession.origin ? browserSession.origin.vouchedBy : undefined;
    if (browserSession && vouchedBy !== undefined && query.data.fresh === '1' && query.data.to !== undefined) {
      const { subject } = browserSession;
      return signInAtApplication(request, reply, { subject, mcpServerId: vouchedBy, to: query.data.to });
    }
    // With several identity providers, the user must choose one at `/me`.
    if (query.data.to !== undefined && query.data.idp === undefined && deps.identityProviders.length > 1)
      return reply.redirect('/me', 303);
    if (elicitation?.identityMode === 'loopback')
      return reply.redirect(elicitationPath(elicitation.elicitationId), 303);

    // Before same-person check 1, the response must be the same for every id. Only its own user learns what an elicitation requires.
    const isKnown =
      elicitation !== undefined && query.data.switch === undefined && isForVisitor(elicitation, browserSession);
    const isFresh = query.data.fresh === '1';
    if (isKnown) await views.speakTo(request, elicitation);
    // A first passkey requires a sign-in after this request, because the session cookie may be stolen. Of a person who is not known yet,
    // only the ID token can say so; a known one must sign in again.
    const provesFor = !isKnown || isFresh ? elicitationId : undefined;
    const ofMe = isFresh && isAccountPage(returnTo) ? FRESH_SECONDS : undefined;
    const maxAge = isKnown && isFresh ? 0 : isKnown ? freshSecondsFor(elicitation) : ofMe;
    let identityProvider: IdentityProvider | undefined;
    if (elicitationId === undefined) {
      identityProvider = signInFlow.identityProviderNamed(query.data.to === undefined ? undefined : query.data.idp);
    } else {
      const method = signInMethods.of(elicitationId, elicitation);
      if (method?.mode === 'external') {
        const binding = browser.digest(browser.ensureId(request, reply));
        return reply.redirect((await externalVerification.opening(method, elicitationId, binding, maxAge)).href, 303);
      }
      identityProvider = method?.identityProvider;
    }
    if (identityProvider === undefined) return reply.code(404).send(notFoundPage(views.context(request)));
    try {
      const { authorizationUrl, cookie } = await signInFlow.start({
        identityProvider,
        returnTo,
        forceLogin: query.data.switch === '1',
        locale: views.context(request).locale,
        maxAge,
        provesFor,
      });
      browser.setLoginCookie(request, reply, cookie);
      return reply.redirect(authorizationUrl.href, 303);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      auditLog.record('browser.sign_in_failed', { code: error.code });
      return reply.code(502).send(signInFailedPage(views.context(request), retryOf(returnTo)));
    }
  });

  app.get('/login/callback/:identityProvider', { exposeHeadRoute: false }, async (request, reply) => {
    assertNoPrefetch(request);
    const callbackUrl = new URL(request.url, deps.config.publicUrl);
    const signedIn = await signInFlow.finish(
      callbackUrl,
      browser.loginCookies(request),
      request,
      browserName(request.headers['user-agent']),
    );
    const context = views.context(request);
    switch (signedIn.result) {
      case 'unknown':
        auditLog.record('browser.sign_in_failed', { code: 'unknown_transaction' });
        return reply.code(400).send(signInFailedPage(context, {}));
      case 'refused':
        auditLog.record('browser.sign_in_failed', { code: signedIn.error.code });
        browser.clearLoginCookie(reply, signedIn.cookie);
        // An invalid code is the client's error, not an outage of the identity provider.
        reply.code(signedIn.error.retryable && signedIn.error.providerError !== 'invalid_grant' ? 502 : 400);
        return reply.send(signInFailedPage(context, retryOf(signedIn.returnTo)));
      case 'signed_in': {
        browser.clearLoginCookie(reply, signedIn.cookie);
        await browser.startSession(request, reply, signedIn.browserSession);
        const { returnTo, browserSession, maxAge } = signedIn;
        const page = (await stepUpHref(returnTo, browserSession, maxAge)) ?? pageOf(returnTo);
        return page === undefined ? reply.code(404).send(notFoundPage(context)) : reply.redirect(page, 303);
      }
    }
  });

  app.get('/login/continue', { exposeHeadRoute: false }, async (request, reply) => {
    assertNoPrefetch(request);
    const query = ticketQuerySchema.safeParse(request.query);
    const redeemed = query.success
      ? await externalVerification.redeemTicket(
          query.data.ticket,
          browser.bindingOf(request),
          browserName(request.headers['user-agent']),
        )
      : ({ result: 'refused', code: 'ticket_refused' } as const);
    if (redeemed.result === 'refused') {
      auditLog.record('browser.sign_in_failed', { code: redeemed.code });
      return reply.code(400).send(signInFailedPage(views.context(request), retryOf(redeemed.returnTo)));
    }
    await browser.startSession(request, reply, redeemed.browserSession);
    const { returnTo, browserSession, maxAge } = redeemed;
    return reply.redirect((await stepUpHref(returnTo, browserSession, maxAge)) ?? pageOf(returnTo), 303);
  });
};

function pageOf(returnTo: ReturnTo): string;
function pageOf(returnTo: ReturnTo | undefined): string | undefined;
function pageOf(returnTo: ReturnTo | undefined): string | undefined {
  if (returnTo === undefined) return undefined;
  return isAccountPage(returnTo) ? accountPages[returnTo] : elicitationPath(returnTo);
}
