import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from './openapi.ts';
import { bodyProblems, commonProblems, type Operation, tags } from './operation.ts';
import { operations } from './operations.ts';
import { problems } from './problems.ts';

type Json = Record<string, unknown>;
interface Content {
  readonly schema: Json;
  readonly example?: unknown;
  readonly examples?: Record<string, { value: unknown }>;
}
interface Response {
  readonly description: string;
  readonly headers?: Record<string, { $ref: string }>;
  readonly content?: Record<string, Content>;
}
interface Described {
  readonly operationId: string;
  readonly tags: string[];
  readonly parameters?: readonly { name: string; in: string; schema: Json; example?: unknown }[];
  readonly requestBody?: { readonly content: Record<string, Content> };
  readonly responses: Record<string, Response>;
}
interface Document {
  readonly paths: Record<string, Record<string, Described>>;
  readonly webhooks: Record<string, Record<string, Described>>;
  readonly components: { readonly schemas: Record<string, Json>; readonly headers: Record<string, Json> };
}

const document = openApiDocument('https://gate.example');
const { paths, webhooks, components } = document as unknown as Document;
const calls = Object.values(paths).flatMap(path => Object.values(path));
const sent = Object.values(webhooks).flatMap(webhook => Object.values(webhook));
const contentsOf = ({ content = {} }: { readonly content?: Record<string, Content> }) => Object.values(content);
const requestsOf = (described: Described) => contentsOf(described.requestBody ?? {});
const responsesOf = ({ responses }: Described) => Object.values(responses).flatMap(contentsOf);

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

/** Returns why a value does not match a schema of the document. */
function faultsOf(schema: Json, value: unknown): unknown[] {
  const validate = ajv.compile({ ...schema, components });
  validate(value);
  return validate.errors ?? [];
}

/** Every object schema that is reachable from a schema, with the path to it. */
function objectsIn(schema: unknown, at: string, seen = new Set<string>()): [string, Json][] {
  if (typeof schema !== 'object' || schema === null) return [];
  const node = schema as Json;
  const ref = node['$ref'];
  if (typeof ref === 'string') {
    if (seen.has(ref)) return [];
    seen.add(ref);
    const name = ref.replace('#/components/schemas/', '');
    return objectsIn(components.schemas[name], name, seen);
  }
  const own: [string, Json][] = node['type'] === 'object' && 'properties' in node ? [[at, node]] : [];
  return [...own, ...Object.entries(node).flatMap(([name, child]) => objectsIn(child, `${at}.${name}`, seen))];
}

it('is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(validator.version).toBe('3.1');
});

it('resolves every reference inside the document', () => {
  const names = new Set([
    ...Object.keys(components.schemas).map(name => `#/components/schemas/${name}`),
    ...Object.keys(components.headers).map(name => `#/components/headers/${name}`),
  ]);
  const references = [...JSON.stringify(document).matchAll(/"(#\/[^"]+)"/g)].map(match => match[1] ?? '');
  expect(references.length).toBeGreaterThan(0);
  for (const reference of references) expect(names).toContain(reference);
});

it('describes every operation with its tag and each of its problems, as text and as an enumeration', () => {
  for (const [operationId, operation] of Object.entries(operations as Record<string, Operation>)) {
    const described = paths[operation.path]?.[operation.method.toLowerCase()];
    expect(described).toMatchObject({ operationId, tags: [operation.tag] });
    expect(Object.keys(tags)).toContain(operation.tag);
    const codes = [...commonProblems, ...(operation.method === 'POST' ? bodyProblems : []), ...operation.problems];
    for (const code of codes) {
      const response = described?.responses[problems[code].status];
      expect(response?.description).toContain(`\`${code}\``);
      expect(JSON.stringify(response?.content?.['application/problem+json'])).toContain(`"${code}"`);
    }
  }
});

it('names the headers that callers have to act on', () => {
  for (const { operationId, responses } of calls) {
    for (const status of ['429', '503'])
      expect(Object.keys(responses[status]?.headers ?? { 'Retry-After': '' }), operationId).toEqual(['Retry-After']);
    expect(Object.keys(responses['401']?.headers ?? { 'WWW-Authenticate': '' })).toEqual(['WWW-Authenticate']);
  }
  expect(paths['/.well-known/jwks.json']?.['get']?.responses['200']?.headers).toHaveProperty('Cache-Control');
});

