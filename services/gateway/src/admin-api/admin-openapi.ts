import { problemSchema } from '@postern/api';
import { z } from 'zod';
import { packageVersion } from '../platform/package-version.ts';
import { adminOperations } from './admin-operations.ts';

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
});

const parameterOf = (place: 'path' | 'query', [name, schema]: [string, unknown], required: readonly string[]) => ({
  ...{ name, in: place, schema },
  required: place === 'path' || required.includes(name),
});

/** The OpenAPI document of the admin API, from the table of its operations. */
export function adminOpenApi() {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { id, method, path, scope, about, input } of adminOperations) {
    const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input' });
    const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    const members = Object.entries(properties);
    const rest = members.filter(([name]) => !inPath.has(name));
    const reason = {
      ...{ name: 'Postern-Reason', in: 'header', required: scope !== 'read' },
      ...{ description: 'why, for the audit trail', schema: { type: 'string', maxLength: 200 } },
    };
    const body = {
      required: true,
      content: {
        'application/json': {
          schema: {
            ...{ type: 'object', additionalProperties: false },
            ...{ properties: Object.fromEntries(rest), required: required.filter(name => !inPath.has(name)) },
          },
        },
      },
    };
    paths[`/admin/v1${path}`] = {
      ...paths[`/admin/v1${path}`],
      [method.toLowerCase()]: {
        ...{ operationId: id, summary: about, description: `Needs the scope \`${scope}\`.` },
        security: [{ credential: [] }],
        parameters: [
          ...members.filter(([name]) => inPath.has(name)).map(member => parameterOf('path', member, required)),
          ...(method === 'GET' ? rest.map(member => parameterOf('query', member, required)) : []),
          reason,
        ],
        ...(method === 'POST' && rest.length > 0 ? { requestBody: body } : {}),
        responses: {
          200: { description: 'Done.', content: { 'application/json': { schema: { type: 'object' } } } },
          400: problem('The request is not valid.'),
          401: problem('No valid credential.'),
          403: problem('The credential lacks the scope.'),
          404: problem('No such record.'),
          429: problem('Too many requests, or unfinished jobs.'),
          503: problem('Redis does not respond.'),
        },
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Postern admin API', version: packageVersion },
    paths,
    components: {
      schemas: { Problem: z.toJSONSchema(problemSchema) },
      securitySchemes: { credential: { type: 'http', scheme: 'bearer' } },
    },
  };
}
