export type { PayOptions, StripeCharge } from './checkout-sessions.ts';
export {
  type FakeStripe,
  type FakeStripeOptions,
  type Hold,
  startFakeStripe,
} from './fake-stripe.ts';
export type { StripeApiRequest } from './stripe-api.ts';
export type { StripeFault, StripeRequestKind } from './stripe-faults.ts';
export type { StripeEvent, StripeEventType, StripePaymentIntent, StripeSession } from './stripe-objects.ts';
export type { SignedWebhook } from './stripe-signature.ts';
