import type { PaymentProcessor, ProcessorOptions } from './processor.ts';
import type { ProcessorConfig } from './processor-config.ts';
import { createStripeProcessor } from './stripe-processor.ts';

export function createProcessor(config: ProcessorConfig, options: ProcessorOptions): PaymentProcessor {
  switch (config.type) {
    case 'stripe':
      return createStripeProcessor(config, options);
  }
}
