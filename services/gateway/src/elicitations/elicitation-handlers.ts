import { waitQuerySchema } from '@postern/api';
import {
  DomainError,
  type Elicitation,
  type ElicitationId,
  type ElicitationService,
  isCharging,
  NotFoundError,
  parseElicitationId,
} from '@postern/elicitation';
import type { FastifyContextConfig } from 'fastify';
import type { ExternalVerification } from '../identity/external-verification.ts';
import type { ApiHandlers } from '../mcp-servers/api-handlers.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { PaymentFlow } from '../payments/payment-flow.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { limitDetail, ProblemError } from '../platform/http/problems.ts';
import type { Overload } from '../platform/overload/admission.ts';
import type { IssueFlow } from './issue-flow.ts';
import { Presenter } from './presenter.ts';
import type { RedemptionFlow } from './redemption-flow.ts';

/** Of the route that reads an elicitation. */
export const waitingRead: FastifyContextConfig = {
  endsByItself: true,
  isWait: query => (waitQuerySchema.safeParse(query).data?.wait ?? 0) > 0,
};

export interface ElicitationHandlersDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl' | 'providers'>;
  readonly overload: Overload;
  readonly service: Pick<ElicitationService, 'read' | 'wait' | 'cancel'>;
  readonly issueFlow: IssueFlow;
  readonly redemptionFlow: RedemptionFlow;
  readonly externalVerification: Pick<ExternalVerification, 'verify'>;
  readonly paymentFlow: Pick<PaymentFlow, 'cancel'>;
}

export function elicitationHandlers(
  deps: ElicitationHandlersDeps,
): ApiHandlers<
  'issueElicitation' | 'readElicitation' | 'cancelElicitation' | 'redeemElicitation' | 'verifyElicitation'
> {
  const presenter = new Presenter(deps.config);

  /** Reserves a place for a waiting read. @throws ProblemError `overloaded`, `rate_limited` */
  function takeWaitingPlace({ mcpServerId, config }: RegisteredMcpServer): Disposable {
    const { waits, limits, shareOf, refused } = deps.overload;
    const share = config.limits.concurrentWaits ?? shareOf(limits.waitingReads);
    const taken = waits.acquire(mcpServerId, share);
    if (taken === 'share')
      throw new ProblemError('rate_limited', {
        retryAfterMs: 1000,
        detail: limitDetail(`${share} waiting reads at once`, 'mcpServers[].limits.concurrentWaits'),
      });
    if (taken === 'full') throw refused('wait', 'cap');
    return taken;
  }

  /** Reads the elicitation only if a payment is in progress, which is rare. */
  async function cancel(caller: RegisteredMcpServer, elicitationId: ElicitationId): Promise<Elicitation> {
    try {
      return await deps.service.cancel(caller, elicitationId);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'payment_in_progress') throw error;
      const elicitation = await deps.service.read(caller, elicitationId);
      // The user may have paid: the payment ends with the status that its processor reports.
      if (isCharging(elicitation)) return deps.paymentFlow.cancel(elicitation);
      return deps.service.cancel(caller, elicitationId);
    }
  }

  return {
    issueElicitation: ({ caller, body, idempotencyKey }) => deps.issueFlow.issue(caller, body, idempotencyKey),

    async readElicitation({ caller, parameters, query: { wait = 0 }, signal }) {
      const elicitationId = elicitationIdOf(parameters.elicitationId);
      if (wait === 0) return presenter.elicitation(await deps.service.read(caller, elicitationId));
      using _place = takeWaitingPlace(caller);
      return presenter.elicitation(await deps.service.wait(caller, elicitationId, wait * 1000, signal()));
    },

    async cancelElicitation({ caller, parameters }) {
      return presenter.elicitation(await cancel(caller, elicitationIdOf(parameters.elicitationId)));
    },

    async redeemElicitation({ caller, parameters, body, idempotencyKey }) {
      return deps.redemptionFlow.redeem(caller, elicitationIdOf(parameters.elicitationId), body, idempotencyKey);
    },

    async verifyElicitation({ caller, parameters, body }) {
      const elicitationId = elicitationIdOf(parameters.elicitationId);
      const { elicitation, continueUrl } = await deps.externalVerification.verify(caller, elicitationId, body);
      return { ...presenter.elicitation(elicitation), continueUrl };
    },
  };
}

function elicitationIdOf(value: string): ElicitationId {
  const elicitationId = parseElicitationId(value);
  if (elicitationId === undefined) throw new NotFoundError();
  return elicitationId;
}
