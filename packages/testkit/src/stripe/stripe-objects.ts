/** The members of Stripe's API objects that Checkout in mode `payment` needs, with Stripe's names and shapes. */
export interface StripeSession {
  readonly id: string;
  readonly object: 'checkout.session';
  readonly mode: 'payment';
  status: 'open' | 'complete' | 'expired';
  payment_status: 'paid' | 'unpaid';
  url: string | null;
  readonly amount_subtotal: number;
  amount_total: number;
  currency: string;
  readonly client_reference_id: string | null;
  readonly created: number;
  readonly expires_at: number;
  readonly livemode: boolean;
  readonly locale: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  payment_intent: string | null;
  readonly payment_method_types: readonly string[];
  readonly success_url: string;
  readonly cancel_url: string | null;
  readonly submit_type: string | null;
  readonly ui_mode: 'hosted_page';
}

export interface StripePaymentIntent {
  readonly id: string;
  readonly object: 'payment_intent';
  status: 'requires_payment_method' | 'requires_action' | 'processing' | 'succeeded' | 'canceled';
  readonly amount: number;
  amount_received: number;
  readonly currency: string;
  readonly created: number;
  readonly description: string | null;
  last_payment_error: { readonly type: 'card_error'; readonly code: string; readonly decline_code: string } | null;
  readonly livemode: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  /** Of a destination charge. */
  readonly transfer_data: { readonly destination: string } | null;
}

export interface StripeRefund {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly currency: string;
  readonly created: number;
  readonly payment_intent: string;
  status: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';
  failure_reason: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface StripeDispute {
  readonly id: string;
  readonly object: 'dispute';
  readonly amount: number;
  readonly currency: string;
  readonly created: number;
  readonly payment_intent: string;
  status: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly payment_method_details: {
    readonly type: 'card';
    readonly card: { readonly brand: string; readonly case_type: string };
  };
}

export type StripeEventType =
  | 'checkout.session.completed'
  | 'checkout.session.async_payment_succeeded'
  | 'checkout.session.async_payment_failed'
  | 'checkout.session.expired'
  | (string & {});

export interface StripeEvent {
  readonly id: string;
  readonly object: 'event';
  readonly api_version: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly pending_webhooks: number;
  readonly type: StripeEventType;
  /** The object at the time of the event. */
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}
