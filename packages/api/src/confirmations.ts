import { z } from 'zod/v4';
import { localText } from './local-text.ts';
import { amountSchema, approvalSchema } from './payments.ts';

const label = localText(60);

export const factSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), label, value: localText(300) }).meta({ id: 'TextFact' }),
    z.strictObject({ type: z.literal('number'), label, value: z.number() }).meta({ id: 'NumberFact' }),
    z.strictObject({ type: z.literal('amount'), label, value: amountSchema }).meta({ id: 'AmountFact' }),
    z
      .strictObject({ type: z.literal('time'), label, value: z.iso.datetime({ offset: true }) })
      .meta({ id: 'TimeFact' }),
    z
      .strictObject({
        type: z.literal('host'),
        label,
        value: z
          .string()
          .max(253)
          .regex(/^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, {
            error: 'a host name in lower-case ASCII',
          }),
      })
      .meta({ id: 'HostFact' }),
  ])
  .meta({ id: 'Fact' });

export const confirmationRequestSchema = z
  .strictObject({
    title: localText(120).describe('What the user says yes to, as a short sentence.'),
    action: localText(30)
      .optional()
      .describe(
        'A short verb phrase, such as `Delete repository`. The accepting button reads `Confirm: Delete repository`.',
      ),
    facts: z.array(factSchema).max(20).default([]).describe('Each is rendered by its type.'),
    danger: z
      .enum(['normal', 'caution', 'destructive'])
      .default('normal')
      .describe('`destructive`: cannot be undone; the page says so.'),
  })
  .meta({ id: 'ConfirmationRequest' });

export const confirmationOutcomeSchema = z
  .object({
    kind: z.literal('confirmation'),
    digest: z.string().describe('SHA-256 (base64url) of the canonical JSON of the confirmed terms.'),
    approval: approvalSchema,
  })
  .meta({ id: 'ConfirmationOutcome' });

export type ConfirmationRequestInput = z.input<typeof confirmationRequestSchema>;
