import type { z } from 'zod/v4';
import type { Json, OpenApiSchemas } from './openapi-schemas.ts';
import type { Operation, OperationExamples } from './operation.ts';
import { type ProblemCode, problems } from './problems.ts';

/** How the document of one API describes its operations, besides what they have in common. */
export interface OpenApiDialect {
  readonly schemaOf: OpenApiSchemas['schemaOf'];
  /** Members of an operation, such as its tags. */
  readonly about: (operation: Operation) => Json;
  /** Header parameters. */
  readonly headers: (operation: Operation) => readonly Json[];
  /** The schema of a request body. */
  readonly requestSchema: (schema: Json) => Json;
  /** A parameter without its name and place. */
  readonly parameter: (schema: Json) => Json;
  /** Members of each response with a status of success. */
  readonly success: Json;
  readonly problemsOf: (operation: Operation) => readonly ProblemCode[];
  /** Members of the response for some problems of one status, and the example in its content. */
  readonly problem: (
    status: number,
    codes: readonly ProblemCode[],
  ) => { readonly members?: Json; readonly example?: Json };
}

export const asExamples = (values: Readonly<Record<string, unknown>>): Json =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));

export const headerParameter = (name: string, description: string, schema: Json, required = false): Json => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string', ...schema },
});

/** The responses for problems, by status. */
export function problemResponses(problem: OpenApiDialect['problem'], codes: readonly ProblemCode[]): Json {
  const byStatus = Map.groupBy(new Set(codes), code => problems[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => {
      const { members, example } = problem(status, list);
      const schema = {
        allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: { code: { enum: list } } }],
      };
      return [
        String(status),
        {
          description: list.map(code => `\`${code}\`: ${problems[code].title}`).join(' '),
          ...members,
          content: { 'application/problem+json': { schema, ...example } },
        },
      ];
    }),
  );
}

function parametersOf(
  dialect: OpenApiDialect,
  schema: z.ZodObject | undefined,
  place: 'path' | 'query',
  examples: OperationExamples['parameters'],
): Json[] {
  if (schema === undefined) return [];
  const { properties, required = [] } = dialect.schemaOf(schema, 'input') as {
    properties: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...dialect.parameter(property),
    example: examples?.[name],
  }));
}

const contentOf = (schema: Json, examples: OperationExamples['request']): Json =>
  examples === undefined ? { schema } : { schema, examples: asExamples(examples) };

function operationObject(dialect: OpenApiDialect, operationId: string, operation: Operation): Json {
  const { schemaOf } = dialect;
  const { summary, body, streams, output, examples = {} } = operation;
  const parameters = [
    ...parametersOf(dialect, operation.parameters, 'path', examples.parameters),
    ...parametersOf(dialect, operation.query, 'query', examples.parameters),
    ...dialect.headers(operation),
  ];
  const requestBody = body && {
    required: operation.optionalBody !== true,
    content: { 'application/json': contentOf(dialect.requestSchema(schemaOf(body, 'input')), examples.request) },
  };
  const responseType = streams === true ? 'text/event-stream' : 'application/json';
  return {
    operationId,
    ...dialect.about(operation),
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.responses).map(([status, description]) => [
          status,
          {
            description,
            ...dialect.success,
            content: { [responseType]: contentOf(schemaOf(output, 'output'), examples.response) },
          },
        ]),
      ),
      ...problemResponses(dialect.problem, dialect.problemsOf(operation)),
    },
  };
}

/** The `paths` of an OpenAPI 3.1 document, with the schemas with which the gateway validates. */
export function openApiPaths(
  dialect: OpenApiDialect,
  operations: Readonly<Record<string, Operation>>,
): Record<string, Json> {
  const paths: Record<string, Json> = {};
  for (const [operationId, operation] of Object.entries(operations)) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: operationObject(dialect, operationId, operation),
    };
  }
  return paths;
}
