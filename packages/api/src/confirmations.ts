import { z } from 'zod/v4';
import { compactJson, JsonTextError, readJson } from './json-text.ts';
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

/**
 * Limits of `arguments`: what a person can still look through. As a member of a request, whose body has at most 64 KiB, the text may
 * need twice its bytes, because each quotation mark and backslash is escaped.
 */
export const ARGUMENT_LIMITS = { bytes: 24 * 1024, depth: 16, values: 500 } as const;

const argumentsSchema = z
  .string()
  .max(ARGUMENT_LIMITS.bytes)
  .transform((text, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    if (new TextEncoder().encode(text).byteLength > ARGUMENT_LIMITS.bytes)
      return refuse(`at most ${ARGUMENT_LIMITS.bytes} bytes`);
    try {
      const node = readJson(text, ARGUMENT_LIMITS);
      return node.type === 'object' ? compactJson(node) : refuse('not a JSON object');
    } catch (error) {
      if (!(error instanceof JsonTextError)) throw error;
      return refuse(error.message);
    }
  });

export const confirmationRequestSchema = z
  .strictObject({
    title: localText(120).describe('What the user says yes to, as a short sentence.'),
    action: localText(30)
      .optional()
      .describe(
        'A short verb phrase, such as `Delete repository`. The accepting button reads `Confirm: Delete repository`.',
      ),
    facts: z.array(factSchema).max(20).default([]).describe('Each is rendered by its type.'),
    arguments: argumentsSchema
      .optional()
      .describe(
        'The arguments of the call that is sent after a yes: the text of a JSON object, at most 24 KiB, 500 values and 16 levels, without repeated names. The page shows all of it, numbers as written, and hides values whose names are those of secrets.',
      ),
    binding: z
      .string()
      .regex(/^[\x21-\x7e]{1,128}$/, { error: '1 to 128 characters of printable ASCII' })
      .optional()
      .describe(
        'What else the yes is for, without being shown: another value is another question. Such as a digest of how the tool is described.',
      ),
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
