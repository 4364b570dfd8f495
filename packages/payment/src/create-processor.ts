import type { Amount } from '@postern/elicitation';
import type { PaymentProcessor, ProcessorInspection, ProcessorOptions } from './processor.ts';
import type { ProcessorConfig } from './processor-config.ts';
import { toStripeAmount } from './stripe-amounts.ts';

/** Creates a payment processor. Loads the large library of a processor only if it is configured. */
export async function createProcessor(config: ProcessorConfig, options: ProcessorOptions): Promise<PaymentProcessor> {
  switch (config.type) {
    case 'stripe':
      return (await import('./stripe-processor.ts')).createStripeProcessor(config, options);
  }
}

/**
 * Checks the key of a payment processor and its webhook endpoint, without creating anything there.
 * @param webhookUrl where the processor must send its webhooks
 * @throws ProcessorError `unavailable`
 */
export async function inspectProcessor(
  config: ProcessorConfig,
  options: Pick<ProcessorOptions, 'fetch' | 'timeoutMs'> & { readonly webhookUrl: string },
): Promise<ProcessorInspection> {
  switch (config.type) {
    case 'stripe':
      return (await import('./inspect-stripe.ts')).inspectStripe(config, options);
  }
}

/** Whether a processor can pay back exactly this amount, as {@link PaymentProcessor.canRefund}. Needs neither its key nor its library. */
export function canRefundAt({ type }: Pick<ProcessorConfig, 'type'>, amount: Amount): boolean {
  switch (type) {
    case 'stripe':
      return toStripeAmount(amount) !== undefined;
  }
}
