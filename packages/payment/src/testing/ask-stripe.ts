/** `ask-stripe.ts apiUrl times`: requests the status of a charge that many times, and prints each result. */
import { processorConfigSchema } from '../processor-config.ts';
import { createStripeProcessor } from '../stripe-processor.ts';

const [apiUrl, times] = process.argv.slice(2);
const processor = createStripeProcessor(
  processorConfigSchema.parse({
    type: 'stripe',
    name: 'stripe',
    secretKey: 'sk_test_x',
    webhookSecrets: ['whsec_x'],
    apiUrl,
  }),
  { gateway: 'gateway.example', now: Date.now, timeoutMs: 20_000 },
);
for (let n = 0; n < Number(times); n += 1) {
  const result = await processor.status('cs_test_1').catch((error: { code?: unknown }) => error.code);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
