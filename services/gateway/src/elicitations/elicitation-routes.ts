import { issueElicitationSchema, redeemRequestSchema, verifyElicitationSchema, waitQuerySchema } from '@postern/api';
import {
  DomainError,
  type Elicitation,
  type ElicitationId,
  type ElicitationService,
  isCharging,
  NotFoundError,
  parseElicitationId,
} from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import type { ExternalVerification } from '../identity/external-verification.ts';
import { authenticatedCallerOf, callerOf } from '../mcp-servers/caller-auth.ts';
import type { WaitingRequests } from '../mcp-servers/callers-in-force.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { PaymentFlow } from '../payments/payment-flow.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { idempotencyKeyOf, noBodySchema, parse } from '../platform/http/parse.ts';
import { limitDetail, ProblemError } from '../platform/http/problems.ts';
import type { Overload } from '../platform/overload/admission.ts';
import type { IssueFlow } from './issue-flow.ts';
import { Presenter } from './presenter.ts';
import type { RedemptionFlow } from './redemption-flow.ts';

const isWait = (query: unknown): boolean => (waitQuerySchema.safeParse(query).data?.wait ?? 0) > 0;

interface ById {
  Params: { elicitationId: string };
}

export interface ElicitationRoutesDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl' | 'providers'>;
  readonly overload: Overload;
  readonly waitingRequests: Pick<WaitingRequests, 'signalOf'>;
  readonly service: Pick<ElicitationService, 'read' | 'wait' | 'cancel'>;
  readonly issueFlow: IssueFlow;
  readonly redemptionFlow: RedemptionFlow;
  readonly externalVerification: Pick<ExternalVerification, 'verify'>;
  readonly paymentFlow: Pick<PaymentFlow, 'cancel'>;
}

export const elicitationRoutes: FastifyPluginAsync<{ deps: ElicitationRoutesDeps }> = async (app, { deps }) => {
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

  app.post('/elicitations', async (request, reply) => {
    const { status, body } = await deps.issueFlow.issue(
      callerOf(request),
      parse(issueElicitationSchema, request.body, 'body'),
      idempotencyKeyOf(request),
    );
    return reply.code(status).send(body);
  });

  app.get<ById>('/elicitations/:elicitationId', { config: { endsByItself: true, isWait } }, async (request, reply) => {
    const caller = callerOf(request);
    const elicitationId = elicitationIdOf(request.params.elicitationId);
    const { wait = 0 } = parse(waitQuerySchema, request.query, 'query');
    if (wait === 0) return presenter.elicitation(await deps.service.read(caller, elicitationId));
    using _place = takeWaitingPlace(caller);
    const signal = deps.waitingRequests.signalOf(reply, authenticatedCallerOf(request));
    return presenter.elicitation(await deps.service.wait(caller, elicitationId, wait * 1000, signal));
  });

  app.post<ById>('/elicitations/:elicitationId/cancel', async request => {
    parse(noBodySchema, request.body, 'body');
    const caller = callerOf(request);
    const elicitationId = elicitationIdOf(request.params.elicitationId);
    return presenter.elicitation(await cancel(caller, elicitationId));
  });

  app.post<ById>('/elicitations/:elicitationId/redeem', async request => {
    const body = request.body == null ? {} : parse(redeemRequestSchema, request.body, 'body');
    const elicitationId = elicitationIdOf(request.params.elicitationId);
    return deps.redemptionFlow.redeem(callerOf(request), elicitationId, body, idempotencyKeyOf(request));
  });

  app.post<ById>('/elicitations/:elicitationId/verify', async request => {
    const body = parse(verifyElicitationSchema, request.body, 'body');
    const { elicitation, continueUrl } = await deps.externalVerification.verify(
      callerOf(request),
      elicitationIdOf(request.params.elicitationId),
      body,
    );
    return { ...presenter.elicitation(elicitation), continueUrl };
  });
};

function elicitationIdOf(value: string): ElicitationId {
  const elicitationId = parseElicitationId(value);
  if (elicitationId === undefined) throw new NotFoundError();
  return elicitationId;
}
