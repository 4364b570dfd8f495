import { digestOf, type Stores } from '@postern/elicitation';
import { browsersPage, signedOutEverywherePage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { type AccountGuardDeps, createAccountGuard } from '../identity/account-guard.ts';
import { longestSessionMs } from '../identity/create-browser-session.ts';
import { createProviderLogout, type ProviderLogoutDeps } from '../identity/logout.ts';
import type { PageKit } from '../pages/page-views.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { mePaths } from '../platform/http/public-urls.ts';

const END_ALL_PATH = `${mePaths.browsers}/end`;

export interface MeBrowserRoutesDeps extends AccountGuardDeps, ProviderLogoutDeps {
  readonly config: ProviderLogoutDeps['config'] & Pick<GatewayConfig, 'browserSession'>;
  readonly stores: Pick<Stores, 'browserSessions' | 'oneTime'>;
  readonly auditLog: AuditLog;
}

/** The browsers in which the user is signed in; signing out of all of them. */
export const meBrowserRoutes: FastifyPluginAsync<PageKit<MeBrowserRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { browserSessions } = deps.stores;
  const { guardGet, guardPost } = createAccountGuard(pages);
  const providerLogout = createProviderLogout(pages);

  app.get(mePaths.browsers, (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const own = digestOf(browserSession.id);
      const listed = await browserSessions.list(browserSession);
      return reply.send(
        browsersPage(views.context(request), {
          browsers: listed.map(({ name, origin, browser: product, createdAt }) => ({
            signedInAt: new Date(createdAt),
            isThis: name === own,
            name: product,
            throughName: 'vouchedBy' in origin ? views.mcpServerName(origin.vouchedBy) : undefined,
          })),
          endAllAction: END_ALL_PATH,
          csrfToken: browser.csrfToken(browserSession.id),
          backHref: '/me',
        }),
      );
    }),
  );

  // Needs no fresh sign-in: a person who suspects a stolen session must be able to end it at once.
  app.post(END_ALL_PATH, (request, reply) =>
    guardPost(request, reply, async browserSession => {
      await browserSessions.endAll(browserSession, longestSessionMs(deps.config));
      deps.auditLog.record('browser.signed_out_everywhere', { subject: browserSession.subject });
      await browser.endSession(request, reply);
      const context = views.context(request);
      const endSessionHref = await providerLogout.offer(reply, browserSession, context.locale);
      return reply.send(signedOutEverywherePage(context, { endSessionHref }));
    }),
  );
};
