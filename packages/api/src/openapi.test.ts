import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { openApiDocument } from './openapi.ts';
import { operations } from './operations.ts';
import { problems } from './problems.ts';

const document = openApiDocument('https://gate.example');

it('is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(validator.version).toBe('3.1');
});

it('resolves every reference inside the document', () => {
  const names = new Set(Object.keys((document['components'] as { schemas: object }).schemas));
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(match => match[1] ?? '');
  expect(references.length).toBeGreaterThan(0);
  for (const reference of references) expect(names).toContain(reference.replace('#/components/schemas/', ''));
});

it('describes every operation with each of its problems', () => {
  const paths = document['paths'] as Record<
    string,
    Record<string, { operationId: string; responses: Record<string, { description: string }> }>
  >;
  for (const [operationId, operation] of Object.entries(operations)) {
    const described = paths[operation.path]?.[operation.method.toLowerCase()];
    expect(described?.operationId).toBe(operationId);
    for (const code of operation.problems) {
      expect(described?.responses[problems[code].status]?.description).toContain(`\`${code}\``);
    }
  }
});
