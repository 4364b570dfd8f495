import type { z } from 'zod/v4';
import { webhookEventSchema } from './events.ts';
import { operationExamples, problemExample, receiptKeySetExample, webhookExample } from './examples.ts';
import { createOpenApiSchemas, type Json, type OpenApiSchemas } from './openapi-schemas.ts';
import { bodyProblems, commonProblems, type Operation, tags } from './operation.ts';
import { operations } from './operations.ts';
import { type ProblemCode, problemSchema, problems } from './problems.ts';
import { receiptKeySetSchema } from './redemption.ts';

type SchemaOf = OpenApiSchemas['schemaOf'];

interface Examples {
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly request?: Readonly<Record<string, unknown>>;
  readonly response: Readonly<Record<string, unknown>>;
}

const asExamples = (values: Readonly<Record<string, unknown>>): Json =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));

function parametersOf(
  schemaOf: SchemaOf,
  schema: z.ZodObject | undefined,
  place: 'path' | 'query',
  examples: Examples['parameters'],
): Json[] {
  if (schema === undefined) return [];
  const { properties, required } = schemaOf(schema, 'input') as {
    properties: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    const example = examples?.[name];
    return {
      name,
      in: place,
      required: place === 'path' || (required ?? []).includes(name),
      description,
      schema: rest,
      example,
    };
  });
}

const header = (name: string, description: string, schema: Json, required = false): Json => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string', ...schema },
});

const lastEventId = header(
  'Last-Event-ID',
  'The `id` of the last event that was seen. Clients that reconnect automatically send it.',
  { maxLength: 32 },
);

const integer = { type: 'integer', minimum: 0 };

/** Response headers, by the name of their component. */
const responseHeaders: Readonly<Record<string, Json>> = {
  RetryAfter: {
    description: 'Seconds to wait before the next attempt (RFC 9110 section 10.2.3). Always present with 429 and 503.',
    schema: { type: 'integer', minimum: 1 },
  },
  WwwAuthenticate: {
    description: 'The scheme of the expected credential (RFC 6750 section 3).',
    schema: { type: 'string' },
  },
  RateLimitLimit: { description: 'Requests per minute of this MCP server, per gateway process.', schema: integer },
  RateLimitRemaining: { description: 'Requests that are left in this window.', schema: integer },
  RateLimitReset: { description: 'Seconds until the window ends.', schema: integer },
};
const headerRef = (name: string) => ({ $ref: `#/components/headers/${name}` });
const rateLimitHeaders = {
  'X-RateLimit-Limit': headerRef('RateLimitLimit'),
  'X-RateLimit-Remaining': headerRef('RateLimitRemaining'),
  'X-RateLimit-Reset': headerRef('RateLimitReset'),
};

/** Headers that responses with a status have. A gateway error in front of a provider may have `Retry-After` too. */
function problemHeaders(status: number): Json {
  if (status === 401) return { 'WWW-Authenticate': headerRef('WwwAuthenticate') };
  return status === 429 || status === 503 || status === 502 ? { 'Retry-After': headerRef('RetryAfter') } : {};
}

function problemResponses(codes: readonly ProblemCode[]): Json {
  const byStatus = Map.groupBy(new Set(codes), code => problems[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => {
      const headers = problemHeaders(status);
      const schema = {
        allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: { code: { enum: list } } }],
      };
      const example = list.includes(problemExample.code) ? { example: problemExample } : {};
      return [
        String(status),
        {
          description: list.map(code => `\`${code}\`: ${problems[code].title}`).join(' '),
          ...(Object.keys(headers).length === 0 ? {} : { headers }),
          content: { 'application/problem+json': { schema, ...example } },
        },
      ];
    }),
  );
}

