import { parseElicitationId } from '@postern/elicitation';
import { notFoundPage, signedOutPage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import { BASE_FORM_LIMITS, readFormBody } from '../pages/form-body.ts';
import { assertSameOrigin, PageError } from '../pages/page-request.ts';
import type { PageKit } from '../pages/page-views.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import { createProviderLogout, type ProviderLogoutDeps } from './provider-logout.ts';

const querySchema = z.object({ e: z.string().max(128).optional() });
const formSchema = z.strictObject({ csrf_token: z.string().max(128) });

interface ByIdentityProvider {
  Params: { identityProvider: string };
}

export interface LogoutRoutesDeps extends ProviderLogoutDeps {
  readonly auditLog: AuditLog;
}

/** Sign-out of a browser, here and at the identity provider. */
export const logoutRoutes: FastifyPluginAsync<PageKit<LogoutRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const providerLogout = createProviderLogout(pages);

  // With `e`, the user wants to switch accounts and return to the elicitation. Their session at the identity provider stays.
  app.post('/logout', async (request, reply) => {
    assertSameOrigin(request, deps.config.publicUrl);
    const query = querySchema.safeParse(request.query);
    const form = formSchema.safeParse(await readFormBody(request, BASE_FORM_LIMITS));
    if (!query.success || !form.success) throw new PageError('bad_request');
    const browserSession = await browser.readSession(request);
    if (browserSession !== undefined && !browser.isCsrfToken(form.data.csrf_token, browserSession.id))
      throw new PageError('forbidden');
    await browser.endSession(request, reply);
    if (browserSession !== undefined) deps.auditLog.record('browser.signed_out', { subject: browserSession.subject });
    const elicitationId = parseElicitationId(query.data.e ?? '');
    if (elicitationId !== undefined) return reply.redirect(`${elicitationPath(elicitationId)}?switch=1`, 303);
    const context = views.context(request);
    const endSessionHref = await providerLogout.offer(reply, browserSession, context.locale);
    return reply.send(signedOutPage(context, { endSessionHref }));
  });

  app.get<ByIdentityProvider>(
    '/logout/callback/:identityProvider',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { identityProvider: name } = request.params;
      if (!deps.identityProviders.some(({ config }) => config.name === name))
        return reply.code(404).send(notFoundPage(views.context(request)));
      if (!(await providerLogout.isReturn(request, reply)))
        deps.auditLog.record('browser.logout_refused', { identityProvider: name, code: 'unknown_transaction' });
      return reply.redirect('/signed-out', 303);
    },
  );

  // Another site can lead a browser here, so the route checks that the browser has no session.
  app.get('/signed-out', async (request, reply) =>
    (await browser.readSession(request)) === undefined
      ? reply.send(signedOutPage(views.context(request), {}))
      : reply.redirect('/me', 303),
  );
};
