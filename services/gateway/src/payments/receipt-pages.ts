import { isOfKind, NotFoundError } from '@postern/elicitation';
import { receiptPage } from '@postern/pages';
import type { Receipts } from '@postern/payment';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import {
  type ById,
  type CompletedVisitOf,
  createPageGuard,
  type PageGuardDeps,
  type PageRequest,
} from '../pages/page-guard.ts';
import type { PageKit } from '../pages/page-views.ts';
import { receiptPath } from '../platform/http/public-urls.ts';
import { confirmationFactsOf } from './confirmation-pages.ts';
import { PaymentView, type PaymentViewDeps } from './payment-pages.ts';
import { JWKS_PATH } from './receipt-keys.ts';

interface ReceiptPageRoutesDeps extends PageGuardDeps, PaymentViewDeps {
  readonly receipts: Pick<Receipts, 'sign'>;
}

type Approved = CompletedVisitOf<'payment' | 'confirmation'>;

/** The receipt of an approved payment or confirmation, for its person. */
export const receiptPageRoutes: FastifyPluginAsync<PageKit<ReceiptPageRoutesDeps>> = async (app, pages) => {
  const { deps, views } = pages;
  const { findOwn } = createPageGuard(pages);
  const paymentView = new PaymentView(pages);

  /** @throws NotFoundError for everyone else, and without an approval: the response does not depend on the elicitation */
  async function approvedOf(request: PageRequest, reply: FastifyReply): Promise<Approved> {
    const visit = await findOwn(request, reply);
    if (visit === undefined || visit.elicitation.status !== 'completed') throw new NotFoundError();
    const { elicitation } = visit;
    if (!isOfKind(elicitation, 'payment') && !isOfKind(elicitation, 'confirmation')) throw new NotFoundError();
    views.showAs(request, elicitation);
    await views.speakTo(request, elicitation);
    return { ...visit, elicitation };
  }

  function approvalOf({ elicitation, browserSession }: Approved) {
    const { outcome } = elicitation;
    if (outcome.kind !== 'payment' && outcome.kind !== 'confirmation')
      throw new TypeError('an outcome of another kind');
    return {
      approvedAt: new Date(outcome.approval.at),
      method: outcome.approval.method,
      mcpServer: views.mcpServer(elicitation),
      receiptNumber: views.receiptNumber(elicitation),
      person: browserSession && views.person(browserSession),
      paid: outcome.kind === 'payment' && outcome.processorReference !== undefined,
      downloadHref: `${receiptPath(elicitation.elicitationId)}.json`,
      historyHref: '/me/history',
    };
  }

  async function factsView(elicitation: Approved['elicitation']) {
    if (isOfKind(elicitation, 'payment'))
      return {
        kind: 'payment',
        payment: paymentView.factsOf(elicitation),
        ...(await paymentView.cameBack(elicitation)),
      } as const;
    if (isOfKind(elicitation, 'confirmation'))
      return { kind: 'confirmation', confirmation: confirmationFactsOf(elicitation) } as const;
    throw new TypeError('a kind without a receipt');
  }

  app.get<ById>('/e/:elicitationId/receipt', async (request, reply) => {
    const visit = await approvedOf(request, reply);
    const facts = await factsView(visit.elicitation);
    return reply.send(receiptPage(views.context(request), { ...approvalOf(visit), ...facts }));
  });

  app.get<ById>('/e/:elicitationId/receipt.json', async (request, reply) => {
    const { elicitation } = await approvedOf(request, reply);
    const { elicitationId, mcpServerId } = elicitation;
    const receipt = await deps.receipts.sign({ mcpServerId, elicitation });
    return reply
      .type('application/json; charset=utf-8')
      .header('content-disposition', `attachment; filename="receipt-${elicitationId}.json"`)
      .send(`${JSON.stringify({ receipt, keySet: new URL(JWKS_PATH, deps.config.publicUrl).href }, null, 2)}\n`);
  });
};
