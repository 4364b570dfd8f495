import { z } from 'zod';
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
      .describe('Properties that are masked on the page. A form with any is never shown by an MCP client.'),
  })
  .superRefine(({ requestedSchema, secretFields }, context) => {
    secretFields.forEach((name, at) => {
      const property = requestedSchema.properties[name];
      // A choice stands on the page for everybody to read.
      if (property?.type !== 'string' || 'enum' in property || 'oneOf' in property)
        context.addIssue({ code: 'custom', path: ['secretFields', at], message: 'must name a string that is typed' });
    });
  });

export const formOutcomeSchema = z.object({ kind: z.literal('form') });

export type FormRequestInput = z.input<typeof formRequestSchema>;
