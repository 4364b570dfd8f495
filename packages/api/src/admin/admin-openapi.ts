import { headerParameter, type OpenApiDialect, openApiPaths } from '../openapi-paths.ts';
import { createOpenApiSchemas, type Json } from '../openapi-schemas.ts';
import { type ProblemCode, problemSchema } from '../problems.ts';
import { adminOperations } from './admin-operations.ts';

/** Of every operation. `not_found`: an unknown id or endpoint. */
const adminProblems: readonly ProblemCode[] = [
  'invalid_request',
  'unauthenticated',
  'insufficient_scope',
  'not_found',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal_error',
  'unavailable',
];

/** Builds the OpenAPI 3.1 document of the admin API. @param version of the gateway */
export function adminOpenApiDocument(version: string) {
  // The format says what the pattern of a time says.
  const { components, schemaOf } = createOpenApiSchemas({ hasTimePatterns: false, shown: String });
  const dialect: OpenApiDialect = {
    schemaOf,
    about: ({ scope }) => ({ description: `Needs the scope \`${scope}\`.`, security: [{ credential: [] }] }),
    headers: ({ scope }) => [
      headerParameter('Postern-Reason', 'why, for the audit trail', { maxLength: 200 }, scope !== 'read'),
    ],
    requestSchema: schema => ({ required: [], ...schema }),
    parameter: schema => ({ schema }),
    success: {},
    problemsOf: ({ problems }) => [...adminProblems, ...problems],
    problem: () => ({}),
  };
  schemaOf(problemSchema, 'output');
  const paths: Record<string, Json> = openApiPaths(dialect, adminOperations);
  return {
    openapi: '3.1.0',
    info: { title: 'Postern admin API', version },
    paths,
    components: {
      schemas: components(),
      securitySchemes: { credential: { type: 'http', scheme: 'bearer' } },
    },
  };
}
