import { plainName } from '@postern/api';
import { decimalsOf, payeeAccountSchema, receiptJwkSchema } from '@postern/payment';
import { z } from 'zod';
import { slug, webUrl } from './config-values.ts';

const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, { error: 'must be an ISO 4217 code' })
  .refine(code => decimalsOf(code) !== undefined, { error: 'is not a currency of ISO 4217' });
const minorUnits = z.int().max(999_999_999_999);

/** Spelled as an API call spells it, because the two are compared. */
const payeeName = plainName(80);

const noAccounts: Readonly<Record<string, string>> = {};

const payeeSchema = z.strictObject({
  name: payeeName.describe('As users see it, and as the MCP server names it in its requests.'),
  accounts: z
    .record(slug, payeeAccountSchema)
    .default({})
    .describe(
      'By processor: the connected account of the payee (Stripe Connect), which gets the money of its payments. Default: the account of the processor’s key.',
    ),
});

/** What a user must prove to approve a payment, and how much an MCP server may charge. */
export const paymentPolicySchema = z.strictObject({
  processors: z
    .array(slug)
    .min(1)
    .default(['none'])
    .describe(
      'Names of configured processors, the default first. `none`: the gateway collects the approval only; the MCP server charges.',
    ),
  maxAmount: z
    .record(currency, minorUnits.min(1))
    .refine(limits => Object.keys(limits).length > 0, { error: 'needs at least one currency' })
    .meta({ minProperties: 1 })
    .describe('Maximum amount of one payment, by currency, in minor units. The gateway refuses other currencies.'),
  passkeyAbove: z
    .record(currency, minorUnits.min(0))
    .default({})
    .describe('By currency, in minor units: larger payments require a passkey. Payments in other currencies never do.'),
  perPersonAndDay: z
    .record(
      currency,
      z
        .strictObject({
          passkeyAbove: minorUnits
            .min(0)
            .optional()
            .describe('An approval that brings the total above this amount requires a passkey.'),
          max: minorUnits
            .min(1)
            .optional()
            .describe('The gateway refuses an approval that would bring the total above this amount.'),
        })
        .refine(limits => limits.passkeyAbove !== undefined || limits.max !== undefined, {
          error: 'needs passkeyAbove or max',
        })
        .meta({ anyOf: [{ required: ['passkeyAbove'] }, { required: ['max'] }] }),
    )
    .default({})
    .describe(
      'By currency, in minor units: limits on the total that one user approves for this MCP server within 24 hours. Payments that were ' +
        'not made do not count. A refund does not lower the total. Default: no limit.',
    ),
  firstPasskeyUpTo: z
    .record(currency, minorUnits.min(1))
    .default({})
    .describe(
      "By currency, in minor units: maximum payment that a user's first passkey may approve in the 24 hours after it was added. " +
        'In other currencies it approves nothing during that time.',
    ),
  payees: z
    .array(z.union([payeeName.transform(name => ({ name, accounts: noAccounts })), payeeSchema]))
    .max(100)
    .default([])
    .describe(
      'Payees of this MCP server, each a name or an object with its accounts. A processor takes payments only for these. The gateway refuses confusable names from other MCP servers.',
    ),
  refundUnexpected: z
    .boolean()
    .default(false)
    .describe(
      'Pays back, once and in full, what a processor takes for an elicitation that the payment does not complete: after its end, or another amount. By default, the gateway only reports such a payment (`payment.refund_needed`).',
    ),
  freshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .default(300)
    .describe('Maximum age of the sign-in of a user who approves a payment, in seconds.'),
});

export const confirmationPolicySchema = z.strictObject({
  freshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .optional()
    .describe('Maximum age of the sign-in for destructive confirmations, in seconds. Default: no limit.'),
  everyFreshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .optional()
    .describe('Maximum age of the sign-in for every confirmation, destructive or not, in seconds. Default: no limit.'),
});

const fieldName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/, { error: 'must name a field of the credential' });

/** How the gateway checks that a typed credential works. */
export const credentialCheckSchema = z
  .strictObject({
    url: webUrl.describe('URL that the gateway calls with the credential. The page shows its host to the user.'),
    method: z.enum(['GET', 'HEAD', 'POST']).default('GET'),
    bearer: fieldName.optional().describe('Field to send as bearer token (RFC 6750).'),
    basic: z
      .strictObject({ username: fieldName, password: fieldName })
      .optional()
      .describe('Fields to send with HTTP Basic authentication (RFC 7617).'),
    header: z
      .strictObject({
        name: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'must be a header name' }),
        field: fieldName,
      })
      .optional()
      .describe('Field to send in a custom header, such as X-Api-Key.'),
    accepted: z
      .array(z.int().min(200).max(299))
      .min(1)
      .default([200, 201, 204])
      .describe('Statuses that mean that the credential works.'),
    rejected: z
      .array(z.int().min(400).max(499))
      .min(1)
      .default([401, 403])
      .describe(
        'Statuses that mean that the credential does not work. After any other status, the page asks the user to try again later.',
      ),
  })
  .refine(check => [check.bearer, check.basic, check.header].filter(way => way !== undefined).length === 1, {
    error: 'needs exactly one of bearer, basic and header',
  })
  .meta({ oneOf: ['bearer', 'basic', 'header'].map(way => ({ required: [way] })) });

const jwk = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      // The parser's own message could quote the key.
      context.addIssue({ code: 'custom', message: 'must be a JWK as JSON' });
      return z.NEVER;
    }
  })
  .pipe(receiptJwkSchema);

export const receiptsConfigSchema = z.strictObject({
  keys: z
    .array(z.strictObject({ kid: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/), key: jwk }))
    .min(1)
    .refine(keys => keys[0]?.key.d !== undefined, { error: 'the first key signs, so it must be a private key' })
    .optional()
    .describe(
      'Ed25519 keys, each a JWK in JSON. The first one signs. The gateway publishes all of them, so keep the public part of retired ' +
        'keys. Default: derived from the vault keys.',
    ),
});

export type CredentialCheckConfig = z.infer<typeof credentialCheckSchema>;
