import { type BrowserSession, NotFoundError } from '@postern/elicitation';
import { displayHost, signInPage } from '@postern/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { FRESH_SECONDS, isFresh } from '../../flows/freshness.ts';
import { readFormBody } from './form-body.ts';
import { OWN_CONTROLS } from './form-limits.ts';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { assertSameOrigin } from './same-origin.ts';

const formSchema = z.strictObject({ csrf_token: z.string().max(128) });
/** Of a page that asks for a passkey: what the page was given, and what the authenticator answered. */
const ceremonyFormSchema = formSchema.extend({ ceremony: z.string().max(4096), response: z.string().max(16_384) });
type CeremonyFields = Omit<z.infer<typeof ceremonyFormSchema>, 'csrf_token'>;

/** What every page below `/me` does first: find out whose it is. */
export function createMePresence({ deps, browser, views }: PageDeps) {
  function sendSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const [first, ...others] = deps.identityProviders;
    // Without identity providers nobody can show here who they are.
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

  /** A form of ours, from our own page, by the signed-in person. @throws PageError */
  async function readForm<Form extends { readonly csrf_token: string }>(
    request: FastifyRequest,
    schema: z.ZodType<Form>,
  ): Promise<{ browserSession: BrowserSession; form: Form } | undefined> {
    assertSameOrigin(request, deps.config.publicUrl);
    const browserSession = await browser.readSession(request);
    if (browserSession === undefined) return undefined;
    const form = schema.safeParse(await readFormBody(request, OWN_CONTROLS));
    if (!form.success) throw new PageError('bad_request');
    if (!browser.isCsrfToken(form.data.csrf_token, browserSession.id)) throw new PageError('forbidden');
    await browser.keepAlive(request);
    return { browserSession, form: form.data };
  }

  return {
    /** A page for the person who is signed in. */
    async look(
      request: FastifyRequest,
      reply: FastifyReply,
      show: (browserSession: BrowserSession) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const browserSession = await browser.readSession(request);
      return browserSession === undefined ? sendSignIn(request, reply) : show(browserSession);
    },

    /** A decision by form: from our own page, by the signed-in person. @throws PageError */
    async decide(
      request: FastifyRequest,
      reply: FastifyReply,
      act: (browserSession: BrowserSession) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const read = await readForm(request, formSchema);
      return read === undefined ? sendSignIn(request, reply.code(401)) : act(read.browserSession);
    },

    /** Likewise with a passkey, whose answer is still to be verified. @throws PageError */
    async decideWithPasskey(
      request: FastifyRequest,
      reply: FastifyReply,
      act: (browserSession: BrowserSession, answer: CeremonyFields) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const read = await readForm(request, ceremonyFormSchema);
      if (read === undefined) return sendSignIn(request, reply.code(401));
      const { ceremony, response } = read.form;
      return act(read.browserSession, { ceremony, response });
    },

    /** Whether the sign-in is recent enough to change what proves a person to us. */
    isFresh: ({ authTime }: BrowserSession): boolean => isFresh(authTime, FRESH_SECONDS * 1000, deps.now()),

    /** Where the same person signs in anew. */
    freshSignInHref({ origin }: BrowserSession): string {
      const idp = 'identityProvider' in origin ? { idp: origin.identityProvider } : {};
      return `/login?${new URLSearchParams({ to: 'me', fresh: '1', ...idp })}`;
    },
  };
}

/** Gone already, in another tab or by another press: that is what its person wants to see. */
export function unlessGone(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error;
}
