import { z } from 'zod';
import { configSchema } from './config-schema.ts';

/** Where it is published, beside the package. */
export const configJsonSchemaUrl = new URL('../../postern.config.schema.json', import.meta.url);

/** The JSON Schema of `postern.config.yaml` for editors. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12', unrepresentable: 'any' });
}

/** As it is published. */
export function configJsonSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`;
}
