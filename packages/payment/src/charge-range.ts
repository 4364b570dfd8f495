import type { ChargeRange } from './processor.ts';
import type { ProcessorConfig } from './processor-config.ts';
import { stripeRangeOf } from './stripe-limits.ts';

/**
 * Returns the amounts that a configured processor takes in a currency, or undefined if it takes none. Loads no library of a processor:
 * the configuration is checked with it.
 */
export function chargeRangeOf(config: ProcessorConfig, currency: string): ChargeRange | undefined {
  switch (config.type) {
    case 'stripe':
      return stripeRangeOf(currency, config.paymentMethodTypes);
  }
}
