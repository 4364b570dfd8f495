import { z } from 'zod';
import { commonProblems, type Operation, operations } from './operations.ts';
import { type ProblemCode, problemSchema, problems } from './problems.ts';

type Json = Record<string, unknown>;

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' }) as Json;
  return rest;
};

function parametersOf(schema: z.ZodObject | undefined, place: 'path' | 'query'): Json[] {
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

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key with the same body is answered the same for at least 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
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

function operationObject(operationId: string, operation: Operation): Json {
  const parameters = [
    ...parametersOf(operation.parameters, 'path'),
    ...parametersOf(operation.query, 'query'),
    ...(operation.idempotent === true ? [idempotencyKey] : []),
  ];
  return {
    operationId,
    summary: operation.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(operation.body, 'input') } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [
          status,
          {
            description: response.description,
            content: { 'application/json': { schema: schemaOf(response.schema, 'output') } },
          },
        ]),
      ),
      ...problemResponses([...commonProblems, ...operation.problems]),
    },
  };
}

/** The OpenAPI 3.1 document of the contract, made from the schemas that the gateway validates with. */
export function openApiDocument(publicUrl: string): Json {
  const paths: Record<string, Json> = {};
  for (const [operationId, operation] of Object.entries(operations) as [string, Operation][]) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = operationObject(operationId, operation);
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
      schemas: { Problem: schemaOf(problemSchema, 'output') },
    },
  };
}
