import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { sampleConfig } from '../testing/sample-config.ts';
import { configJsonSchema, configJsonSchemaUrl } from './config-json-schema.ts';

it('is published as it is (node services/gateway/src/config/write-json-schema.ts)', () => {
  expect(JSON.parse(readFileSync(configJsonSchemaUrl, 'utf8'))).toEqual(configJsonSchema());
});

it('accepts what the gateway accepts and refuses unknown fields', () => {
  const schema = z.fromJSONSchema(configJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
  const document = sampleConfig();
  expect(schema.safeParse(document).error).toBeUndefined();
  expect(schema.safeParse({ ...document, publicURL: 'x' }).success).toBe(false);
  expect(schema.safeParse({ ...document, mcpServers: [] }).success).toBe(false);
});
