import { webhookEventSchema } from './events.ts';
import { problemExample, receiptKeySetExample, webhookExample } from './examples.ts';
import { asExamples, headerParameter, type OpenApiDialect, openApiPaths, problemResponses } from './openapi-paths.ts';
import { createOpenApiSchemas, type Json, type OpenApiSchemas } from './openapi-schemas.ts';
import { bodyProblems, commonProblems, type Operation, tags } from './operation.ts';
import { operations } from './operations.ts';
import { problemSchema } from './problems.ts';
import { receiptKeySetSchema } from './redemption.ts';

type SchemaOf = OpenApiSchemas['schemaOf'];

const lastEventId = headerParameter(
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

const problem: OpenApiDialect['problem'] = (status, codes) => {
  const headers = problemHeaders(status);
  return {
    ...(Object.keys(headers).length > 0 && { members: { headers } }),
    ...(codes.includes(problemExample.code) && { example: { example: problemExample } }),
  };
};

function headersOf({ idempotencyKey, requiresIdempotencyKey, streams }: Operation): Json[] {
  const key = { minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' };
  const isRequired = requiresIdempotencyKey !== undefined;
  return [
    ...(idempotencyKey === undefined ? [] : [headerParameter('Idempotency-Key', idempotencyKey, key, isRequired)]),
    ...(streams === true ? [lastEventId] : []),
  ];
}

const dialectOf = (schemaOf: SchemaOf): OpenApiDialect => ({
  schemaOf,
  about: ({ tag }) => ({ tags: [tag] }),
  headers: headersOf,
  requestSchema: schema => schema,
  parameter: ({ description, ...schema }) => ({ description, schema }),
  success: { headers: rateLimitHeaders },
  problemsOf: of => [...commonProblems, ...(of.method === 'POST' ? bodyProblems : []), ...of.problems],
  problem,
});

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
      ...problemResponses(problem, ['overloaded']),
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
      headerParameter('webhook-id', 'The same in all attempts.', {}, true),
      headerParameter(
        'webhook-timestamp',
        'Time of this attempt, in seconds since 1970.',
        { pattern: '^[0-9]+$' },
        true,
      ),
      headerParameter('webhook-signature', signature, {}, true),
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
  const { components, schemaOf } = createOpenApiSchemas({ hasTimePatterns: true, shown: JSON.stringify });
  schemaOf(problemSchema, 'output');
  const paths = openApiPaths(dialectOf(schemaOf), operations);
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
