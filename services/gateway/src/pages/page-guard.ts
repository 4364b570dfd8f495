import {
  type BrowserSession,
  type CompletedElicitation,
  DomainError,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  isCharging,
  isSamePerson,
  isSuperseded,
  type Kind,
  matchCodeOf,
  NotFoundError,
  parseElicitationId,
  type Visitor,
} from '@postern/elicitation';
import { type DecisionView, signInPage, type WatchView, wrongPersonPage } from '@postern/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import { requestContext } from '../platform/http/request-context.ts';
import { visitorOf } from './browser-cookies.ts';
import { assertSameOrigin, formLimitsOf, PageError, readFormBody } from './page-request.ts';
import type { PageKit } from './page-views.ts';

export interface ById {
  Params: { elicitationId: string };
  Querystring: { switch?: string };
}

/** A request for a page of an elicitation, with the proven identity and the secret that its forms are bound to. */
export interface PageVisit {
  readonly elicitation: Elicitation;
  readonly visitor: Visitor;
  readonly browserSession: BrowserSession | undefined;
  /** Shared by this browser and the gateway only; the CSRF token is derived from it. */
  readonly secret: string;
}

const ownFieldsSchema = z.strictObject({
  csrf_token: z.string().max(128),
  /** Digest of the request that the page showed. */
  shown: z.string().max(64).optional(),
  /** Passkey ceremony: the sealed options of the page, and the authenticator's response. */
  ceremony: z.string().max(4096).optional(),
  response: z.string().max(16_384).optional(),
});

/** A submitted form without its CSRF token. */
export interface DecisionForm extends Omit<z.infer<typeof ownFieldsSchema>, 'csrf_token'> {
  /** The user's input by field name. */
  readonly typed: ReadonlyMap<string, string | readonly string[]>;
}

/** Prefix of the inputs that the MCP server named, so that they cannot collide with ours. */
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

const switchAccountAction = (elicitationId: string): string => `/logout?e=${encodeURIComponent(elicitationId)}`;

export interface PageGuardDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly service: Pick<ElicitationService, 'find' | 'checkSamePerson'>;
  readonly signInMethods: { readonly available: boolean };
}

/** Admits only the person that the elicitation was issued for. Every page of an elicitation goes through this guard. */
export function createPageGuard({ deps, browser, views }: PageKit<PageGuardDeps>) {
  const { service } = deps;

  /** Undefined without a signed-in user: the response is then the same whether the id exists or not. @throws NotFoundError */
  async function findVisit(request: FastifyRequest<ById>, reply: FastifyReply): Promise<PageVisit | undefined> {
    const elicitationId = parseElicitationId(request.params.elicitationId);
    const [elicitation, browserSession] = await Promise.all([
      elicitationId === undefined ? undefined : service.find(elicitationId),
      browser.readSession(request),
    ]);
    const visitor = elicitation === undefined ? undefined : visitorOf(elicitation, browserSession);
    if (elicitation === undefined || !views.isStillAllowed(elicitation)) {
      if (browserSession === undefined && deps.signInMethods.available) return undefined;
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
        switchAccountAction: switchAccountAction(request.params.elicitationId),
        csrfToken: browser.csrfToken(browserSession.id),
      }),
    );
  }

  return {
    /** Returns undefined for everyone but the person that the elicitation was issued for, whether it exists or not. */
    async findOwn(request: FastifyRequest<ById>, reply: FastifyReply): Promise<PageVisit | undefined> {
      try {
        const visit = await findVisit(request, reply);
        return visit !== undefined && service.checkSamePerson(visit.elicitation, visit.visitor) ? visit : undefined;
      } catch (error) {
        if (error instanceof NotFoundError) return undefined;
        throw error;
      }
    },

    /** Shows a page to the person it is for. Others get the sign-in page or the wrong-person page. */
    async guardGet(
      request: FastifyRequest<ById>,
      reply: FastifyReply,
      show: (visit: PageVisit) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const visit = await findVisit(request, reply);
      if (visit === undefined) return sendSignIn(request, reply);
      if (!service.checkSamePerson(visit.elicitation, visit.visitor))
        return sendWrongPerson(request, reply, visit.browserSession);
      views.showAs(request, visit.elicitation);
      await views.speakTo(request, visit.elicitation);
      return show(visit);
    },

    /**
     * Handles a form post from our own page by the person it is for. The body is read only after the browser has been identified.
     * @throws PageError, ProblemError `payload_too_large`
     */
    async guardPost(
      request: FastifyRequest<ById>,
      reply: FastifyReply,
      act: (visit: PageVisit, form: DecisionForm) => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      assertSameOrigin(request, deps.config.publicUrl);
      const visit = await findVisit(request, reply);
      if (visit === undefined) return sendSignIn(request, reply.code(401));
      const form = readForm(await readFormBody(request, formLimitsOf(visit.elicitation)));
      if (form === undefined) throw new PageError('bad_request');
      if (!browser.isCsrfToken(form.csrf_token, visit.secret)) throw new PageError('forbidden');
      if (isSamePerson(visit.elicitation, visit.visitor)) await views.speakTo(request, visit.elicitation);
      const current = requestContext();
      if (current !== undefined) current.language = views.context(request).locale;
      try {
        // Both in one turn, so that their first commands leave for Redis together.
        const settled = await Promise.allSettled([act(visit, form), browser.keepAlive(request)]);
        for (const result of settled) if (result.status === 'rejected') throw result.reason;
        return reply;
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        if (error.code === 'wrong_person') return sendWrongPerson(request, reply, visit.browserSession);
        // Another tab or the expiry was faster: the page shows the current status.
        if (isSuperseded(error)) return reply.redirect(elicitationPath(visit.elicitation.elicitationId), 303);
        throw error;
      }
    },
  };
}

