export {
  type FakeStripe,
  type FakeStripeOptions,
  startFakeStripe,
} from './fake-stripe.ts';
export type { StripeRequestKind } from './stripe-faults.ts';
