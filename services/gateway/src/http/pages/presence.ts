import {
  type BrowserSession,
  DomainError,
  type Elicitation,
  NotFoundError,
  parseElicitationId,
  type Visitor,
} from '@postern/elicitation';
import { signInPage, wrongPersonPage } from '@postern/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isOvertaken } from '../../flows/unless-overtaken.ts';
import { readFormBody } from './form-body.ts';
import { formLimitsOf } from './form-limits.ts';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { assertSameOrigin } from './same-origin.ts';
import { visitorOf } from './visitor-of.ts';

export interface ById {
  Params: { elicitationId: string };
  Querystring: { switch?: string };
}

/** Who is there and what the forms of the page are bound to. */
export interface Present {
  readonly elicitation: Elicitation;
  readonly visitor: Visitor;
  readonly browserSession: BrowserSession | undefined;
  /** Known to this browser and to us only; the CSRF token is derived from it. */
  readonly secret: string;
}

const ownFieldsSchema = z.strictObject({
  csrf_token: z.string().max(128),
  /** Digest of what the page has shown. */
  shown: z.string().max(64).optional(),
  /** A passkey ceremony: what the page was given, and what the authenticator answered. */
  ceremony: z.string().max(4096).optional(),
  response: z.string().max(16_384).optional(),
});

/** What a form of ours brings, the token apart. */
export interface DecisionForm extends Omit<z.infer<typeof ownFieldsSchema>, 'csrf_token'> {
  /** What the person typed, by the name of its field. */
  readonly typed: ReadonlyMap<string, string | readonly string[]>;
}

/** Inputs of a kind carry this before their name, so that none can pass for one of ours. */
const TYPED = 'field.';
const typedSchema = z.union([z.string(), z.array(z.string()).max(500)]);

function readForm(body: unknown): (DecisionForm & { readonly csrf_token: string }) | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const entries = Object.entries(body);
  const own = ownFieldsSchema.safeParse(Object.fromEntries(entries.filter(([name]) => !name.startsWith(TYPED))));
  if (!own.success) return undefined;
  const typed = new Map<string, string | readonly string[]>();
  for (const [name, value] of entries.filter(([name]) => name.startsWith(TYPED))) {
    const parsed = typedSchema.safeParse(value);
    if (!parsed.success) return undefined;
    typed.set(name.slice(TYPED.length), parsed.data);
  }
  return { ...own.data, typed };
}

export const switchAction = (elicitationId: string): string => `/logout?e=${encodeURIComponent(elicitationId)}`;

/** What every page of an elicitation does first: find out who is there, and turn away everybody it is not for. */
export function createPresence({ deps, browser, views }: PageDeps) {
  const { service } = deps;

  /** Undefined when nobody is there: the answer is then the same whether the id exists or not. @throws NotFoundError */
  async function presentAt(request: FastifyRequest<ById>, reply: FastifyReply): Promise<Present | undefined> {
    const elicitationId = parseElicitationId(request.params.elicitationId);
    const [elicitation, browserSession] = await Promise.all([
      elicitationId === undefined ? undefined : service.find(elicitationId),
      browser.readSession(request),
    ]);
    const visitor = elicitation === undefined ? undefined : visitorOf(elicitation, browserSession);
    if (elicitation === undefined || !views.isRegistered(elicitation)) {
      if (browserSession === undefined && deps.signInWays.exist) return undefined;
      throw new NotFoundError();
    }
    if (visitor === undefined) return undefined;
    return { elicitation, visitor, browserSession, secret: browserSession?.id ?? browser.ensureId(request, reply) };
  }

  function sendSignIn(request: FastifyRequest<ById>, reply: FastifyReply): FastifyReply {
    const query = new URLSearchParams({ e: request.params.elicitationId });
    if (request.query.switch !== undefined) query.set('switch', '1');
    return reply.send(signInPage(views.context(request), { continueHref: `/login?${query}` }));
  }

  function sendWrongPerson(
    request: FastifyRequest<ById>,
    reply: FastifyReply,
    browserSession: BrowserSession | undefined,
  ): FastifyReply {
    if (browserSession === undefined) throw new NotFoundError();
    return reply.code(403).send(
      wrongPersonPage(views.context(request), {
        person: views.person(browserSession),
        switchAccountAction: switchAction(request.params.elicitationId),
        csrfToken: browser.csrfToken(browserSession.id),
      }),
    );
  }

  return {
    /** A page for the person it is for. */
    async look(
      request: FastifyRequest<ById>,
      reply: FastifyReply,
      show: (present: Present) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const present = await presentAt(request, reply);
      if (present === undefined) return sendSignIn(request, reply);
      if (!service.checkSamePerson(present.elicitation, present.visitor))
        return sendWrongPerson(request, reply, present.browserSession);
      return show(present);
    },

    /**
     * A decision by form: from our own page, by the signed-in person. Nothing of the form is read before it is known who is there.
     * @throws PageError, ProblemError `payload_too_large`
     */
    async decide(
      request: FastifyRequest<ById>,
      reply: FastifyReply,
      act: (present: Present, form: DecisionForm) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      assertSameOrigin(request, deps.config.publicUrl);
      const present = await presentAt(request, reply);
      if (present === undefined) return sendSignIn(request, reply.code(401));
      const form = readForm(await readFormBody(request, formLimitsOf(present.elicitation)));
      if (form === undefined) throw new PageError('bad_request');
      if (!browser.isCsrfToken(form.csrf_token, present.secret)) throw new PageError('forbidden');
      await browser.keepAlive(request);
      try {
        return await act(present, form);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        if (error.code === 'wrong_person') return sendWrongPerson(request, reply, present.browserSession);
        // Decided before, in another tab or by time: the page tells how it stands.
        if (isOvertaken(error)) return reply.redirect(`/e/${present.elicitation.elicitationId}`, 303);
        throw error;
      }
    },
  };
}

export type Presence = ReturnType<typeof createPresence>;
