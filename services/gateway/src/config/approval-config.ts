import { decimalsOf, receiptJwkSchema } from '@postern/payment';
import { z } from 'zod';
import { slug, webUrl } from './config-values.ts';

const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, { error: 'must be an ISO 4217 code' })
  .refine(code => decimalsOf(code) !== undefined, { error: 'is not a currency of ISO 4217' });
const minorUnits = z.int().max(999_999_999_999);

/** What a person must have proved before a payment counts as approved, and how much an MCP server may ask for. */
export const paymentPolicySchema = z.strictObject({
  processors: z
    .array(slug)
    .min(1)
    .default(['none'])
    .describe(
      'Names of configured processors, the default one first. `none`: only the approval, the MCP server charges.',
    ),
  maxAmount: z
    .record(currency, minorUnits.min(1))
    .refine(limits => Object.keys(limits).length > 0, { error: 'needs at least one currency' })
    .meta({ minProperties: 1 })
    .describe('Greatest amount of one payment by currency, in minor units. Other currencies are refused.'),
  passkeyAbove: z
    .record(currency, minorUnits.min(0))
    .default({})
    .describe(
      'By currency, in minor units: greater amounts also need a passkey. In a currency that is not named, none does.',
    ),
  firstPasskeyUpTo: z
    .record(currency, minorUnits.min(1))
    .default({})
    .describe(
      "By currency, in minor units: a person's first passkey approves up to this amount at once, and more 24 hours after it was added. " +
        'In a currency that is not named, it approves nothing before.',
    ),
  payees: z
    .array(z.string().min(1).max(80))
    .max(100)
    .default([])
    .describe('Names under which it is paid. Other MCP servers are refused names that can be taken for one of them.'),
  freshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .default(300)
    .describe('A payment is approved only by somebody who signed in this recently.'),
});

export const confirmationPolicySchema = z.strictObject({
  freshSignInSeconds: z
    .int()
    .min(30)
    .max(86_400)
    .optional()
    .describe('Destructive confirmations are given only by somebody who signed in this recently. Default: no limit.'),
});

const fieldName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/, { error: 'must name a field of the credential' });

/** How the gateway finds out whether a typed credential works. */
export const credentialCheckSchema = z
  .strictObject({
    url: webUrl.describe('Asked with the credential. Its host is shown to people.'),
    method: z.enum(['GET', 'HEAD', 'POST']).default('GET'),
    bearer: fieldName.optional().describe('The field that is sent as bearer token (RFC 6750).'),
    basic: z
      .strictObject({ username: fieldName, password: fieldName })
      .optional()
      .describe('The fields that are sent with HTTP Basic (RFC 7617).'),
    header: z
      .strictObject({
        name: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'must be a header name' }),
        field: fieldName,
      })
      .optional()
      .describe('The field that is sent in a header of its own, such as X-Api-Key.'),
    accepted: z
      .array(z.int().min(200).max(299))
      .min(1)
      .default([200, 201, 204])
      .describe('Statuses that mean it works.'),
    rejected: z
      .array(z.int().min(400).max(499))
      .min(1)
      .default([401, 403])
      .describe('Statuses that mean it does not. Any other says nothing, and the person is asked to try again later.'),
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
    .refine(keys => keys[0]?.key.d !== undefined, { error: 'the first key must be a private one: it signs' })
    .optional()
    .describe(
      'Ed25519 keys as JWK in JSON: the first signs, all are published, so a retired one stays here (its public half is ' +
        'enough). Default: derived from the vault keys.',
    ),
});

export type CredentialCheckConfig = z.infer<typeof credentialCheckSchema>;
