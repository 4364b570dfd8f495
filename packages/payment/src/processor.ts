import { hash } from 'node:crypto';
import type { Amount, Charge, Clock, Dispute, PaymentMode, PaymentTerms, ReportedRefund } from '@postern/elicitation';

/**
 * Idempotency key of a charge. All replicas use the same key for an approved payment, however often they repeat a request. Another attempt
 * at the same elicitation has another key.
 */
export function chargeKeyOf(elicitationId: string, attempt: string): string {
  return `postern-charge-${hash('sha256', JSON.stringify(['charge', elicitationId, attempt]), 'base64url')}`;
}

export interface OpenCharge {
  /** @see chargeKeyOf */
  readonly key: string;
  readonly terms: PaymentTerms;
  /** Digest of the approved terms. */
  readonly digest: string;
  readonly elicitationId: string;
  readonly mcpServerId: string;
  /** Display name. It may change between two requests with the same key. */
  readonly mcpServerName: string;
  /** The payee's account at the processor, which gets the money. Default: the account of the configured key. */
  readonly payeeAccount?: string;
  /** Language in which the user approved (BCP 47), for the labels of items. */
  readonly language?: string;
  /** Where the browser goes after the payment. */
  readonly returnUrl: string;
  /** Where the browser goes if the user cancels. */
  readonly cancelUrl: string;
  /** BCP 47. Preferred by the browser, so it may change between two requests with the same key. */
  readonly locale?: string;
}

/** Status of a charge at the processor. `closed`: it was not paid and can no longer be paid. */
export type ChargeStatus =
  /** `refusal`: the processor's response to a request to close the charge. It may be taking the payment. */
  | { readonly state: 'open'; readonly refusal?: ProcessorErrorDetails }
  /** The user has paid, but the payment is not settled and may still fail. */
  | { readonly state: 'processing' }
  | {
      readonly state: 'paid';
      /** The processor's id of the payment. */
      readonly processorReference: string;
      /** The paid amount. The caller compares it with the approved one. */
      readonly amount: Amount;
      /** From the processor's response, never from the configuration. */
      readonly mode: PaymentMode;
    }
  | { readonly state: 'closed' };

/** Whether a processor can take a payment. */
export type TermsCheck =
  | { readonly result: 'possible' }
  | {
      readonly result: 'impossible';
      readonly reason:
        | 'currency_not_supported'
        | 'amount_too_small'
        | 'amount_too_large'
        /** The processor cannot represent the amount exactly. */
        | 'amount_not_exact'
        | 'quantity_too_large';
      /** Path of the invalid member within the terms, such as `items.2.quantity`. */
      readonly member: string;
      /** Names the limit in minor units. Never quotes the terms. */
      readonly message: string;
    };

/** Smallest and largest amount of one charge, in ISO 4217 minor units. */
export interface ChargeRange {
  readonly min: number;
  readonly max: number;
}

interface EventOwner {
  readonly elicitationId: string;
  /** False if the charge names no gateway. Only the elicitation id then shows whether it belongs to this gateway. */
  readonly namesGateway: boolean;
}

/** The charge that a webhook is about. {@link PaymentProcessor.status} returns its status. */
export interface ChargeEvent extends EventOwner {
  readonly reference: string;
}

/** The paid payment that a webhook is about: its refunds or its disputes have changed. */
export interface PaymentEvent extends EventOwner {
  readonly about: 'refunds' | 'disputes';
  /** As in {@link ChargeStatus}. */
  readonly processorReference: string;
}

/** A refund to be made. All members of a refund with the same id are equal. */
export interface RefundOrder {
  readonly refundId: string;
  /** The processor's reference of the payment. */
  readonly processorReference: string;
  readonly amount: Amount;
  readonly elicitationId: string;
  readonly mcpServerId: string;
  /** As when the payment was taken: the account that pays the refund. */
  readonly payeeAccount?: string;
}

/** The owner of a payment, in the metadata at the processor. */
export interface PaymentOwner {
  readonly elicitationId?: string;
  readonly gateway?: string;
}

/**
 * Takes payments. Any replica may call any method at any time, and repeat a call after a lost response.
 *
 * A user cannot pay twice: paying needs the URL of the charge, and the caller records the charge before it shows the URL. A charge whose
 * response was lost has a URL that no user has seen.
 */