describe('schemas', () => {
  it.each([...calls, ...sent].map(call => [call.operationId, call] as const))(
    '%s: what the gateway sends is open',
    (_, call) => {
      const bodies = sent.includes(call) ? requestsOf(call) : responsesOf(call);
      const objects = bodies.flatMap(({ schema }) => objectsIn(schema, 'body'));
      expect(objects.length).toBeGreaterThan(0);
      expect(objects.filter(([, { additionalProperties }]) => additionalProperties === false)).toEqual([]);
    },
  );

  it('what callers send is closed, and has no default that generators take for an answer', () => {
    const objects = calls.flatMap(requestsOf).flatMap(({ schema }) => objectsIn(schema, 'body'));
    expect(objects.length).toBeGreaterThan(20);
    expect(objects.flatMap(([at, node]) => (node['additionalProperties'] === false ? [] : [at]))).toEqual([]);
    const members = objects.flatMap(([, { properties }]) => Object.values(properties as Record<string, Json>));
    expect(members.filter(member => 'default' in member)).toEqual([]);
    const description = expect.stringMatching(/Default: `\[\]`\.$/);
    expect(components.schemas['ConfirmationRequest']).toMatchObject({ properties: { facts: { description } } });
  });

  it.each([
    ['IssueElicitation', 'kind', ['authorization', 'payment', 'credential', 'confirmation', 'form']],
    ['RedeemedElicitation', 'kind', ['payment', 'confirmation', 'credential', 'form']],
    ['Outcome', 'kind', ['authorization', 'payment', 'credential', 'confirmation', 'form']],
    ['Fact', 'type', ['text', 'number', 'amount', 'time', 'host']],
  ])('the discriminator of %s is %s', (name, propertyName, values) => {
    const { discriminator } = components.schemas[name] as { discriminator?: { mapping: object } };
    expect(discriminator).toMatchObject({ propertyName });
    expect(Object.keys(discriminator?.mapping ?? {})).toEqual(values);
  });

  it('offers no discriminator where objects have the same kind', () => {
    for (const name of ['RedeemedCredential', 'RedeemedForm', 'AccessToken', 'SubjectInput'])
      expect(components.schemas[name]).not.toHaveProperty('discriminator');
  });
});

describe('examples', () => {
  it.each([...calls, ...sent].map(call => [call.operationId, call] as const))('%s', (_, call) => {
    const successes = Object.entries(call.responses).flatMap(([status, response]) =>
      status.startsWith('20') ? contentsOf(response) : [],
    );
    for (const { schema, examples = {} } of [...requestsOf(call), ...successes]) {
      expect(Object.keys(examples).length).toBeGreaterThan(0);
      for (const { value } of Object.values(examples)) expect(faultsOf(schema, value)).toEqual([]);
    }
    for (const { schema, example } of responsesOf(call))
      if (example !== undefined) expect(faultsOf(schema, example)).toEqual([]);
    for (const parameter of call.parameters ?? [])
      if (parameter.in === 'path') expect(faultsOf(parameter.schema, parameter.example)).toEqual([]);
  });

  it('satisfy the schemas with which requests are checked', () => {
    for (const operation of Object.values(operations as Record<string, Operation>)) {
      const described = paths[operation.path]?.[operation.method.toLowerCase()];
      for (const { examples = {} } of described === undefined ? [] : requestsOf(described))
        for (const { value } of Object.values(examples)) expect(() => operation.body?.parse(value)).not.toThrow();
    }
  });

  it('fail where they are wrong', () => {
    const request = { kind: 'confirmation', subject: { issuer: 'i', subject: 's' }, confirmation: { title: 'x' } };
    const schema = { $ref: '#/components/schemas/IssueElicitation' };
    expect(faultsOf(schema, request)).toEqual([]);
    expect(faultsOf(schema, { ...request, more: 1 })).not.toEqual([]);
  });
});
