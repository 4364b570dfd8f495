import { z } from 'zod/v4';
import { localText } from './local-text.ts';
import { plainName, plainText } from './plain-text.ts';

/** Far above any payment approved with a button, and far below the precision of a double. */
export const MAX_MINOR_UNITS = 999_999_999_999;

/** Authors often write 24.9. */
export const minorUnitsSchema = z.int({
  error: ({ input }) => (typeof input === 'number' ? 'an integer in the minor unit (2490 for 24.90 EUR)' : undefined),
});

export const currencySchema = z.string().regex(/^[A-Z]{3}$/, { error: 'an ISO 4217 code in capitals' });

export const amountSchema = z
  .strictObject({
    currency: currencySchema,
    minorUnits: minorUnitsSchema
      .min(1)
      .max(MAX_MINOR_UNITS)
      .describe('An integer in the minor unit of the currency (ISO 4217): 1050 is 10.50 euro, or 1050 yen.'),
  })
  .meta({ id: 'Amount' });

export const paymentRequestSchema = z
  .strictObject({
    payee: z
      .strictObject({ name: plainName(80) })
      .describe('With a processor, a payee that is registered for this MCP server (`payees` of `GET /v1/me`).'),
    amount: amountSchema,
    items: z
      .array(
        z.strictObject({
          label: localText(120),
          quantity: z.int().min(1).max(1_000_000).default(1),
          unitMinorUnits: minorUnitsSchema
            .min(-MAX_MINOR_UNITS)
            .max(MAX_MINOR_UNITS)
            .describe('Of one piece, in the currency of the amount. Negative for a discount.'),
        }),
      )
      .min(1)
      .max(50)
      .optional()
      .describe('Must add up to the amount.'),
    reference: plainText(80).describe('Your reference for the payment, such as an order number. Shown to the user.'),
    processor: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: 'lower-case letters, digits and hyphens' })
      .optional()
      .describe('`none`: only the approval. Default: the first processor configured for this MCP server.'),
  })
  .superRefine(({ amount, items }, context) => {
    if (items === undefined) return;
    const totals = items.map(item => item.quantity * item.unitMinorUnits);
    // All summands are small enough for exact arithmetic below 2^53.
    const isExact = totals.every(total => Math.abs(total) <= MAX_MINOR_UNITS);
    if (!isExact || totals.reduce((sum, total) => sum + total, 0) !== amount.minorUnits)
      context.addIssue({ code: 'custom', path: ['items'], message: 'the items must add up to the amount' });
  })
  .meta({ id: 'PaymentRequest' });

export const approvalSchema = z
  .object({
    method: z
      .enum(['button', 'passkey'])
      .describe(
        '`passkey`: a WebAuthn assertion over the digest of the terms also proved presence and user verification.',
      ),
    identity: z.enum(['login', 'external', 'loopback']).describe('How the gateway identified the user.'),
    at: z.iso.datetime(),
    authTime: z.iso.datetime().optional().describe('When the user last signed in.'),
    passkeyAddedAt: z.iso.datetime().optional().describe('When the passkey was added, with method `passkey`.'),
    language: z
      .string()
      .optional()
      .describe(
        'Language of the page on which the user approved (BCP 47). Of texts that the terms have in several languages, the user saw the one in this language, else in English, else in the first of de, fr, es, ja, ar, zh-Hans, zh-Hant.',
      ),
  })
  .meta({ id: 'Approval' });

export const paymentOutcomeSchema = z
  .object({
    kind: z.literal('payment'),
    digest: z.string().describe('SHA-256 (base64url) of the canonical JSON of the approved terms.'),
    approval: approvalSchema,
    processor: z.string(),
    processorReference: z.string().optional().describe("The processor's id of the payment."),
    mode: z
      .enum(['live', 'test'])
      .optional()
      .describe('As reported by the processor. `test`: no money has moved. Absent without a processor.'),
  })
  .meta({ id: 'PaymentOutcome' });

export type PaymentRequestInput = z.input<typeof paymentRequestSchema>;
export type ApprovalBody = z.infer<typeof approvalSchema>;