export interface PaymentProcessor {
  /** As configured. */
  readonly name: string;
  readonly displayName: string;
  /** Host of the page where the user pays, with a port unless it is the default one. */
  readonly destinationHost: string;
  /** Mode according to the configuration, for pages before the first response. Receipts and outcomes have the mode of the response. */
  readonly expectedMode: PaymentMode;
  /**
   * Checks terms against the processor's published limits, without a request. The gateway calls it at issue, so that users are not asked to
   * approve an impossible payment. `open` may still refuse terms that are `possible` here.
   */
  canTake(terms: Pick<PaymentTerms, 'amount' | 'items'>): TermsCheck;
  /**
   * Opens a charge. The same key always returns the same charge. All other parameters of that key must be equal, except `mcpServerName`
   * and `locale`.
   * @throws ProcessorError `refused`: no payable charge exists or will exist under this key · `unavailable`: it is unknown whether a charge
   * exists; retry with the same key
   */
  open(charge: OpenCharge): Promise<Charge>;
  /**
   * Returns the current status of a charge.
   * @throws ProcessorError `unavailable`
   */
  status(reference: string): Promise<ChargeStatus>;
  /**
   * Closes a charge so that it can no longer be paid, and returns its status. The status is `paid` if it was paid before, and `open` if the
   * processor refuses to close it, for example while it takes the payment.
   * @throws ProcessorError `unavailable`: the status is unknown; retry
   */
  close(reference: string): Promise<ChargeStatus>;
  /** Whether the processor can pay back exactly this amount. Sends no request. */
  canRefund(amount: Amount): boolean;
  /**
   * Pays back a part of a payment, or all of it. The same refund is made once, however often it is ordered.
   * @throws ProcessorError `refused`: the refund is not made, and will not be · `unavailable`: it is unknown whether the refund exists;
   * order it again
   */
  refund(order: RefundOrder): Promise<ReportedRefund>;
  /**
   * Returns all refunds of a payment, also those that this gateway has not made.
   * @param currency of the payment
   * @throws ProcessorError `unavailable`, also if a refund is in another currency
   */
  refunds(processorReference: string, currency: string): Promise<readonly ReportedRefund[]>;
  /** @throws ProcessorError `unavailable` */
  disputes(processorReference: string): Promise<readonly Dispute[]>;
  /**
   * Verifies the signature over the received bytes, and returns the charge or the payment that the webhook is about. Undefined for events
   * that do not concern this gateway, such as a charge of another gateway on the same account. Asks the processor for the owner of a
   * payment that the event does not name.
   * @param webhook header names in lower case
   * @throws ProcessorError `signature_invalid`, `unavailable`
   */
  webhook(webhook: {
    readonly body: Uint8Array;
    readonly headers: Readonly<Record<string, string | undefined>>;
  }): Promise<ChargeEvent | PaymentEvent | undefined>;
}

/** What a payment processor shows about its key. Permissions are those that the configuration needs. */
export interface ProcessorInspection {
  readonly mode: PaymentMode;
  readonly key: 'accepted' | 'refused';
  /** Permissions that the key lacks, in the processor's words. */
  readonly missingPermissions: readonly string[];
  /** `hidden`: the key may not list webhook endpoints, which the gateway does not need. */
  readonly webhook: 'enabled' | 'disabled' | 'missing' | 'hidden';
  /** Event types that the webhook endpoint does not receive. */
  readonly missingEvents: readonly string[];
}

/** The part of `fetch` that a processor uses. */
export type ProcessorFetch = (
  url: string | URL,
  init?: {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly signal?: AbortSignal;
  },
) => Promise<Response>;

export interface ProcessorOptions {
  /** Name of this gateway: equal on all replicas, and unique among the gateways on the same account. */
  readonly gateway: string;
  /** Default: the global `fetch`, without following redirects. */
  readonly fetch?: ProcessorFetch;
  readonly now: Clock;
  /** Timeout of one request to the processor, in milliseconds. */
  readonly timeoutMs: number;
}

export type ProcessorErrorCode = 'refused' | 'unavailable' | 'signature_invalid';

export interface ProcessorErrorDetails {
  readonly processorCode?: string;
  readonly processorStatus?: number;
  readonly processorRequestId?: string;
}

const messages: Record<ProcessorErrorCode, string> = {
  refused: 'The payment processor refused this payment',
  unavailable: 'The payment processor did not give a usable response',
  signature_invalid: 'The webhook has no recent, valid signature of the payment processor',
};

/**
 * The only error that processors throw. The message is fixed per code, and there is no `cause`, because the errors of the libraries quote
 * keys and user input.
 */
export class ProcessorError extends Error {
  override readonly name = 'ProcessorError';
  readonly code: ProcessorErrorCode;
  /** Error code of the processor, for operators. */
  readonly processorCode?: string;
  /** HTTP status of the processor's response. */
  readonly processorStatus?: number;
  /** The processor's request id, for its support. */
  readonly processorRequestId?: string;

  constructor(code: ProcessorErrorCode, details: ProcessorErrorDetails = {}) {
    super(messages[code]);
    this.code = code;
    if (details.processorCode !== undefined) this.processorCode = details.processorCode;
    if (details.processorStatus !== undefined) this.processorStatus = details.processorStatus;
    if (details.processorRequestId !== undefined) this.processorRequestId = details.processorRequestId;
  }

  /** Short identifiers, safe to log. */
  get details(): ProcessorErrorDetails {
    const { processorCode, processorStatus, processorRequestId } = this;
    return { processorCode, processorStatus, processorRequestId };
  }
}
