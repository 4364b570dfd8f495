import type { Elicitation } from '@postern/elicitation';
import { historyPage, type RefundView } from '@postern/pages';
import type { RedisStores } from '@postern/store-redis';
import type { FastifyPluginAsync } from 'fastify';
import { refundViews } from '../approvals/payment-view.ts';
import { type AccountGuardDeps, createAccountGuard } from '../identity/account-guard.ts';
import type { PageKit } from '../pages/page-kit.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationPath, receiptPath } from '../platform/http/public-urls.ts';
import { type AccountScopeDeps, createAccountScope } from './account-scope.ts';
import { answeredAbout } from './asked-views.ts';

export const HISTORY_PATH = '/me/history';

export interface MeHistoryRoutesDeps extends AccountGuardDeps, AccountScopeDeps {
  readonly config: AccountGuardDeps['config'] & Pick<GatewayConfig, 'retention'>;
  readonly stores: AccountScopeDeps['stores'] & Pick<RedisStores, 'payments'>;
}

/** The user's answers, while their records last. */
export const meHistoryRoutes: FastifyPluginAsync<PageKit<MeHistoryRoutesDeps>> = async (app, pages) => {
  const { deps, views } = pages;
  const { guardGet } = createAccountGuard(pages);
  const scope = createAccountScope(pages);

  /** Also of a payment that was made after the end of its elicitation. */
  async function refundsOf({ elicitationId, request }: Elicitation): Promise<readonly RefundView[]> {
    if (request.kind !== 'payment') return [];
    return (await deps.stores.payments.list(elicitationId)).flatMap(refundViews);
  }

  app.get(HISTORY_PATH, (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const ended = (await scope.ended(browserSession)).filter(elicitation => views.isStillAllowed(elicitation));
      return reply.send(
        historyPage(views.context(request), {
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
