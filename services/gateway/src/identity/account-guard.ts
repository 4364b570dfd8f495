import { type BrowserSession, type Clock, NotFoundError } from '@postern/elicitation';
import { displayHost, signInPage } from '@postern/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { assertSameOrigin, BASE_FORM_LIMITS, PageError, readFormBody } from '../pages/page-request.ts';
import type { PageKit } from '../pages/page-views.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { AccountPage, IdentityProvider } from './sign-in-flow.ts';
import { FRESH_SECONDS, isFresh } from './sign-in-policy.ts';

/** A form without input fields. */
export const csrfFormSchema = z.strictObject({ csrf_token: z.string().max(128) });
/** The form of a passkey ceremony: the sealed ceremony of the page, and the authenticator's response. */
const ceremonyFormSchema = csrfFormSchema.extend({ ceremony: z.string().max(4096), response: z.string().max(16_384) });
type CeremonyFields = Omit<z.infer<typeof ceremonyFormSchema>, 'csrf_token'>;

export interface AccountGuardDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly identityProviders: readonly IdentityProvider[];
  readonly now: Clock;
}

/** Admits only a signed-in user. Every page below `/me` goes through this guard. */
export function createAccountGuard({ deps, browser, views }: PageKit<AccountGuardDeps>) {
  function sendSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const [first, ...others] = deps.identityProviders;
    // Without identity providers there is no sign-in for `/me`.
    if (first === undefined) throw new NotFoundError('connection');
    const choices = [first, ...others].map(({ config }) => ({
      name: config.displayName ?? displayHost(new URL(config.issuer)),
      href: `/login?${new URLSearchParams({ to: 'me', idp: config.name })}`,
    }));
    return reply.send(
      signInPage(views.context(request), {
        purpose: 'connections',
        ...(others.length === 0 ? { continueHref: '/login?to=me' } : { choices }),
      }),
    );
  }

  /** Reads a form post from our own page by the signed-in user. @throws PageError */
  async function readForm<Form extends { readonly csrf_token: string }>(
    request: FastifyRequest,
    schema: z.ZodType<Form>,
  ): Promise<{ browserSession: BrowserSession; form: Form } | undefined> {
    assertSameOrigin(request, deps.config.publicUrl);
    const browserSession = await browser.readSession(request);
    if (browserSession === undefined) return undefined;
    const form = schema.safeParse(await readFormBody(request, BASE_FORM_LIMITS));
    if (!form.success) throw new PageError('bad_request');
    if (!browser.isCsrfToken(form.data.csrf_token, browserSession.id)) throw new PageError('forbidden');
    await browser.keepAlive(request);
    return { browserSession, form: form.data };
  }

  return {
    /** Shows a page to the signed-in user. */
    async guardGet(
      request: FastifyRequest,
      reply: FastifyReply,
      show: (browserSession: BrowserSession) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const browserSession = await browser.readSession(request);
      return browserSession === undefined ? sendSignIn(request, reply) : show(browserSession);
    },

    /** Handles a form post from our own page by the signed-in user. @throws PageError */
    async guardPost(
      request: FastifyRequest,
      reply: FastifyReply,
      act: (browserSession: BrowserSession) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const read = await readForm(request, csrfFormSchema);
      return read === undefined ? sendSignIn(request, reply.code(401)) : act(read.browserSession);
    },

    /** Handles a form post with fields of its own. @throws PageError */
    async guardForm<Form extends { readonly csrf_token: string }>(
      request: FastifyRequest,
      reply: FastifyReply,
      schema: z.ZodType<Form>,
      act: (browserSession: BrowserSession, form: Form) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const read = await readForm(request, schema);
      return read === undefined ? sendSignIn(request, reply.code(401)) : act(read.browserSession, read.form);
    },

    /** Handles a form post with a passkey response, which the caller must verify. @throws PageError */
    async guardPasskeyPost(
      request: FastifyRequest,
      reply: FastifyReply,
      act: (browserSession: BrowserSession, fields: CeremonyFields) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const read = await readForm(request, ceremonyFormSchema);
      if (read === undefined) return sendSignIn(request, reply.code(401));
      const { ceremony, response } = read.form;
      return act(read.browserSession, { ceremony, response });
    },

    /** Whether the sign-in is recent enough to change passkeys, and for acts on all data of the user. */
    isFresh: ({ authTime }: BrowserSession): boolean => isFresh(authTime, FRESH_SECONDS * 1000, deps.now()),

    /** Starts a fresh sign-in at the same identity provider, and returns to a page of the account. */
    freshSignInHref({ origin }: BrowserSession, to: AccountPage = 'me'): string {
      const query = new URLSearchParams({ to, fresh: '1' });
      if ('identityProvider' in origin) query.set('idp', origin.identityProvider);
      return `/login?${query}`;
    },
  };
}

/** Ignores that the item is already deleted, by a double click or in another tab. */
export function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error;
}
