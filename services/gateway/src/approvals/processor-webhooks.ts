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
import type { AuditLog } from '../platform/audit/audit-log.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { readBody } from '../platform/http/read-body.ts';
import { identified } from '../platform/http/unidentified.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import type { PaymentFlow } from './payment-flow.ts';
import type { RefundFlow } from './refund-flow.ts';

interface WebhookHandlerDeps {
  readonly service: Pick<ElicitationService, 'find'>;
  readonly stores: Pick<Stores, 'payments'>;
  readonly paymentFlow: Pick<PaymentFlow, 'check'>;
  readonly refundFlow: Pick<RefundFlow, 'find' | 'sync' | 'unexpected'>;
  readonly auditLog: AuditLog;
}

/**
 * Handles webhooks of payment processors. A webhook is only a hint to ask the processor for the status of a charge, so a
 * repeated, delayed or reordered webhook has no further effect: the first one completes the elicitation, the next ones find it completed.
 * @internal
 */
export function createWebhookHandler(p: WebhookHandlerDeps) {
  /**
   * @returns false if the processor did not respond. The response then makes the processor repeat the webhook.
   * @throws ProcessorError `signature_invalid`
   */
  async function handleWebhook(
    processor: PaymentProcessor,
    webhook: { readonly body: Uint8Array; readonly headers: Record<string, string | undefined> },
    onVerified?: () => void,
  ): Promise<boolean> {
    const event = await eventOf(processor, webhook);
    onVerified?.();
    if (event === 'unavailable') return false;
    if (event === undefined) return true;
    if ('about' in event) return followPayment(event);
    const elicitationId = parseElicitationId(event.elicitationId);
    const elicitation = elicitationId === undefined ? undefined : await p.service.find(elicitationId);
    if (elicitation === undefined || !isCharging(elicitation))
      return reportUnexpectedPayment(processor, event, elicitation);
    const checked = await p.paymentFlow.check(elicitation);
    if (checked.state === 'unavailable') return false;
    const [reference, current] =
      checked.state === 'settled' ? [checked.settledBy, checked.elicitation] : [checked.charge.reference, elicitation];
    return reference === event.reference || reportUnexpectedPayment(processor, event, current);
  }

  /** Commits what the processor now reports. Other payments, for example of another gateway, are ignored. */
  async function followPayment({ elicitationId: named, processorReference, about }: PaymentEvent): Promise<boolean> {
    const elicitationId = parseElicitationId(named);
    if (elicitationId === undefined) return true;
    const payment = await p.refundFlow.find(elicitationId, processorReference);
    return payment === undefined || (await p.refundFlow.sync(payment, about)) !== undefined;
  }

  /** @throws ProcessorError `signature_invalid` */
  async function eventOf(processor: PaymentProcessor, webhook: Parameters<PaymentProcessor['webhook']>[0]) {
    try {
      return await processor.webhook(webhook);
    } catch (error) {
      if (!(error instanceof ProcessorError) || error.code !== 'unavailable') throw error;
      p.auditLog.record('payment.processor_unavailable', {
        processor: processor.name,
        code: error.code,
        ...error.details,
      });
      return 'unavailable';
    }
  }

  /** Reports a paid charge that completes no elicitation, once: its elicitation has ended, is unknown, or has another charge. */
  async function reportUnexpectedPayment(
    processor: PaymentProcessor,
    event: ChargeEvent,
    elicitation: Elicitation | undefined,
  ): Promise<boolean> {
    // The charge may belong to another gateway on the same account.
    if (elicitation === undefined && !event.namesGateway) return true;
    let status: ChargeStatus;
    try {
      status = await processor.status(event.reference);
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      p.auditLog.record('payment.processor_unavailable', {
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
    const note = elicitationId && (await p.stores.payments.read(elicitationId, processorReference));
    if (note !== undefined) return true;
    const about = { elicitationId, elicitation, processor: processor.name, status, named: event.elicitationId };
    const reason = elicitation?.status ?? 'unknown_elicitation';
    await p.refundFlow.unexpected({ ...about, reason, isOwn: event.namesGateway });
    return true;
  }

  return handleWebhook;
}

export const MAX_WEBHOOK_BYTES = 256 * 1024;

interface ByProcessor {
  Params: { processor: string };
}

export interface ProcessorWebhookDeps extends WebhookHandlerDeps {
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
  readonly auditLog: AuditLog;
  readonly telemetry: Pick<Telemetry, 'traceRequests'> | undefined;
}

/** Receives webhooks of payment processors. Keeps the body as bytes, because the signature covers the bytes. */
export const processorWebhookRoutes: FastifyPluginAsync<{ deps: ProcessorWebhookDeps }> = async (app, { deps }) => {
  const handleWebhook = createWebhookHandler(deps);
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
      const isHandled = await handleWebhook(processor, { body: request.body, headers }, () =>
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
