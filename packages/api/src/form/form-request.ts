import { z } from 'zod/v4';
import { localText } from '../local-text.ts';
import { patternFault } from '../patterns.ts';
import { ambiguousChoices, formTextsSchema, strayTexts } from './form-texts.ts';
import { MAX_FORM_BYTES, requestedSchemaSchema } from './requested-schema.ts';

export const formRequestSchema = z
  .strictObject({
    title: localText(120).optional(),
    requestedSchema: requestedSchemaSchema,
    texts: formTextsSchema.optional(),
    secretFields: z
      .array(z.string().max(64))
      .max(20)
      .default([])
      .describe('Properties that the page masks. A form with any of them is never shown by an MCP client.'),
  })
  .superRefine(({ requestedSchema, secretFields, texts = {} }, context) => {
    const fault = (path: PropertyKey[], message: string) =>
      context.addIssue({ code: 'custom', path: ['texts', ...path], message });
    if (new TextEncoder().encode(JSON.stringify([requestedSchema, texts])).byteLength > MAX_FORM_BYTES)
      fault([], `at most ${MAX_FORM_BYTES} bytes of JSON, with requestedSchema`);
    const stray = strayTexts(requestedSchema, texts);
    for (const path of stray) fault(path, path.length === 1 ? 'names no property' : 'names no option');
    if (stray.length === 0)
      for (const name of ambiguousChoices(requestedSchema, texts))
        fault([name, 'options'], 'two options have the same title in a language');
    for (const [name, property] of Object.entries(requestedSchema.properties)) {
      const message = 'pattern' in property ? patternFault(property.pattern ?? '') : undefined;
      if (message !== undefined)
        context.addIssue({ code: 'custom', path: ['requestedSchema', 'properties', name, 'pattern'], message });
    }
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
