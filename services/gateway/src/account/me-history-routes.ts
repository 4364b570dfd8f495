import { type Elicitation, LISTED_PAYMENTS, type Stores } from '@postern/elicitation';
import { historyPage, type RefundView } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import { type AccountGuardDeps, createAccountGuard } from '../identity/account-guard.ts';
import { PageError } from '../pages/page-request.ts';
import { answeredAbout, type PageKit } from '../pages/page-views.ts';
import { paidView, refundViews } from '../payments/payment-pages.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationPath, mePaths, receiptPath } from '../platform/http/public-urls.ts';
import { type AccountScopeDeps, createAccountScope } from './account-scope.ts';

export interface MeHistoryRoutesDeps extends AccountGuardDeps, AccountScopeDeps {
  readonly config: AccountGuardDeps['config'] & Pick<GatewayConfig, 'retention' | 'payment'>;
  readonly stores: AccountScopeDeps['stores'] & Pick<Stores, 'payments'>;
}

const PAYMENTS_PER_PAGE = 20;

const querySchema = z.object({
  page: z.coerce
    .number()
    .int()
    .min(1)
    .max(LISTED_PAYMENTS / PAYMENTS_PER_PAGE)
    .default(1),
});

/** The user's answers and payments, while their records last. */
export const meHistoryRoutes: FastifyPluginAsync<PageKit<MeHistoryRoutesDeps>> = async (app, pages) => {
  const { deps, views } = pages;
  const { guardGet } = createAccountGuard(pages);
  const scope = createAccountScope(pages);

  /** Also of a payment that was made after the end of its elicitation. */
  async function refundsOf({ elicitationId, request }: Elicitation): Promise<readonly RefundView[]> {
    if (request.kind !== 'payment') return [];
    return (await deps.stores.payments.list(elicitationId)).flatMap(refundViews);
  }

  app.get(mePaths.history, (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const query = querySchema.safeParse(request.query);
      if (!query.success) throw new PageError('bad_request');
      const { page } = query.data;
      const [all, { payments, hasMore }] = await Promise.all([
        scope.ended(browserSession),
        scope.payments(browserSession, { skip: (page - 1) * PAYMENTS_PER_PAGE, limit: PAYMENTS_PER_PAGE }),
      ]);
      const listed = new Set(all.map(({ elicitationId }) => elicitationId));
      const ended = page === 1 ? all.filter(elicitation => views.isStillAllowed(elicitation)) : [];
      return reply.send(
        historyPage(views.context(request), {
          earlier: payments
            .filter(({ elicitationId }) => !listed.has(elicitationId))
            .flatMap(of => paidView(of, views)),
          paymentsKeptDays: deps.config.payment.retentionDays,
          ...(page > 1 && { newerHref: page === 2 ? mePaths.history : `${mePaths.history}?page=${page - 1}` }),
          ...(hasMore && { olderHref: `${mePaths.history}?page=${page + 1}` }),
          answered: await Promise.all(
            ended.map(async elicitation => ({
              mcpServerName: views.mcpServerName(elicitation.mcpServerId),
              about: answeredAbout(elicitation, views),
              status:
                elicitation.status === 'completed' || elicitation.status === 'declined' ? elicitation.status : 'failed',
              endedAt: new Date(elicitation.endedAt),
              openHref: elicitationPath(elicitation.elicitationId),
              ...(hasReceipt(elicitation) ? { receiptHref: receiptPath(elicitation.elicitationId) } : {}),
              refunds: await refundsOf(elicitation),
            })),
          ),
          answersKeptHours: deps.config.retention.endedHours,
          backHref: '/me',
        }),
      );
    }),
  );
};

const hasReceipt = ({ status, request }: Elicitation) =>
  status === 'completed' && (request.kind === 'payment' || request.kind === 'confirmation');
