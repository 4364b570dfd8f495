import type { PaymentProcessor, ProcessorOptions } from './processor.ts';
import type { ProcessorConfig } from './processor-config.ts';

/** Loads the library of a processor, which is large, only where that processor is configured. */
export async function createProcessor(config: ProcessorConfig, options: ProcessorOptions): Promise<PaymentProcessor> {
  switch (config.type) {
    case 'stripe':
      return (await import('./stripe-processor.ts')).createStripeProcessor(config, options);
  }
}
