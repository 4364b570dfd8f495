import { z } from 'zod';
import { configSchema } from './config-schema.ts';

/** The JSON Schema of `postern.config.yaml` for editors. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12', unrepresentable: 'any' });
}
