import type { Amount, Charge } from '@postern/elicitation';
import type { OpenCharge, PaymentProcessor } from '../processor.ts';

export type ProcessorVerb = 'open' | 'status' | 'close';

export interface WebhookDelivery {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A processor, or an imitation of one, whose people, network and webhooks a test can move. */
export interface ProcessorWorld extends AsyncDisposable {
  readonly processor: PaymentProcessor;
  /** The same account, as configured at another gateway. */
  readonly otherGateway: PaymentProcessor;
  /** The same processor, as configured on another replica. */
  readonly replica: PaymentProcessor;
  /** Amounts that it takes: one each in a currency with no, two and three decimals (ISO 4217). */
  readonly amounts: readonly Amount[];
  /** An amount that it cannot take exactly. */
  readonly impossible: Amount;
  /** The person pays where the charge leads. @returns whether money was taken */
  pay(charge: Charge): Promise<boolean>;
  /** The person does their part; the money comes later, or not. */
  payLater(charge: Charge): Promise<void>;
  settleLater(charge: Charge, result: 'succeeded' | 'failed'): Promise<void>;
  /** The processor's own time for the charge is over. */
  runOut(charge: Charge): Promise<void>;
  /** The next request of the verb: lost before it has an effect, or only its answer is. */
  loseAnswer(verb: ProcessorVerb, when: 'before' | 'after'): void;
  /** The next request of the verb: too many, a failure of the processor's own, or refused for good. */
  answerWith(verb: ProcessorVerb, answer: 'too_many' | 'failure' | 'refusal'): void;
  /** The next request of the verb is under way until it is released. */
  hold(verb: ProcessorVerb): { readonly reached: Promise<void>; release(): void };
  /** How many charges exist that a person could pay or has paid, whoever knows of them. */
  chargesUnder(key: string): number;
  /** Every time money was taken for it. */
  paymentsOf(elicitationId: string): readonly Amount[];
  /**
   * A webhook about the newest event of the charge.
   * @param p.signedBy `current` and `previous` are both configured, as during rotation
   * @param p.ageSeconds since it was signed; default 0
   */
  webhook(
    charge: Charge,
    p?: { signedBy?: 'current' | 'previous' | 'both' | 'stranger'; ageSeconds?: number },
  ): WebhookDelivery;
  /** A correctly signed webhook about something that is none of ours. */
  foreignWebhook(): WebhookDelivery;
}

export type MakeProcessorWorld = () => Promise<ProcessorWorld>;

let asks = 0;

/** Another payment each time. */
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
