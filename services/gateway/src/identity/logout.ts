import { createHmac, timingSafeEqual } from 'node:crypto';
import { AuthorizationError } from '@postern/authorization';
import {
  type BrowserSession,
  type Clock,
  digestOf,
  type Entropy,
  newOperationId,
  parseElicitationId,
  type Stores,
  type UsedKind,
} from '@postern/elicitation';
import { notFoundPage, signedOutPage } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Browser, LOGOUT_SECONDS } from '../pages/browser-cookies.ts';
import {
  assertNoPrefetch,
  assertSameOrigin,
  BASE_FORM_LIMITS,
  PageError,
  readFormBody,
} from '../pages/page-request.ts';
import type { PageKit } from '../pages/page-views.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { sharedKeyFor } from '../platform/config/vault-config.ts';
import { elicitationPath, postLogoutRedirectUriOf } from '../platform/http/public-urls.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import type { IdentityProvider } from './sign-in-flow.ts';

/** How long the page after a sign-out may wait for the metadata of the identity provider, in ms. */
const METADATA_MS = 2_000;
/** Of the random part of a `state`, which its authentication code follows. */
const RANDOM_LENGTH = 22;

export interface ProviderLogoutDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl' | 'vault'>;
  readonly identityProviders: readonly IdentityProvider[];
  readonly stores: { readonly oneTime: Pick<Stores['oneTime'], 'spend'> };
  readonly now: Clock;
  readonly entropy: Entropy;
}

/**
 * Sign-out at the identity provider (OpenID Connect RP-Initiated Logout 1.0), after the gateway has ended its own browser session. The
 * gateway offers it as a link: other applications may share the session there, and `form-action 'self'` would block a form post or its
 * redirect (security.md T25).
 */
export function createProviderLogout({
  deps,
  browser,
  kind = 'logout',
}: {
  readonly deps: ProviderLogoutDeps;
  readonly browser: Browser;
  /** What spending a `state` counts as. */
  readonly kind?: Extract<UsedKind, 'logout' | 'console-logout'>;
}) {
  const { publicUrl } = deps.config;
  const key = sharedKeyFor(deps.config, 'postern logout, 1');
  const stateOf = (random: string) => `${random}${createHmac('sha256', key).update(random).digest('base64url')}`;

  /** Otherwise strangers, who can send any cookie with the same `state`, could use up the places of used values. */
  function isOwn(state: string): boolean {
    const [given, own] = [Buffer.from(state), Buffer.from(stateOf(state.slice(0, RANDOM_LENGTH)))];
    return given.length === own.length && timingSafeEqual(given, own);
  }

  return {
    /**
     * Returns the URL at which the user of an ended session can sign out of the identity provider. Undefined if there is none, or if the
     * identity provider does not respond soon: the user is signed out here, whatever it does.
     */
    async offer(
      reply: FastifyReply,
      ended: Pick<BrowserSession, 'origin'> | undefined,
      locale?: string,
    ): Promise<string | undefined> {
      if (ended === undefined || !('identityProvider' in ended.origin)) return undefined;
      const { identityProvider: name } = ended.origin;
      const identityProvider = deps.identityProviders.find(({ config }) => config.name === name);
      if (identityProvider === undefined) return undefined;
      const state = stateOf(newOperationId(deps.entropy));
      const postLogoutRedirectUri = postLogoutRedirectUriOf(publicUrl, name);
      const asked = identityProvider.signIn
        .endSessionUrl({ postLogoutRedirectUri, state, locale })
        .catch((error: unknown) => {
          if (!(error instanceof AuthorizationError)) throw error;
          return undefined;
        });
      const url = await withTimeout(asked, METADATA_MS, undefined);
      if (url !== undefined) browser.setLogoutCookie(reply, state);
      return url?.href;
    },

    /**
     * Consumes the `state` of a sign-out when the browser returns. It does not prove that the user signed out: identity providers also
     * redirect users who chose to stay signed in.
     * @returns false if this browser has not begun this sign-out, or has returned from it before
     */
    async isReturn(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
      assertNoPrefetch(request);
      const begun = browser.takeLogoutCookie(request, reply);
      const given = new URL(request.url, publicUrl).searchParams.getAll('state');
      if (begun === undefined || given.length !== 1 || given[0] !== begun || !isOwn(begun)) return false;
      // A browser can replay the cookie, so spending the value makes it one-time.
      const expiresAt = deps.now() + LOGOUT_SECONDS * 1000;
      return await deps.stores.oneTime.spend({ kind, digest: digestOf(begun), expiresAt });
    },
  };
}

export type ProviderLogout = ReturnType<typeof createProviderLogout>;

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
