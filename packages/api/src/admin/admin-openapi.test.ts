import { expect, it } from 'vitest';
import { adminOpenApiDocument } from './admin-openapi.ts';
import { adminOperations } from './admin-operations.ts';

it('S178: responses may get members in later releases, and every reference leads to a schema of the document', () => {
  const { paths, components } = adminOpenApiDocument('1.0.0');
  const responses = Object.values(paths).flatMap(of => Object.values(of).map(operation => Object(operation).responses));
  const text = JSON.stringify([responses, components]);
  expect(text).not.toContain('"additionalProperties":false');
  const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect(references.length).toBe(text.split('"$ref"').length - 1);
  expect([...new Set(references)].sort()).toEqual(Object.keys(components.schemas).sort());
});

it('S218: only the scope keys adds and revokes API keys', () => {
  const ofKeys = Object.entries(adminOperations).filter(
    ([, { path, method }]) => path.startsWith('/admin/v1/api-keys') && method !== 'GET',
  );
  expect(ofKeys.map(([id, { scope }]) => [id, scope])).toEqual([
    ['addApiKey', 'keys'],
    ['revokeApiKey', 'keys'],
  ]);
});
