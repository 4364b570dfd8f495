import { AuthorizationError } from '@postern/authorization';
import type { BrowserSession } from '@postern/elicitation';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import { z } from 'zod';
import { browserName } from '../identity/browser-name.ts';
import type { ProviderLogout } from '../identity/logout.ts';
import type { createSignInFlow, IdentityProvider } from '../identity/sign-in-flow.ts';
import { FRESH_SECONDS } from '../identity/sign-in-policy.ts';
import type { Browser } from '../pages/browser-cookies.ts';
import { assertNoPrefetch, PageError } from '../pages/page-request.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { ConsoleConfig } from '../platform/config/console-config.ts';
import { type ConsoleGuard, csrfField, isConsolePath, isFromElsewhere } from './console-guard.ts';
import { signInHref } from './pages/layout.ts';
import { noRolePage, signedInPage, signedOutPage, signInFailedPage, signInPage } from './pages/sign-in-pages.ts';
import { roleOf } from './roles.ts';

const loginQuerySchema = z.object({ to: z.string().optional(), fresh: z.literal('1').optional() });
const logoutSchema = z.strictObject({ csrf_token: csrfField });

export interface ConsoleSignInDeps {
  readonly config: ConsoleConfig;
  readonly browser: Browser;
  readonly guard: ConsoleGuard;
  readonly auditLog: AuditLog;
  readonly identityProvider: IdentityProvider;
  readonly signInFlow: ReturnType<typeof createSignInFlow<string>>;
  readonly providerLogout: ProviderLogout;
  readonly endSession: (id: BrowserSession['id']) => Promise<void>;
  readonly stylesheetPath: string;
}

/** Sign-in and sign-out of operators. Only an operator with a role gets a browser session. */
export const consoleSignInRoutes: FastifyPluginAsync<ConsoleSignInDeps> = async (app, deps) => {
  const { config, browser, guard, auditLog, identityProvider, signInFlow, providerLogout, stylesheetPath } = deps;
  const page = { stylesheetPath };
  const anyone = { config: { consoleRole: 'anyone' as const } };

  function failed(reply: FastifyReply, status: number, code: string, to: string | undefined): FastifyReply {
    auditLog.record('console.sign_in_failed', { code });
    return reply.code(status).send(signInFailedPage(page, { href: signInHref(to ?? '/', false) }));
  }

  // Writes nothing to Redis: the transaction is kept in a sealed cookie.
  app.get('/login', anyone, async (request, reply) => {
    const query = loginQuerySchema.safeParse(request.query);
    if (!query.success) throw new PageError('bad_request');
    const { to = '/', fresh } = query.data;
    const returnTo = isConsolePath(to) ? to : '/';
    // Otherwise another site could lead an operator with a session at the identity provider through a sign-in to the record of a person.
    if (isFromElsewhere(request))
      return reply.send(signInPage(page, { href: signInHref(returnTo, fresh === '1'), linkedTo: returnTo }));
    try {
      const { authorizationUrl, cookie } = await signInFlow.start({
        identityProvider,
        returnTo,
        forceLogin: fresh === '1',
        ...(fresh === '1' ? { maxAge: FRESH_SECONDS } : {}),
      });
      browser.setLoginCookie(request, reply, cookie);
      return reply.redirect(authorizationUrl.href, 303);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      return failed(reply, 502, error.code, returnTo);
    }
  });

  app.get('/login/callback/console', { ...anyone, exposeHeadRoute: false }, async (request, reply) => {
    assertNoPrefetch(request);
    const callbackUrl = new URL(request.url, config.publicUrl);
    const signedIn = await signInFlow.finish(
      callbackUrl,
      browser.loginCookies(request),
      request,
      browserName(request.headers['user-agent']),
    );
    if (signedIn.result === 'unknown') return failed(reply, 400, 'unknown_transaction', undefined);
    browser.clearLoginCookie(reply, signedIn.cookie);
    const { returnTo = '/' } = signedIn;
    if (signedIn.result === 'refused') {
      const { code, retryable, providerError } = signedIn.error;
      return failed(reply, retryable && providerError !== 'invalid_grant' ? 502 : 400, code, returnTo);
    }
    const { browserSession } = signedIn;
    const role = roleOf(browserSession, config.roles);
    const operator = browserSession.subject.subject;
    if (role === undefined) {
      // The browser never learns the id of this session.
      await deps.endSession(browserSession.id);
      auditLog.record('console.refused', { operator });
      return reply.code(403).send(
        noRolePage(page, {
          name: browserSession.displayName,
          needed: 'viewer' as const,
          otherAccount: signInHref('/', true),
        }),
      );
    }
    await browser.startSession(request, reply, browserSession);
    auditLog.record('console.signed_in', { operator, role });
    // A redirect would arrive as a link from the identity provider.
    return isFromElsewhere(request)
      ? reply.send(signedInPage(page, { href: returnTo }))
      : reply.redirect(returnTo, 303);
  });

  app.post('/logout', { config: { consoleRole: 'signed_in' } }, async (request, reply) => {
    const { browserSession } = guard.visitOf(request);
    await guard.readForm(request, logoutSchema);
    await browser.endSession(request, reply);
    auditLog.record('console.signed_out', { operator: browserSession.subject.subject });
    const endSessionHref = await providerLogout.offer(reply, browserSession);
    return reply.send(signedOutPage(page, { href: signInHref('/', false), endSessionHref }));
  });

  app.get('/logout/callback/console', { ...anyone, exposeHeadRoute: false }, async (request, reply) => {
    if (!(await providerLogout.isReturn(request, reply)))
      auditLog.record('console.logout_refused', { code: 'unknown_transaction' });
    return reply.redirect('/signed-out', 303);
  });

  // Another site can lead a browser here, so the route checks that the browser has no session.
  app.get('/signed-out', anyone, async (request, reply) =>
    (await browser.readSession(request)) === undefined
      ? reply.send(signedOutPage(page, { href: signInHref('/', false) }))
      : reply.redirect('/', 303),
  );
};
