import { z } from 'zod/v4';
import { plainText } from '../plain-text.ts';
import { requestedSchemaSchema } from './requested-schema.ts';

export const formRequestSchema = z
  .strictObject({
    title: plainText(120).optional(),
    requestedSchema: requestedSchemaSchema,
    secretFields: z
      .array(z.string().max(64))
      .max(20)
      .default([])
      .describe('Properties that the page masks. A form with any of them is never shown by an MCP client.'),
  })
  .superRefine(({ requestedSchema, secretFields }, context) => {
    secretFields.forEach((name, at) => {
      const property = requestedSchema.properties[name];
      // The page shows the options of a choice, so it cannot be secret.
      if (property?.type !== 'string' || 'enum' in property || 'oneOf' in property)
        context.addIssue({ code: 'custom', path: ['secretFields', at], message: 'must name a string that is typed' });
    });
  })
  .meta({ id: 'FormRequest' });

export const formOutcomeSchema = z.object({ kind: z.literal('form') }).meta({ id: 'FormOutcome' });

export type FormRequestInput = z.input<typeof formRequestSchema>;
