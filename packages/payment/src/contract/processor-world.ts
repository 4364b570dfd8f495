import type { Amount, Charge } from '@postern/elicitation';
import type { OpenCharge, PaymentProcessor } from '../processor.ts';

export type ProcessorVerb = 'open' | 'status' | 'close';

export interface WebhookDelivery {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A processor or a fake one, with users, a network and webhooks under the control of a test. */
export interface ProcessorWorld extends AsyncDisposable {
  readonly processor: PaymentProcessor;
  /** The same account in the configuration of another gateway. */
  readonly otherGateway: PaymentProcessor;
  /** The same processor on another replica. */
  readonly replica: PaymentProcessor;
  /** Valid amounts, one each in a currency with no, two and three decimals (ISO 4217). */
  readonly amounts: readonly Amount[];
  /** An amount that the processor cannot take exactly. */
  readonly impossible: Amount;
  /** Pays the charge. @returns whether the processor took the payment */
  pay(charge: Charge): Promise<boolean>;
  /** Pays with a method that settles later. */
  payLater(charge: Charge): Promise<void>;
  settleLater(charge: Charge, result: 'succeeded' | 'failed'): Promise<void>;
  /** Expires the charge at the processor. */
  runOut(charge: Charge): Promise<void>;
  /** Loses the next request of the method before its effect, or its response after the effect. */
  loseAnswer(verb: ProcessorVerb, when: 'before' | 'after'): void;
  /** Makes the processor answer the next request of the method with a rate limit, an own failure, or a refusal. */
  answerWith(verb: ProcessorVerb, answer: 'too_many' | 'failure' | 'refusal'): void;
  /** Holds the next request of the method until it is released. */
  hold(verb: ProcessorVerb): { readonly reached: Promise<void>; release(): void };
  /** Number of charges under the key that are payable or paid. */
  chargesUnder(key: string): number;
  /** Amounts of all payments for the elicitation. */
  paymentsOf(elicitationId: string): readonly Amount[];
  /**
   * A webhook about the newest event of the charge.
   * @param p.signedBy `current` and `previous` are both configured, as during rotation
   * @param p.ageSeconds age of the signature; default 0
   */
  webhook(
    charge: Charge,
    p?: { signedBy?: 'current' | 'previous' | 'both' | 'stranger'; ageSeconds?: number },
  ): WebhookDelivery;
  /** A correctly signed webhook about an unrelated event. */
  foreignWebhook(): WebhookDelivery;
}

export type MakeProcessorWorld = () => Promise<ProcessorWorld>;

let asks = 0;

/** Returns another charge on every call. */
export function chargeOf(amount: Amount, more: Partial<OpenCharge> = {}): OpenCharge {
  asks += 1;
  return {
    key: `contract-key-${asks}`,
    terms: { payee: { name: 'Corner Shop' }, amount, reference: `Order ${asks}` },
    digest: `digest-${asks}`,
    elicitationId: `el_contract${asks}`,
    mcpServerId: 'shop',
    mcpServerName: 'Corner Shop',
    returnUrl: 'https://gateway.example/e/el_contract/charge',
    cancelUrl: 'https://gateway.example/e/el_contract/charge?back=1',
    ...more,
  };
}
