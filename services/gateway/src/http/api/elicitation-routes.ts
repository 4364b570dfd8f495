import { issueElicitationSchema, redeemRequestSchema, verifyElicitationSchema, waitQuerySchema } from '@postern/api';
import {
  DomainError,
  type Elicitation,
  type ElicitationId,
  isCharging,
  NotFoundError,
  parseElicitationId,
} from '@postern/elicitation';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayDeps } from '../../deps.ts';
import type { RegisteredMcpServer } from '../../registered-mcp-server.ts';
import { parse } from '../parse.ts';
import { ProblemError } from '../problem-error.ts';
import { callerOf } from './caller-auth.ts';
import { createPresenter } from './present.ts';
import { createWaitingSignal } from './waiting-signal.ts';

interface ById {
  Params: { elicitationId: string };
}

export const noBodySchema = z.union([z.undefined(), z.null(), z.strictObject({})]);
const idempotencyKeySchema = z.string().regex(/^[\x21-\x7e]{1,255}$/, { error: '1 to 255 visible ASCII characters' });

export const elicitationRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  const present = createPresenter(deps.config);
  const waitingSignal = createWaitingSignal(deps.stopping.closing);

  /** @throws ProblemError `overloaded`, `rate_limited` */
  function waitingPlace({ mcpServerId, config }: RegisteredMcpServer): Disposable {
    const { waits, limits, shareOf, refused } = deps.overload;
    const taken = waits.take(mcpServerId, config.limits.concurrentWaits ?? shareOf(limits.waitingReads));
    if (taken === 'share') throw new ProblemError('rate_limited', { retryAfterMs: 1000 });
    if (taken === 'full') throw refused('wait', 'cap');
    return taken;
  }

  /** What is being paid is rare: only then is the elicitation read beforehand. */
  async function cancel(caller: RegisteredMcpServer, elicitationId: ElicitationId): Promise<Elicitation> {
    try {
      return await deps.service.cancel(caller, elicitationId);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'payment_in_progress') throw error;
      const elicitation = await deps.service.read(caller, elicitationId);
      // What may have been paid is ended by what the processor says.
      if (isCharging(elicitation)) return deps.paymentFlow.cancel(elicitation);
      return deps.service.cancel(caller, elicitationId);
    }
  }

  app.post('/elicitations', async (request, reply) => {
    const answer = await deps.issueFlow.issue(
      callerOf(request),
      parse(issueElicitationSchema, request.body, 'body'),
      idempotencyKeyOf(request),
    );
    return reply.code(answer.status).send(answer.body);
  });

  app.get<ById>('/elicitations/:elicitationId', { config: { endsByItself: true } }, async (request, reply) => {
    const caller = callerOf(request);
    const elicitationId = elicitationIdOf(request.params.elicitationId);
    const { wait = 0 } = parse(waitQuerySchema, request.query, 'query');
    if (wait === 0) return present.elicitation(await deps.service.read(caller, elicitationId));
    using _slot = waitingPlace(caller);
    const signal = waitingSignal(reply);
    return present.elicitation(await deps.service.wait(caller, elicitationId, wait * 1000, signal));
  });

  app.post<ById>('/elicitations/:elicitationId/cancel', async request => {
    parse(noBodySchema, request.body, 'body');
    const caller = callerOf(request);
    const elicitationId = elicitationIdOf(request.params.elicitationId);
    return present.elicitation(await cancel(caller, elicitationId));
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
    return { ...present.elicitation(elicitation), continueUrl };
  });
};

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  return key === undefined ? undefined : parse(idempotencyKeySchema, key, 'header');
}

function elicitationIdOf(value: string): ElicitationId {
  const elicitationId = parseElicitationId(value);
  if (elicitationId === undefined) throw new NotFoundError();
  return elicitationId;
}
