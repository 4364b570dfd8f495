import type { RedeemedElicitationBody, RedeemRequest } from '@postern/api';
import {
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationId,
  type ElicitationService,
  type ElicitationStore,
  type Entropy,
  isPaidBack,
  NotFoundError,
  newOperationId,
  type PaymentStore,
  refundableOf,
} from '@postern/elicitation';
import type { Receipts } from '@postern/payment';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import { mayAsk, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { resultContext } from '../sealing/seal-contexts.ts';
import { sealFor } from '../sealing/sealed-delivery.ts';

const valuesSchema = z.record(z.string(), z.string());
const contentSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]));

export interface RedemptionFlowDeps {
  readonly service: Pick<ElicitationService, 'read' | 'redeem'>;
  readonly vault: Vault;
  readonly receipts: Receipts;
  readonly stores: {
    readonly payments: Pick<PaymentStore, 'list'>;
    readonly elicitations: Pick<ElicitationStore, 'redeem'>;
  };
  readonly entropy: Entropy;
}

/** Gives the result of a completed elicitation to its MCP server, once. */
export class RedemptionFlow {
  readonly #deps: RedemptionFlowDeps;

  constructor(deps: RedemptionFlowDeps) {
    this.#deps = deps;
  }

  /**
   * @param idempotencyKey a retry with the same key gets the same result. Without a key a retry is refused.
   * @throws NotFoundError, DomainError `not_redeemable`, `already_redeemed`, ProblemError `encryption_key_not_registered`,
   * `payment_in_progress`: all of it is being paid back, `payment_refunded`: also for a repeat, whose MCP server might deliver for it
   */
  async redeem(
    caller: RegisteredMcpServer,
    elicitationId: ElicitationId,
    request: RedeemRequest,
    idempotencyKey: string | undefined,
  ): Promise<RedeemedElicitationBody> {
    const { service, vault, receipts, stores, entropy } = this.#deps;
    const { encryption } = caller.config;
    // Checked before redeeming: a refusal must not consume the result.
    if (request.sealed === true && encryption === undefined) throw new ProblemError('encryption_key_not_registered');
    const redemption = digestOf(
      JSON.stringify(['redeem', caller.mcpServerId, idempotencyKey ?? newOperationId(entropy)]),
    );
    assertMayRedeem(caller, await service.read(caller, elicitationId));
    const payments = await stores.payments.list(elicitationId);
    if (payments.length > 0 && payments.every(payment => refundableOf(payment) === 0)) {
      // Nothing is consumed before the money is back: a refund can still fail.
      if (!payments.every(isPaidBack)) throw new ProblemError('payment_in_progress');
      // Otherwise the same ask would get this answer again, instead of a new page for its user.
      await stores.elicitations.redeem({ elicitationId, redemption: digestOf('payment_refunded') });
      throw new ProblemError('payment_refunded');
    }
    const { elicitation, sealed } = await service.redeem(caller, elicitationId, redemption);
    const redeemedAt = new Date(elicitation.redeemedAt ?? elicitation.endedAt).toISOString();
    const { kind } = elicitation.request;
    switch (kind) {
      case 'payment':
      case 'confirmation': {
        const receipt = await receipts.sign({ mcpServerId: caller.mcpServerId, elicitation });
        return { elicitationId, redeemedAt, kind, receipt };
      }
      case 'credential':
      case 'form': {
        if (sealed === undefined) throw new DomainError('not_redeemable', 'There is no result to redeem.');
        const json = await vault.open(sealed, resultContext(elicitation));
        const { mcpServerId } = caller;
        const sealedResult =
          encryption !== undefined && (request.sealed === true || encryption.required)
            ? { sealedResult: await sealFor(encryption.key, json, { type: 'result', mcpServerId, elicitationId }) }
            : undefined;
        return kind === 'credential'
          ? { elicitationId, redeemedAt, kind, ...(sealedResult ?? { values: valuesSchema.parse(JSON.parse(json)) }) }
          : {
              elicitationId,
              redeemedAt,
              kind,
              ...(sealedResult ?? { content: contentSchema.parse(JSON.parse(json)) }),
            };
      }
      case 'authorization':
        throw new DomainError('not_redeemable', 'There is no result to redeem.');
    }
  }
}

/**
 * Requires that the MCP server may still request the typed values, as for lasting credentials. A receipt needs no such permission: it
 * records what has happened, and a payment may have been made.
 * @throws NotFoundError
 */
function assertMayRedeem(caller: RegisteredMcpServer, { request, subject }: Elicitation): void {
  const isTyped = request.kind === 'credential' || request.kind === 'form';
  if (isTyped && (!mayAsk(caller, request) || !caller.issuers.includes(subject.issuer))) throw new NotFoundError();
}
