import type { BrowserSession, Clock } from '@postern/elicitation';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Actor } from '../admin/admin-audit.ts';
import { createOperatorTurns } from '../admin/operator-turns.ts';
import { FRESH_SECONDS, isFresh } from '../identity/sign-in-policy.ts';
import type { Browser } from '../pages/browser-cookies.ts';
import { assertNoPrefetch, assertSameOrigin, PageError, readFormBody } from '../pages/page-request.ts';
import type { ConsoleConfig } from '../platform/config/console-config.ts';
import { signInHref } from './pages/layout.ts';
import { noRolePage, signInPage } from './pages/sign-in-pages.ts';
import { mayActAs, type Role, roleOf } from './roles.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use a route of the console. A route without it needs the highest role. `signed_in` needs a session, whatever its role. */
    consoleRole?: Role | 'signed_in' | 'anyone';
  }
}

/** A request by a signed-in operator whose role suffices for the route. */
export interface ConsoleVisit {
  readonly browserSession: BrowserSession;
  readonly role: Role;
  /** For the audit trail. The acting verb adds the reason. */
  readonly actor: Actor;
  readonly csrfToken: string;
  /** Whether the sign-in is recent enough for an act. */
  readonly isFresh: boolean;
}

export interface ConsoleGuardDeps {
  readonly config: ConsoleConfig;
  readonly browser: Browser;
  readonly stylesheetPath: string;
  /** Aborts when another configuration is in force. */
  readonly retired: AbortSignal;
  readonly now: Clock;
}

/** The largest form of the console: csrf token, reason, and what an act is about. */
const FORM_LIMITS = { controls: 8, bytes: 16 * 1024 };

/** The path and query of this request, for the way back from a sign-in. */
const hereOf = ({ url }: FastifyRequest): string => (isConsolePath(url) ? url : '/');

/** A path of the console: an own path of printable ASCII, without a host or a backslash. */
export const isConsolePath = (path: string): boolean =>
  path.length <= 1000 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) && !path.startsWith('/login');

/** Whether another site led the browser here. A redirect keeps the site that the navigation began at. */
export function isFromElsewhere({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

/** Another site led the browser to a page about a person. The operator opens it from a page of the console. */
export class ForeignLinkError extends Error {
  override name = 'ForeignLinkError';
  /** Path and query of the page. */
  readonly here: string;

  constructor(here: string) {
    super('A link of another site.');
    this.here = here;
  }
}

/** Admits operators by their role. Every route of the console goes through it, before its handler. */
export function createConsoleGuard({ config, browser, stylesheetPath, retired, now }: ConsoleGuardDeps) {
  const visits = new WeakMap<FastifyRequest, ConsoleVisit>();
  const turns = createOperatorTurns(retired);
  const sessions = new WeakMap<FastifyRequest, Promise<BrowserSession | undefined>>();

  /** Reads the session of a request once. */
  function sessionOf(request: FastifyRequest): Promise<BrowserSession | undefined> {
    const read = sessions.get(request) ?? browser.readSession(request);
    sessions.set(request, read);
    return read;
  }

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const needed = request.routeOptions.config.consoleRole ?? 'operator';
    if (needed === 'anyone' || request.is404) return undefined;
    const browserSession = await sessionOf(request);
    if (browserSession === undefined) {
      const here = request.method === 'POST' ? '/' : hereOf(request);
      const linkedTo = isFromElsewhere(request) && here !== '/' ? here : undefined;
      const href = signInHref(here, false);
      return reply.code(401).send(signInPage({ stylesheetPath }, { href, linkedTo }));
    }
    const role = roleOf(browserSession, config.roles);
    const csrfToken = browser.csrfToken(browserSession.id);
    const { displayName, subject, authTime } = browserSession;
    const isEnough = needed === 'signed_in' || (role !== undefined && mayActAs(role, needed));
    if (!isEnough) {
      const name = role === undefined ? displayName : undefined;
      return reply
        .code(403)
        .send(noRolePage({ stylesheetPath }, { name, needed, csrfToken, otherAccount: signInHref('/', true) }));
    }
    visits.set(request, {
      browserSession,
      // A route that any session may use shows nothing.
      role: role ?? 'viewer',
      csrfToken,
      // The subject, because operators choose their display names.
      actor: { who: subject.subject, door: 'console' },
      isFresh: isFresh(authTime, FRESH_SECONDS * 1000, now()),
    });
    return undefined;
  }

  return {
    sessionOf,

    /** Guards every route that is registered in this scope from now on. */
    register(scope: FastifyInstance): void {
      scope.addHook('onRequest', admit);
      scope.addHook('onRoute', route => {
        const { handler } = route;
        route.handler = function inTurn(request, reply) {
          const work = () => handler.call(this, request, reply);
          const visit = visits.get(request);
          return visit === undefined ? work() : turns.take(visit.actor.who, reply.raw, work);
        };
      });
    },

    /** @throws TypeError for a route that anyone may use */
    visitOf(request: FastifyRequest): ConsoleVisit {
      const visit = visits.get(request);
      if (visit === undefined) throw new TypeError('This route is not guarded.');
      return visit;
    },

    /**
     * Like {@link visitOf}, for a page that shows the data of one person: looking at it is recorded in the operator's name, so another site
     * must not be able to cause it. @throws PageError, ForeignLinkError
     */
    visitToPerson(request: FastifyRequest): ConsoleVisit {
      assertNoPrefetch(request);
      if (request.method === 'GET' && isFromElsewhere(request)) throw new ForeignLinkError(hereOf(request));
      return this.visitOf(request);
    },

    /** Reads a form post from a page of the console by the same browser session. @throws PageError */
    async readForm<Form extends { readonly csrf_token: string }>(
      request: FastifyRequest,
      schema: z.ZodType<Form>,
    ): Promise<Form> {
      const { browserSession } = this.visitOf(request);
      assertSameOrigin(request, config.publicUrl);
      const form = schema.safeParse(await readFormBody(request, FORM_LIMITS));
      if (!form.success) throw new PageError('bad_request');
      if (!browser.isCsrfToken(form.data.csrf_token, browserSession.id)) throw new PageError('forbidden');
      await browser.keepAlive(request);
      return form.data;
    },
  };
}

export type ConsoleGuard = ReturnType<typeof createConsoleGuard>;

export const csrfField = z.string().max(128);
/** Why an operator acts, for the audit trail: one line. */
export const reasonField = z
  .string()
  .trim()
  .regex(/^[^\p{C}\u2028\u2029]{1,200}$/u);
