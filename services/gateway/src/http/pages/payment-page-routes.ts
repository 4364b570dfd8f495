import { isCharging, isOfKind, NotFoundError, RequestChangedError } from '@postern/elicitation';
import {
  type ChargeNotice,
  chargePage,
  passkeyPage,
  passkeyPageHeaders,
  passkeyScript,
  passkeySignInPage,
  passkeyWaitPage,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import type { ChargeState } from '../../flows/payment-flow.ts';
import type { PageRequest, PresentOf } from './kinds/kind-pages.ts';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { createPaymentView } from './payment-view.ts';
import { type ById, createPresence, type DecisionForm, type Present } from './presence.ts';
import { isPrefetch } from './same-origin.ts';

/** The steps between agreeing to a payment and its end: the passkey, and paying at a processor. */
export const paymentPageRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { service, approvalFlow, approvalPolicy, passkeyFlow, paymentFlow } = deps;
  const { look, decide } = createPresence(pages);
  const { factsOf, chargeView } = createPaymentView(pages);

  /** What every page of the passkey step shows and offers. */
  function stepOf(present: PresentOf<'payment'>) {
    const { elicitation, browserSession, secret } = present;
    return {
      mcpServer: views.mcpServer(elicitation),
      payment: factsOf(elicitation),
      ...(browserSession === undefined ? {} : { person: views.person(browserSession) }),
      declineAction: `${pageOf(present)}/decline`,
      backHref: pageOf(present),
      csrfToken: browser.csrfToken(secret),
    };
  }

  async function sendPasskey(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'payment'>,
    notice?: 'failed' | 'not_added',
  ): Promise<FastifyReply> {
    const { elicitation, browserSession, secret } = present;
    const page = pageOf(present);
    const isAskedFor =
      elicitation.status === 'pending' &&
      approvalPolicy.requirementsOf(elicitation).passkey &&
      !approvalPolicy.mustSignInAgain(elicitation, browserSession);
    // Decided, not asked for, or to be preceded by a sign-in: the page says so.
    if (!isAskedFor) return reply.redirect(page, 303);
    const { mode, optionsJson, ceremony } = await passkeyFlow.begin(elicitation, { browserSession, secret });
    if (mode === 'register' && approvalPolicy.mustSignInToAddPasskey(elicitation, browserSession))
      return reply.send(
        passkeySignInPage(views.context(request), {
          ...stepOf(present),
          signInHref: views.freshSignInHref(elicitation),
        }),
      );
    const countsFrom = mode === 'assert' ? await passkeyFlow.countsFrom(elicitation) : undefined;
    if (countsFrom !== undefined) return sendPasskeyWait(request, reply, present, countsFrom);
    return reply.headers(passkeyPageHeaders).send(
      passkeyPage(views.context(request), {
        ...stepOf(present),
        mode,
        optionsJson,
        action: mode === 'register' ? `${page}/passkey/new` : `${page}/passkey`,
        shown: views.shownDigest(elicitation),
        ceremony,
        scriptPath: passkeyScript.path,
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  /** The person's passkey is too young for this payment. */
  function sendPasskeyWait(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'payment'>,
    countsFrom: number,
  ): FastifyReply {
    return reply.send(
      passkeyWaitPage(views.context(request), { ...stepOf(present), countsFrom: new Date(countsFrom) }),
    );
  }

  /** What the processor said, as a page. */
  function sendCharge(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'payment'>,
    { state }: ChargeState,
    whenOpen?: ChargeNotice,
  ): FastifyReply {
    if (state === 'settled') return reply.redirect(pageOf(present), 303);
    const notice = state === 'unavailable' ? 'processor_unavailable' : state === 'processing' ? state : whenOpen;
    return reply.send(chargePage(views.context(request), chargeView(present, notice)));
  }

  app.get(passkeyScript.path, (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type('text/javascript; charset=utf-8')
      .send(passkeyScript.body),
  );

  app.get<ById>('/e/:elicitationId/passkey', (request, reply) =>
    look(request, reply, present => sendPasskey(request, reply, ofPayment(present))),
  );

  app.post<ById>('/e/:elicitationId/passkey/new', (request, reply) =>
    decide(request, reply, async (present, form) => {
      const asked = ofPayment(present);
      const { elicitation, visitor, browserSession, secret } = asked;
      service.assertSamePerson(elicitation, visitor);
      const mustSignIn =
        approvalPolicy.mustSignInAgain(elicitation, browserSession) ||
        approvalPolicy.mustSignInToAddPasskey(elicitation, browserSession);
      if (mustSignIn) return reply.redirect(pageOf(asked), 303);
      const added = await passkeyFlow.register(elicitation, browserSession, { ...answerIn(form), secret });
      return added.result === 'verified'
        ? reply.redirect(`${pageOf(asked)}/passkey`, 303)
        : sendPasskey(request, reply.code(422), asked, 'not_added');
    }),
  );

  app.post<ById>('/e/:elicitationId/passkey', (request, reply) =>
    decide(request, reply, async (present, form) => {
      const asked = ofPayment(present);
      const { elicitation, visitor, browserSession, secret } = asked;
      service.assertSamePerson(elicitation, visitor);
      if (elicitation.status !== 'pending' || approvalPolicy.mustSignInAgain(elicitation, browserSession))
        return reply.redirect(pageOf(asked), 303);
      const verified = await passkeyFlow.verify(elicitation, { ...answerIn(form), secret });
      if (verified.result === 'too_new') return sendPasskeyWait(request, reply.code(403), asked, verified.countsFrom);
      if (verified.result === 'failed') return sendPasskey(request, reply.code(422), asked, 'failed');
      try {
        const approver = { visitor, browserSession, shown: form.shown ?? '' };
        const approved = await approvalFlow(elicitation, approver, verified);
        if (approved.result === 'approved') await paymentFlow.open(approved.elicitation);
      } catch (error) {
        // The page shows what is asked, and the person decides again.
        if (!(error instanceof RequestChangedError)) throw error;
      }
      return reply.redirect(pageOf(asked), 303);
    }),
  );

  // Where the processor sends the browser back to. It changes nothing by itself: the processor is asked how it stands, as the sweeper
  // and the webhook would ask it.
  app.get<ById>('/e/:elicitationId/charge', { exposeHeadRoute: false }, (request, reply) =>
    look(request, reply, async present => {
      const asked = ofPayment(present);
      if (isPrefetch(request)) throw new PageError('forbidden');
      if (!isCharging(asked.elicitation) || asked.elicitation.charge === undefined)
        return reply.redirect(pageOf(asked), 303);
      return sendCharge(request, reply, asked, await paymentFlow.check(asked.elicitation), 'not_paid_yet');
    }),
  );

  app.post<ById>('/e/:elicitationId/charge', (request, reply) =>
    decide(request, reply, async present => {
      const asked = ofPayment(present);
      service.assertSamePerson(asked.elicitation, asked.visitor);
      if (!isCharging(asked.elicitation)) return reply.redirect(pageOf(asked), 303);
      const opened = await paymentFlow.open(asked.elicitation);
      return opened.state === 'unavailable'
        ? sendCharge(request, reply.code(502), asked, opened)
        : reply.redirect(pageOf(asked), 303);
    }),
  );
};

const pageOf = ({ elicitation }: Present) => `/e/${elicitation.elicitationId}`;

function answerIn({ ceremony, response }: DecisionForm): { ceremony: string; response: string } {
  if (ceremony === undefined || response === undefined) throw new PageError('bad_request');
  return { ceremony, response };
}

/** @throws NotFoundError: other kinds have no such pages */
function ofPayment(present: Present): PresentOf<'payment'> {
  const { elicitation } = present;
  if (!isOfKind(elicitation, 'payment')) throw new NotFoundError();
  return { ...present, elicitation };
}
