import { z } from 'zod';
import type { ChargeRange } from './processor.ts';
import { stripeRangeOf } from './stripe-amounts.ts';

/** Only loopback: any other host would receive the secret key. */
function isLoopbackUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
}

const stripeConfigSchema = z.strictObject({
  type: z.literal('stripe'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: 'lower-case letters, digits and hyphens' })
    .refine(name => name !== 'none', { error: '`none` means that no processor takes the money' })
    .meta({ not: { const: 'none' } })
    .describe('Part of the webhook address; MCP servers name it in their requests.'),
  displayName: z.string().min(1).max(40).default('Stripe').describe('Shown to people.'),
  secretKey: z
    .string()
    .regex(/^(sk|rk)_(test|live)_[A-Za-z0-9]+$/, { error: 'a secret or restricted key of Stripe' })
    .describe(
      'A restricted key needs to write Checkout Sessions and, for methods that settle later, to read PaymentIntents.',
    ),
  testMode: z
    .boolean()
    .default(false)
    .describe('The key is a test key, and no payment moves money. Needed for a test key on a public https gateway.'),
  webhookSecrets: z
    .array(z.string().regex(/^whsec_[A-Za-z0-9+/=]+$/, { error: 'the signing secret of a webhook endpoint' }))
    .min(1)
    .max(4)
    .describe('The signing secret of the webhook endpoint; during rotation the new one and the old one.'),
  gateway: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9.:_-]{0,99}$/, { error: '1 to 100 letters, digits, ".", ":", "_" and "-"' })
    .optional()
    .describe(
      'Name of this gateway in what it creates at the processor; events of other names are ignored. Must differ between gateways ' +
        'that share an account. Default: the host of publicUrl.',
    ),
  apiUrl: z
    .url()
    .refine(isLoopbackUrl, { error: 'must be a loopback address' })
    .meta({
      pattern: String.raw`^https?:\/\/(?:[^\s\/?#]*@)?(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?(?:[\/?#].*)?$`,
    })
    .transform(value => new URL(value).origin)
    .optional()
    .describe('For tests: an imitation of the API on this machine.'),
  checkoutHost: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]*(:\d+)?$/, { error: 'a host name' })
    .optional()
    .describe('Where the person pays: the custom domain of the account, if it has one. Default: checkout.stripe.com.'),
  paymentMethodTypes: z
    .array(z.string().regex(/^[a-z0-9_]{1,40}$/, { error: 'a type of payment method' }))
    .min(1)
    .max(20)
    .default(['card'])
    .describe('What people may pay with. Types that are settled days later keep an elicitation active until then.'),
});

export const processorConfigSchema = z
  .discriminatedUnion('type', [stripeConfigSchema])
  .refine(config => config.apiUrl === undefined || !config.secretKey.includes('_live_'), {
    path: ['apiUrl'],
    error: 'a live key is for Stripe alone',
  });

/** The payee's own account at a processor: for Stripe, a connected account of Stripe Connect. */
export const payeeAccountSchema = z
  .string()
  .regex(/^acct_[A-Za-z0-9]{1,64}$/, { error: 'the id of a connected account of Stripe (acct_…)' });

export type ProcessorConfig = z.output<typeof processorConfigSchema>;
export type StripeConfig = Extract<ProcessorConfig, { type: 'stripe' }>;

/**
 * Returns the amounts that a configured processor takes in a currency, or undefined if it takes none. Loads no processor library, because
 * checking the configuration needs it.
 */
export function chargeRangeOf(config: ProcessorConfig, currency: string): ChargeRange | undefined {
  switch (config.type) {
    case 'stripe':
      return stripeRangeOf(currency, config.paymentMethodTypes);
  }
}
