import { z } from 'zod/v4';
import { bodyProblems, commonProblems, type Operation, operations } from './operations.ts';
import { type ProblemCode, problemSchema, problems } from './problems.ts';

type Json = Record<string, unknown>;

const COMPONENTS = '#/components/schemas/';

/** Moves named schemas to the components; all other schemas stay in place. */
function createSchemas() {
  const components: Record<string, Json> = {};
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json => {
    const text = JSON.stringify(z.toJSONSchema(schema, { io, target: 'draft-2020-12' })).replaceAll(
      '#/$defs/',
      COMPONENTS,
    );
    const { $schema: _, $defs, ...rest } = JSON.parse(text) as Json & { $defs?: Record<string, Json> };
    for (const [name, { id: __, ...definition }] of Object.entries($defs ?? {})) components[name] = definition;
    return rest;
  };
  return { components, schemaOf };
}

type SchemaOf = ReturnType<typeof createSchemas>['schemaOf'];

function parametersOf(schemaOf: SchemaOf, schema: z.ZodObject | undefined, place: 'path' | 'query'): Json[] {
  if (schema === undefined) return [];
  const { properties, required } = schemaOf(schema, 'input') as {
    properties: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    return {
      name,
      in: place,
      required: place === 'path' || (required ?? []).includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

const idempotencyKey = (description: string): Json => ({
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
});

const lastEventId: Json = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The `id` of the last event that was seen. Clients that reconnect automatically send it.',
  schema: { type: 'string', maxLength: 32 },
};

function problemResponses(codes: readonly ProblemCode[]): Json {
  const byStatus = Map.groupBy(codes, code => problems[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      String(status),
      {
        description: list.map(code => `\`${code}\`: ${problems[code].title}`).join(' '),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  );
}

function operationObject(schemaOf: SchemaOf, operationId: string, operation: Operation): Json {
  const parameters = [
    ...parametersOf(schemaOf, operation.parameters, 'path'),
    ...parametersOf(schemaOf, operation.query, 'query'),
    ...(operation.idempotencyKey === undefined ? [] : [idempotencyKey(operation.idempotencyKey)]),
    ...(operation.streams === true ? [lastEventId] : []),
  ];
  const responseType = operation.streams === true ? 'text/event-stream' : 'application/json';
  return {
    operationId,
    summary: operation.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.optionalBody !== true,
            content: { 'application/json': { schema: schemaOf(operation.body, 'input') } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [
          status,
          {
            description: response.description,
            content: { [responseType]: { schema: schemaOf(response.schema, 'output') } },
          },
        ]),
      ),
      ...problemResponses([
        ...commonProblems,
        ...(operation.method === 'POST' ? bodyProblems : []),
        ...operation.problems,
      ]),
    },
  };
}

/** Builds the OpenAPI 3.1 document of the contract from the schemas with which the gateway validates. */
export function openApiDocument(publicUrl: string): Json {
  const { components, schemaOf } = createSchemas();
  schemaOf(problemSchema, 'output');
  const paths: Record<string, Json> = {};
  for (const [operationId, operation] of Object.entries(operations) as [string, Operation][]) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: operationObject(schemaOf, operationId, operation),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postern',
      version: '1',
      description: 'The API that MCP servers call.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    security: [{ credential: [] }],
    paths,
    components: {
      securitySchemes: {
        credential: {
          type: 'http',
          scheme: 'bearer',
          description: "An API key of a registered MCP server, or a JWT signed with the MCP server's registered key.",
        },
      },
      schemas: components,
    },
  };
}
