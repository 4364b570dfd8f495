import {
  type Elicitation,
  type ElicitationService,
  isCharging,
  isPaidBy,
  parseElicitationId,
  type Stores,
} from '@postern/elicitation';
import {
  type ChargeEvent,
  type ChargeStatus,
  type PaymentEvent,
  type PaymentProcessor,
  ProcessorError,
} from '@postern/payment';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { readBody } from '../platform/http/request-input.ts';
import { identified } from '../platform/http/unknown-callers.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import type { PaymentFlow } from './payment-flow.ts';
import type { Refunds } from './refunds.ts';

interface ProcessorWebhooksDeps {
  readonly service: Pick<ElicitationService, 'find'>;
  readonly stores: Pick<Stores, 'payments'>;
  readonly paymentFlow: PaymentFlow;
  readonly refunds: Refunds;
  readonly auditLog: AuditLog;
}

/**
 * Handles webhooks of payment processors. A webhook is only a hint to ask the processor for the status of a charge, so a repeated,
 * delayed or reordered webhook has no further effect: the first one completes the elicitation, the next ones find it completed.
 * @internal exported for tests
 */
export class ProcessorWebhooks {
  readonly #deps: ProcessorWebhooksDeps;

  constructor(deps: ProcessorWebhooksDeps) {
    this.#deps = deps;
  }

  /**
   * @returns false if the processor did not respond. The response then makes the processor repeat the webhook.
   * @throws ProcessorError `signature_invalid`
   */
  async handle(
    processor: PaymentProcessor,
    webhook: { readonly body: Uint8Array; readonly headers: Record<string, string | undefined> },
    onVerified?: () => void,
  ): Promise<boolean> {
    const { service, paymentFlow } = this.#deps;
    const event = await this.#eventOf(processor, webhook);
    onVerified?.();
    if (event === 'unavailable') return false;
    if (event === undefined) return true;
    if ('about' in event) return this.#followPayment(event);
    const elicitationId = parseElicitationId(event.elicitationId);
    const elicitation = elicitationId === undefined ? undefined : await service.find(elicitationId);
    if (elicitation === undefined || !isCharging(elicitation))
      return this.#reportUnexpected(processor, event, elicitation);
    const checked = await paymentFlow.check(elicitation);
    if (checked.state === 'unavailable') return false;
    const [reference, current] =
      checked.state === 'settled' ? [checked.settledBy, checked.elicitation] : [checked.charge.reference, elicitation];
    return reference === event.reference || this.#reportUnexpected(processor, event, current);
  }

  /** @throws ProcessorError `signature_invalid` */
  async #eventOf(processor: PaymentProcessor, webhook: Parameters<PaymentProcessor['webhook']>[0]) {
    try {
      return await processor.webhook(webhook);
    } catch (error) {
      if (!(error instanceof ProcessorError) || error.code !== 'unavailable') throw error;
      this.#deps.auditLog.record('payment.processor_unavailable', {
        processor: processor.name,
        code: error.code,
        ...error.details,
      });
      return 'unavailable';
    }
  }

  /** Commits what the processor now reports. Other payments, for example of another gateway, are ignored. */
  async #followPayment({ elicitationId: named, processorReference, about }: PaymentEvent): Promise<boolean> {
    const { refunds } = this.#deps;
    const elicitationId = parseElicitationId(named);
    if (elicitationId === undefined) return true;
    const payment = await refunds.find(elicitationId, processorReference);
    return payment === undefined || (await refunds.sync(payment, about)) !== undefined;
  }

  /** Reports a paid charge that completes no elicitation, once: its elicitation has ended, is unknown, or has another charge. */
  async #reportUnexpected(
    processor: PaymentProcessor,
    event: ChargeEvent,
    elicitation: Elicitation | undefined,
  ): Promise<boolean> {
    const { stores, refunds, auditLog } = this.#deps;
    // The charge may belong to another gateway on the same account.
    if (elicitation === undefined && !event.namesGateway) return true;
    let status: ChargeStatus;
    try {
      status = await processor.status(event.reference);
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      auditLog.record('payment.processor_unavailable', {
        ...(elicitation ?? event),
        ...error.details,
        processor: processor.name,
        code: error.code,
      });
      return false;
    }
    if (status.state !== 'paid') return true;
    const { processorReference } = status;
    if (elicitation !== undefined && isPaidBy(elicitation, processorReference)) return true;
    const elicitationId = parseElicitationId(event.elicitationId);
    // Processors repeat webhooks for days, longer than the elicitation is stored. The note of its payment is kept longer.
    const note = elicitationId && (await stores.payments.read(elicitationId, processorReference));
    if (note !== undefined) return true;
    await refunds.recordUnexpected({
      elicitationId,
      elicitation,
      processor: processor.name,
      status,
      named: event.elicitationId,
      reason: elicitation?.status ?? 'unknown_elicitation',
      isOwn: event.namesGateway,
    });
    return true;
  }
}

export const MAX_WEBHOOK_BYTES = 256 * 1024;

interface ByProcessor {
  Params: { processor: string };
}

export interface ProcessorWebhookRoutesDeps extends ProcessorWebhooksDeps {
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
  readonly auditLog: AuditLog;
  readonly telemetry: Pick<Telemetry, 'traceRequests'> | undefined;
}

/** Receives webhooks of payment processors. Keeps the body as bytes, because the signature covers the bytes. */
export const processorWebhookRoutes: FastifyPluginAsync<{ deps: ProcessorWebhookRoutesDeps }> = async (
  app,
  { deps },
) => {
  const webhooks = new ProcessorWebhooks(deps);
  deps.telemetry?.traceRequests(app, { surface: 'webhook' });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest) => readBody(request, MAX_WEBHOOK_BYTES));

  /** Before the body is read. */
  const onRequest = async ({ params }: FastifyRequest<ByProcessor>) => {
    if (!deps.processors.has(params.processor)) throw new ProblemError('not_found');
  };
  app.post<ByProcessor>('/webhooks/:processor', { onRequest }, async (request, reply) => {
    const processor = deps.processors.get(request.params.processor);
    if (processor === undefined || !Buffer.isBuffer(request.body)) throw new ProblemError('not_found');
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
    );
    try {
      const isHandled = await webhooks.handle(processor, { body: request.body, headers }, () =>
        identified(request, { kind: 'caller', id: processor.name }),
      );
      if (!isHandled) throw new ProblemError('unavailable', { retryAfterMs: 10_000 });
    } catch (error) {
      if (!(error instanceof ProcessorError) || error.code !== 'signature_invalid') throw error;
      deps.auditLog.record('payment.webhook_refused', { processor: processor.name, code: error.code });
      throw new ProblemError('unauthenticated');
    }
    return reply.code(204).send();
  });
};
