import type { PaymentProcessor, ProcessorOptions } from './processor.ts';
import type { ProcessorConfig } from './processor-config.ts';

/** Creates a payment processor. Loads the large library of a processor only if it is configured. */
export async function createProcessor(config: ProcessorConfig, options: ProcessorOptions): Promise<PaymentProcessor> {
  switch (config.type) {
    case 'stripe':
      return (await import('./stripe-processor.ts')).createStripeProcessor(config, options);
  }
}
