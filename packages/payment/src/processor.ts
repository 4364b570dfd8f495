import type { Amount, Charge, Clock, PaymentMode, PaymentTerms } from '@postern/elicitation';

export interface OpenCharge {
  /** @see chargeKeyOf */
  readonly key: string;
  readonly terms: PaymentTerms;
  /** Of the terms, as approved. */
  readonly digest: string;
  readonly elicitationId: string;
  readonly mcpServerId: string;
  /** As people know it. A processor that shows it must live with its changing between two asks under one key. */
  readonly mcpServerName: string;
  /** Where the browser goes once it is paid. */
  readonly returnUrl: string;
  /** Where the browser goes when the person turns back. */
  readonly cancelUrl: string;
  /** BCP 47. A wish of the browser at hand, which may be another one at the next ask under the same key. */
  readonly locale?: string;
}

/** What the processor says about a charge. `closed`: it was not paid and never will be. */
export type ChargeStatus =
  /** `processing`: the person has done their part and the money is on its way, or not. */
  | { readonly state: 'open' | 'processing' }
  | {
      readonly state: 'paid';
      /** The processor's own name for the payment. */
      readonly processorReference: string;
      /** What was paid, which the caller compares with what was approved. */
      readonly amount: Amount;
      /** From the processor's answer, never from the configuration. */
      readonly mode: PaymentMode;
    }
  | { readonly state: 'closed' };

/** Whether a processor can take a payment at all. */
export type TermsAnswer =
  | { readonly result: 'possible' }
  | {
      readonly result: 'impossible';
      readonly reason:
        | 'currency_not_supported'
        | 'amount_too_small'
        | 'amount_too_large'
        /** Between two amounts that the processor can write. */
        | 'amount_not_exact'
        | 'quantity_too_large';
      /** Path of the member at fault within the terms, such as `items.2.quantity`. */
      readonly member: string;
      /** For the caller: the limit in minor units. Never quotes the terms. */
      readonly message: string;
    };

/** Smallest and largest amount of one charge, in ISO 4217 minor units. */
export interface ChargeRange {
  readonly min: number;
  readonly max: number;
}

/** Names the charge that a webhook is about. What has become of it is asked with {@link PaymentProcessor.status}. */
export interface ChargeEvent {
  readonly reference: string;
  readonly elicitationId: string;
  /** False for a charge that names no gateway, as releases before made them: whose it is only the elicitation tells. */
  readonly namesGateway: boolean;
}

/**
 * Takes money. Every verb may be called by any replica at any time, also again after its answer was lost.
 *
 * What keeps a payment single: a charge can be paid only by whoever has been given its URL, and the caller gives none away before
 * it has stored the charge. A charge whose answer was lost has never been seen by anybody.
 */
export interface PaymentProcessor {
  /** As configured. */
  readonly name: string;
  readonly displayName: string;
  /** Where the person pays, for the page that leads there: a host, with its port if that is not the usual one. */
  readonly destinationHost: string;
  /** As configured: what pages say before the processor has answered. Receipts and outcomes say what it answered. */
  readonly expectedMode: PaymentMode;
  /**
   * Decides at issue, by published limits and without a request, so that people are not asked to approve an impossible payment. `possible` is
   * no promise: the processor has the last word in `open`.
   */
  canTake(terms: Pick<PaymentTerms, 'amount' | 'items'>): TermsAnswer;
  /**
   * The same key: the same charge. Everything else that is handed in must be the same too, but for name and locale.
   * @throws ProcessorError `refused`: nothing that anybody could pay exists or will exist under this key · `unavailable`: it is
   * not known whether there is a charge; ask again with the same key
   */
  open(charge: OpenCharge): Promise<Charge>;
  /**
   * The truth about a charge.
   * @throws ProcessorError `unavailable`
   */
  status(reference: string): Promise<ChargeStatus>;
  /**
   * Makes sure that it cannot be paid any more, or learns that it was or still may be.
   * @throws ProcessorError `unavailable`: not known; ask again
   */
  close(reference: string): Promise<ChargeStatus>;
  /**
   * Which charge a webhook is about; undefined when about none of ours, such as a charge of another gateway on the same account. The signature is checked over the bytes as they came.
   * @param webhook header names in lower case
   * @throws ProcessorError `signature_invalid`
   */
  webhook(webhook: {
    readonly body: Uint8Array;
    readonly headers: Readonly<Record<string, string | undefined>>;
  }): Promise<ChargeEvent | undefined>;
}

/** `fetch`, as much of it as a processor needs. */
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
  /** Name of this gateway, the same on all replicas and another one at every other gateway on the same account. */
  readonly gateway: string;
  /** Default: the global one, which then follows no redirect. */
  readonly fetch?: ProcessorFetch;
  readonly now: Clock;
  /** Longest time for one request to the processor, in milliseconds. */
  readonly timeoutMs: number;
}

export type ProcessorErrorCode = 'refused' | 'unavailable' | 'signature_invalid';

export interface ProcessorErrorDetails {
  readonly processorCode?: string;
  readonly processorStatus?: number;
  readonly processorRequestId?: string;
}

const messages: Record<ProcessorErrorCode, string> = {
  refused: 'The payment processor refuses this payment',
  unavailable: 'The payment processor could not be asked',
  signature_invalid: 'The webhook is not signed by the payment processor, or not recently',
};

/**
 * The only error of a processor. Its text is fixed per code and it has no `cause`: the errors of the libraries below quote keys
 * and what people typed.
 */
export class ProcessorError extends Error {
  override readonly name = 'ProcessorError';
  readonly code: ProcessorErrorCode;
  /** Error code of the processor, for operators. */
  readonly processorCode?: string;
  /** HTTP status that the processor answered with. */
  readonly processorStatus?: number;
  /** Name that the processor gave the request, for a question to its support. */
  readonly processorRequestId?: string;

  constructor(code: ProcessorErrorCode, details: ProcessorErrorDetails = {}) {
    super(messages[code]);
    this.code = code;
    if (details.processorCode !== undefined) this.processorCode = details.processorCode;
    if (details.processorStatus !== undefined) this.processorStatus = details.processorStatus;
    if (details.processorRequestId !== undefined) this.processorRequestId = details.processorRequestId;
  }

  /** Short names only, fit for a log. */
  get details(): ProcessorErrorDetails {
    return {
      ...(this.processorCode !== undefined && { processorCode: this.processorCode }),
      ...(this.processorStatus !== undefined && { processorStatus: this.processorStatus }),
      ...(this.processorRequestId !== undefined && { processorRequestId: this.processorRequestId }),
    };
  }
}
