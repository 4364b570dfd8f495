import { NotFoundError } from '@postern/elicitation';
import { type Html, html, ownPath, ownText } from '@postern/pages/html';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ReasonedActor } from '../admin/admin-audit.ts';
import { PageError } from '../pages/page-request.ts';
import { csrfField, reasonField } from './console-guard.ts';
import { consolePage, type SectionPath, type SignedInPage, signInHref } from './pages/layout.ts';
import { buttonTo, link } from './pages/parts.ts';
import { type Asking, type ConsoleRoute, forRole } from './section.ts';

/** What an act would do now. */
export interface Plan {
  /** What it is about. */
  readonly about?: Html;
  /** What it will do, and to how many. A string: why there is nothing to do. */
  readonly says: Html | string;
  /** Names the act. Absent if there is nothing to do now. */
  readonly button?: string;
  /** Fields of the confirming form that follow from what the page says. */
  readonly confirms?: Readonly<Record<string, string>>;
}

/** What an operator may do. Each act has a page that says what it will do, and to how many. */
export interface Act<Values> {
  /** Pattern of its route. */
  readonly path: string;
  readonly at: SectionPath;
  readonly title: string;
  /** Of the parameters of the path together with the query, or with the form. */
  readonly values: z.ZodType<Values>;
  /**
   * The values name a person, so they are never in a URL: the page is the answer to a POST, and confirming it is a POST to the path below.
   */
  readonly isAboutPerson?: boolean;
  /** Changes nothing. Undefined if there is no such thing. */
  plan(asking: Asking, values: Values): Promise<Plan | undefined>;
  /**
   * Records the act, then does it.
   * @returns the path of the page that shows the result; a plan that says why nothing was done; undefined if there is no such thing
   */
  perform(asking: Asking<ReasonedActor>, values: Values): Promise<string | Plan | undefined>;
}

type Fields = Readonly<Record<string, string>>;
const fields = z.record(z.string(), z.string().max(2000));
const plannedForm = z.object({ csrf_token: csrfField }).catchall(z.string().max(2000));
const confirmedForm = z.object({ csrf_token: csrfField, reason: reasonField }).catchall(z.string().max(2000));

/** The confirming POST of an act about a person. */
const CONFIRMED = '/confirmed';

/**
 * An act of the role `operator`. Only a POST from a page of this browser session, by an operator who signed in within the last minutes and
 * gives a reason, performs it.
 */
export const act =
  <Values>(of: Act<Values>): ConsoleRoute =>
  ({ app, admin, guard, pageFor, now }) => {
    const operator = forRole('operator');
    const { path, isAboutPerson = false } = of;

    /** @throws PageError for values that no page of the console sends */
    function valuesOf(request: FastifyRequest, given: Fields): Values {
      const found = of.values.safeParse({ ...given, ...fields.parse(request.params ?? {}) });
      if (!found.success) throw new PageError('bad_request');
      return found.data;
    }

    async function show(request: FastifyRequest, reply: FastifyReply, given: Fields, refused?: Plan) {
      const { actor, isFresh } = guard.visitToPerson(request);
      const plan = refused ?? (await of.plan({ admin, actor, now }, valuesOf(request, given)));
      if (plan === undefined) throw new NotFoundError();
      const [here = ''] = request.url.split('?');
      const planned = here.endsWith(CONFIRMED) ? here.slice(0, -CONFIRMED.length) : here;
      return reply.send(
        actPage(pageFor(request), of, plan, {
          isFresh,
          given: { ...given, ...plan.confirms },
          action: isAboutPerson ? `${planned}${CONFIRMED}` : here,
          // The values of an act about a person cannot be repeated by a link.
          again: isAboutPerson ? of.at : request.method === 'GET' ? request.url : here,
        }),
      );
    }

    if (isAboutPerson)
      app.post(path, operator, async (request, reply) => {
        const { csrf_token: _, reason: __, ...given } = await guard.readForm(request, plannedForm);
        return show(request, reply, given);
      });
    else
      app.get(path, { ...operator, exposeHeadRoute: false }, async (request, reply) => {
        const given = fields.safeParse(request.query);
        if (!given.success) throw new PageError('bad_request');
        return show(request, reply, given.data);
      });

    app.post(isAboutPerson ? `${path}${CONFIRMED}` : path, operator, async (request, reply) => {
      const { csrf_token: _, reason, ...given } = await guard.readForm(request, confirmedForm);
      const { actor, isFresh } = guard.visitOf(request);
      if (!isFresh) return show(request, reply.code(403), given);
      const done = await of.perform({ admin, actor: { ...actor, reason }, now }, valuesOf(request, given));
      if (done === undefined) throw new NotFoundError();
      return typeof done === 'string' ? reply.redirect(done, 303) : show(request, reply.code(409), given, done);
    });
  };

/** Says what an act will do before the operator confirms it. Without a fresh sign-in it offers one instead of the form. */
function actPage(
  page: SignedInPage,
  { at, title }: Pick<Act<never>, 'at' | 'title'>,
  { about, says, button }: Plan,
  p: {
    readonly isFresh: boolean;
    /** Fields that the confirming form repeats. */
    readonly given: Fields;
    readonly action: string;
    /** Where the operator returns after signing in again. */
    readonly again: string;
  },
): string {
  const back = link(at, html`Back`);
  const hidden = Object.entries({ csrf_token: page.csrfToken, ...p.given }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const form =
    button === undefined
      ? html`<p>${back}</p>`
      : p.isFresh
        ? html`<form class="act" method="post" action="${ownPath(p.action)}">${hidden}<label><span>Reason, for the audit trail</span><input type="text" name="reason" required></label><button class="danger">${button}</button> ${back}</form>`
        : html`<p>This needs a sign-in of the last five minutes.</p>${buttonTo(signInHref(p.again, true), 'Sign in again')}`;
  const text = typeof says === 'string' ? html`<p class="empty">${ownText(says)}</p>` : says;
  return consolePage(page, { at, title, main: html`${about}${text}${form}` });
}
