import { NotFoundError } from '@postern/elicitation';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Actor, ReasonedActor } from '../admin/admin-audit.ts';
import { PageError } from '../pages/page-request.ts';
import { type ConsoleGuard, csrfField, reasonField } from './console-guard.ts';
import { type ActView, actPage } from './pages/act-page.ts';
import type { SignedInPage } from './pages/layout.ts';

/** What an operator may do. Each act has a page that says what it will do, and to how many. */
export interface Act<Values> {
  /** Pattern of its route. */
  readonly path: string;
  /** Of the parameters of the path together with the query, or with the form. */
  readonly values: z.ZodType<Values>;
  /**
   * The values name a person, so they are never in a URL: the page is the answer to a POST, and confirming it is a POST to the path below.
   */
  readonly isAboutPerson?: boolean;
  /** Says what the act would do now. Changes nothing. Undefined if there is no such thing. */
  plan(actor: Actor, values: Values): Promise<ActView | undefined>;
  /**
   * Records the act, then does it.
   * @returns the path of the page that shows the result; a view that says why nothing was done; undefined if there is no such thing
   */
  perform(actor: ReasonedActor, values: Values): Promise<string | ActView | undefined>;
}

export interface ActDeps {
  readonly guard: ConsoleGuard;
  readonly pageFor: (request: FastifyRequest) => SignedInPage;
}

const fields = z.record(z.string(), z.string().max(2000));
const plannedForm = z.object({ csrf_token: csrfField }).catchall(z.string().max(2000));
const confirmedForm = z.object({ csrf_token: csrfField, reason: reasonField }).catchall(z.string().max(2000));

/** The confirming POST of an act about a person. */
const CONFIRMED = '/confirmed';

/**
 * Registers the routes of an act for the role `operator`. Only a POST from a page of this browser session, by an operator who signed in
 * within the last minutes and gives a reason, performs it.
 */
export function registerAct<Values>(app: FastifyInstance, { guard, pageFor }: ActDeps, act: Act<Values>): void {
  const operator = { config: { consoleRole: 'operator' as const } };
  const { path, isAboutPerson = false } = act;

  /** @throws PageError for values that no page of the console sends */
  function valuesOf(request: FastifyRequest, given: Readonly<Record<string, string>>): Values {
    const found = act.values.safeParse({ ...given, ...fields.parse(request.params ?? {}) });
    if (!found.success) throw new PageError('bad_request');
    return found.data;
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    given: Readonly<Record<string, string>>,
    refused?: ActView,
  ) {
    const { actor, isFresh } = guard.visitToPerson(request);
    const view = refused ?? (await act.plan(actor, valuesOf(request, given)));
    if (view === undefined) throw new NotFoundError();
    const [here = ''] = request.url.split('?');
    const planned = here.endsWith(CONFIRMED) ? here.slice(0, -CONFIRMED.length) : here;
    return reply.send(
      actPage(pageFor(request), {
        view,
        isFresh,
        given: { ...given, ...view.confirms },
        action: isAboutPerson ? `${planned}${CONFIRMED}` : here,
        // The values of an act about a person cannot be repeated by a link.
        again: isAboutPerson ? view.at : request.method === 'GET' ? request.url : here,
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
    const done = await act.perform({ ...actor, reason }, valuesOf(request, given));
    if (done === undefined) throw new NotFoundError();
    return typeof done === 'string' ? reply.redirect(done, 303) : show(request, reply.code(409), given, done);
  });
}