function operationObject(schemaOf: SchemaOf, operationId: string, operation: Operation, examples: Examples): Json {
  const { tag, summary, body, idempotencyKey, streams, responses } = operation;
  const parameters = [
    ...parametersOf(schemaOf, operation.parameters, 'path', examples.parameters),
    ...parametersOf(schemaOf, operation.query, 'query', examples.parameters),
    ...(idempotencyKey === undefined
      ? []
      : [
          header(
            'Idempotency-Key',
            idempotencyKey,
            { minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
            operation.requiresIdempotencyKey === true,
          ),
        ]),
    ...(streams === true ? [lastEventId] : []),
  ];
  const responseType = streams === true ? 'text/event-stream' : 'application/json';
  return {
    operationId,
    tags: [tag],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.optionalBody !== true,
            content: {
              'application/json': { schema: schemaOf(body, 'input'), examples: asExamples(examples.request ?? {}) },
            },
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, { description, schema }]) => [
          status,
          {
            description,
            headers: rateLimitHeaders,
            content: {
              [responseType]: { schema: schemaOf(schema, 'output'), examples: asExamples(examples.response) },
            },
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

/** The keys that verify receipts: public, and outside the API of MCP servers. */
function keySetOperation(schemaOf: SchemaOf): Json {
  return {
    operationId: 'readReceiptKeys',
    tags: ['Receipts'],
    summary: 'Read the keys that verify receipts (RFC 7517).',
    security: [],
    responses: {
      200: {
        description: 'All keys whose receipts must be verified.',
        headers: {
          'Cache-Control': { description: 'How long to keep the keys.', schema: { type: 'string' } },
        },
        content: {
          'application/jwk-set+json': {
            schema: schemaOf(receiptKeySetSchema, 'output'),
            examples: asExamples({ one: receiptKeySetExample }),
          },
        },
      },
      ...problemResponses(['overloaded']),
    },
  };
}

/** The request that the gateway sends to the webhook endpoints of an MCP server. docs/webhooks.md describes it. */
function webhookOperation(schemaOf: SchemaOf): Json {
  const signature =
    'One or more signatures (Standard Webhooks), separated by spaces: `v1,` and HMAC-SHA256, or `v1a,` and Ed25519, in base64, over ' +
    '`{webhook-id}.{webhook-timestamp}.{body}`. One valid signature is enough.';
  return {
    operationId: 'elicitationChanged',
    tags: ['Events'],
    summary:
      'An elicitation has changed. Verify the signature over the raw body first, and read the elicitation for its outcome.',
    security: [],
    parameters: [
      header('webhook-id', 'The same in all attempts.', {}, true),
      header('webhook-timestamp', 'Time of this attempt, in seconds since 1970.', { pattern: '^[0-9]+$' }, true),
      header('webhook-signature', signature, {}, true),
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schemaOf(webhookEventSchema, 'output'),
          examples: asExamples({ completed: webhookExample }),
        },
      },
    },
    responses: {
      '2XX': { description: 'Received. The gateway discards the body.' },
      410: { description: 'Disables the endpoint until an operator enables it.' },
      429: { description: 'Retried after the requested time.', headers: { 'Retry-After': headerRef('RetryAfter') } },
      503: { description: 'Retried after the requested time.', headers: { 'Retry-After': headerRef('RetryAfter') } },
      default: { description: 'Retried for 72 hours.' },
    },
  };
}

/** Builds the OpenAPI 3.1 document of the contract from the schemas with which the gateway validates. */
export function openApiDocument(publicUrl: string): Json {
  const { components, schemaOf } = createOpenApiSchemas();
  schemaOf(problemSchema, 'output');
  const paths: Record<string, Json> = {};
  for (const [operationId, operation] of Object.entries(operations) as [keyof typeof operations, Operation][]) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: operationObject(
        schemaOf,
        operationId,
        operation,
        operationExamples[operationId],
      ),
    };
  }
  paths['/.well-known/jwks.json'] = { get: keySetOperation(schemaOf) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postern',
      version: '1',
      description:
        'The API that MCP servers call. Later releases add members to responses, values to enumerations and operations; ignore what you do not know.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: [{ credential: [] }],
    paths,
    webhooks: { elicitationChanged: { post: webhookOperation(schemaOf) } },
    components: {
      securitySchemes: {
        credential: {
          type: 'http',
          scheme: 'bearer',
          description: "An API key of a registered MCP server, or a JWT signed with the MCP server's registered key.",
        },
      },
      headers: responseHeaders,
      schemas: components(),
    },
  };
}
