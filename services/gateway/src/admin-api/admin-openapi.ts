import { type ProblemCode, problemSchema, problems } from '@postern/api';
import { z } from 'zod';
import { packageVersion } from '../platform/package-version.ts';
import { adminOperations } from './admin-operations.ts';

const COMPONENTS = '#/components/schemas/';

/** Of every operation. `not_found`: an unknown id or endpoint. */
const codes: readonly ProblemCode[] = [
  ...(['invalid_request', 'unauthenticated', 'insufficient_scope', 'not_found', 'payload_too_large'] as const),
  ...(['unsupported_media_type', 'rate_limited', 'internal_error', 'unavailable'] as const),
];

function problemResponse(ofStatus: readonly ProblemCode[]) {
  const schema = {
    allOf: [{ $ref: `${COMPONENTS}Problem` }, { type: 'object', properties: { code: { enum: ofStatus } } }],
  };
  const description = ofStatus.map(code => `\`${code}\`: ${problems[code].title}`).join(' ');
  return { description, content: { 'application/problem+json': { schema } } };
}

const failuresOf = (refusals: readonly ProblemCode[]) =>
  Object.fromEntries(
    [...Map.groupBy([...codes, ...refusals], code => problems[code].status)].map(([status, of]) => [
      status,
      problemResponse(of),
    ]),
  );

const parameterOf = (place: 'path' | 'query', [name, schema]: [string, unknown], required: readonly string[]) => ({
  name,
  in: place,
  schema,
  required: place === 'path' || required.includes(name),
});

/** Generators take a member with a default for one that is always there. The format says what the pattern of a time says. */
function jsonSchemaOf(schema: z.ZodType) {
  return z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      if (jsonSchema.default !== undefined) jsonSchema.description = `Default: \`${jsonSchema.default}\`.`;
      delete jsonSchema.default;
    },
  });
}

/** Moves named schemas to `schemas`. Read as an input, an object admits members that later releases add. */
function responseSchema(output: z.ZodType, schemas: Record<string, unknown>) {
  const text = JSON.stringify(jsonSchemaOf(output)).replaceAll('#/$defs/', COMPONENTS);
  const { $schema: _, $defs = {}, id, ...schema } = z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  Object.assign(schemas, $defs);
  if (typeof id !== 'string') return schema;
  schemas[id] = schema;
  return { $ref: `${COMPONENTS}${id}` };
}

/** The OpenAPI document of the admin API, from the table of its operations. */
export function adminOpenApi() {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas: Record<string, unknown> = {};
  responseSchema(problemSchema, schemas);
  for (const { id, method, path, scope, about, input, output, refusals = [] } of adminOperations) {
    const { properties = {}, required = [] } = jsonSchemaOf(input);
    const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    const members = Object.entries(properties);
    const rest = members.filter(([name]) => !inPath.has(name));
    const reason = {
      name: 'Postern-Reason',
      in: 'header',
      required: scope !== 'read',
      description: 'why, for the audit trail',
      schema: { type: 'string', maxLength: 200 },
    };
    const body = {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            additionalProperties: false,
            properties: Object.fromEntries(rest),
            required: required.filter(name => !inPath.has(name)),
          },
        },
      },
    };
    paths[`/admin/v1${path}`] = {
      ...paths[`/admin/v1${path}`],
      [method.toLowerCase()]: {
        operationId: id,
        summary: about,
        description: `Needs the scope \`${scope}\`.`,
        security: [{ credential: [] }],
        parameters: [
          ...members.filter(([name]) => inPath.has(name)).map(member => parameterOf('path', member, required)),
          ...(method === 'GET' ? rest.map(member => parameterOf('query', member, required)) : []),
          reason,
        ],
        ...(method === 'POST' && rest.length > 0 ? { requestBody: body } : {}),
        responses: {
          200: {
            description: 'Done.',
            content: { 'application/json': { schema: responseSchema(output, schemas) } },
          },
          ...failuresOf(refusals),
        },
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Postern admin API', version: packageVersion },
    paths,
    components: {
      schemas,
      securitySchemes: { credential: { type: 'http', scheme: 'bearer' } },
    },
  };
}