export type VisitOf<K extends Kind> = PageVisit & { readonly elicitation: ElicitationOf<K> };
export type CompletedVisitOf<K extends Kind> = PageVisit & {
  readonly elicitation: CompletedElicitation & ElicitationOf<K>;
};
export type PageRequest = FastifyRequest<ById>;

/** The pages that differ between kinds. The caller has passed the page guard. */
export interface KindPages<K extends Kind> {
  /** While the elicitation is open: the page that asks for a decision, or the one that continues after it. */
  showOpen(request: PageRequest, reply: FastifyReply, visit: VisitOf<K>): Promise<FastifyReply>;
  /** After completion. */
  showCompleted(request: PageRequest, reply: FastifyReply, visit: CompletedVisitOf<K>): Promise<FastifyReply>;
  /** Handles the accept button. */
  accept(request: PageRequest, reply: FastifyReply, visit: VisitOf<K>, form: DecisionForm): Promise<FastifyReply>;
}

/** The part of a decision page that all kinds share. */
export function decisionView(
  { browser, views }: Pick<PageKit<unknown>, 'browser' | 'views'>,
  { elicitation, browserSession, secret }: PageVisit,
  shown: string,
): DecisionView & { readonly shown: string } {
  const { elicitationId } = elicitation;
  const path = elicitationPath(elicitationId);
  return {
    mcpServer: views.mcpServer(elicitation),
    ...views.manageHref(elicitation),
    person: browserSession && views.person(browserSession),
    switchAccountAction: browserSession && switchAccountAction(elicitationId),
    message: elicitation.message,
    requestedBy: elicitation.requestedBy,
    matchCode: matchCodeOf(elicitationId),
    expiresAt: new Date(elicitation.expiresAt),
    now: new Date(views.now()),
    acceptAction: `${path}/accept`,
    declineAction: `${path}/decline`,
    csrfToken: browser.csrfToken(secret),
    watch: watchOf(elicitation, views.now()),
    shown,
  };
}

/** Returns what the page of an elicitation is about. When this changes, a page in a browser is out of date. */
export function pagePhase(elicitation: Elicitation, now: number): string {
  const { status, expiresAt } = elicitation;
  if (status !== 'pending' && status !== 'active') return status;
  if (isCharging(elicitation)) return 'charge';
  return expiresAt <= now ? 'expired' : 'decision';
}

/** Lets the page of an elicitation find out that it is out of date. */
export function watchOf(elicitation: Elicitation, now: number): WatchView {
  const pageHref = elicitationPath(elicitation.elicitationId);
  return { pageHref, statusHref: `${pageHref}/status`, phase: pagePhase(elicitation, now) };
}
