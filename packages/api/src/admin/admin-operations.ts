import { z } from 'zod/v4';
import { kindSchema } from '../elicitations.ts';
import type { Operation, OperationScope } from '../operation.ts';
import * as responses from './admin-responses.ts';

/** An operation for operators. All responses of success have the status 200. */
export interface AdminOperation extends Operation {
  readonly scope: OperationScope;
}

/** Maximum length of a text that `find` searches for. */
export const MAX_FIND_TEXT = 200;
/** The name of an API key: 1 to 60 characters, and no control characters. */
export const apiKeyNamePattern = /^[^\p{C}\s](?:[^\p{C}]{0,58}[^\p{C}\s])?$/u;

const name = z.string().min(1).max(200);
const time = z.iso.datetime({ offset: true });
const limit = z.coerce.number().int().min(1).max(200).default(50);
const page = { limit, cursor: z.string().max(200).optional() };
const phase = z.enum(['open', 'ended']).default('open');
const person = { issuer: z.string().min(1).max(2000), subject: z.string().min(1).max(2000) };
const connectionId = z.string().max(200);
const dryRun = z.boolean().default(false);
/** How much of which payment. */
const refund = { minorUnits: z.int().min(1).optional(), processorReference: name.optional() };
const byElicitation = z.strictObject({ elicitationId: z.string().max(200) });
const byJob = z.strictObject({ jobId: z.string().max(100) });

const target = z
  .strictObject({
    connectionId: connectionId.optional(),
    person: z.strictObject(person).optional(),
    provider: name.optional(),
    mcpServerId: name.optional(),
    since: time.optional(),
  })
  .refine(({ since: _, ...members }) => Object.values(members).some(member => member !== undefined), {
    error: 'must name a connection, a person, a provider or an MCP server',
  });

const done = { responses: { 200: 'Done.' }, problems: [] } as const;

/** Every operation of the admin API. */
export const adminOperations = {
  getHealth: {
    method: 'GET',
    path: '/admin/v1/health',
    scope: 'read',
    summary: 'Redis, numbers of records, webhooks and keys',
    output: responses.health,
    ...done,
  },
  getCounts: {
    method: 'GET',
    path: '/admin/v1/counts',
    scope: 'read',
    summary: 'elicitations by hour or day, MCP server, kind and step',
    query: z.strictObject({ since: time, until: time, by: z.enum(['hour', 'day']).default('day') }).refine(
      // Each day of each MCP server is a read.
      ({ since, until }) => Date.parse(until) - Date.parse(since) <= 100 * 24 * 3_600_000,
      { error: 'must be at most 100 days', path: ['since'] },
    ),
    output: responses.counts,
    ...done,
  },
  listReplicas: {
    method: 'GET',
    path: '/admin/v1/replicas',
    scope: 'read',
    summary: 'running replicas, with their status and requests in flight',
    output: responses.listOf(responses.replica),
    ...done,
  },
  listElicitations: {
    method: 'GET',
    path: '/admin/v1/elicitations',
    scope: 'read',
    summary: 'open or ended elicitations, newest first, without persons',
    query: z.strictObject({
      phase,
      kind: z.enum(kindSchema.options).optional(),
      mcpServerId: name.optional(),
      provider: name.optional(),
      ...page,
    }),
    output: responses.pageOf(responses.elicitation),
    ...done,
  },
  getElicitation: {
    method: 'GET',
    path: '/admin/v1/elicitations/{elicitationId}',
    scope: 'people',
    summary: 'one elicitation with its person and its timeline',
    parameters: byElicitation,
    output: responses.elicitationReport,
    ...done,
  },
  cancelElicitation: {
    method: 'POST',
    path: '/admin/v1/elicitations/{elicitationId}/cancel',
    scope: 'act',
    summary: 'cancel an open elicitation for its MCP server',
    parameters: byElicitation,
    output: responses.cancelled,
    ...done,
  },
  listConnections: {
    method: 'GET',
    path: '/admin/v1/connections',
    scope: 'read',
    summary: 'connections, newest first, without tokens and persons',
    query: z.strictObject({
      mcpServerId: name.optional(),
      provider: name.optional(),
      since: time.optional(),
      ...page,
    }),
    output: responses.pageOf(responses.connection),
    ...done,
  },
  listCredentials: {
    method: 'GET',
    path: '/admin/v1/credentials',
    scope: 'read',
    summary: 'credentials, newest first, without values and persons',
    query: z.strictObject({ mcpServerId: name.optional(), ...page }),
    output: responses.pageOf(responses.credential),
    ...done,
  },
  listPayments: {
    method: 'GET',
    path: '/admin/v1/payments',
    scope: 'read',
    summary: 'payments, newest first, without persons',
    query: z.strictObject({ phase, mcpServerId: name.optional(), ...page }),
    output: responses.pageOf(responses.payment),
    ...done,
  },
  getPayment: {
    method: 'GET',
    path: '/admin/v1/payments/{elicitationId}',
    scope: 'read',
    summary: 'what was paid for an elicitation, with refunds and disputes, without the person',
    parameters: byElicitation,
    output: responses.paymentDetail,
    ...done,
  },
  planRefund: {
    method: 'POST',
    path: '/admin/v1/payments/{elicitationId}/refunds/plan',
    scope: 'read',
    summary: 'what a refund would pay back, and why not; changes nothing',
    parameters: byElicitation,
    body: z.strictObject(refund),
    output: responses.refundPlan,
    ...done,
    problems: ['payment_not_paid'],
  },
  startRefund: {
    method: 'POST',
    path: '/admin/v1/payments/{elicitationId}/refunds',
    scope: 'act',
    summary: 'pay back a payment, or a part of it; the same amount for the same reason once',
    parameters: byElicitation,
    body: z.strictObject({ ...refund, plan: z.string().max(64).optional() }),
    output: responses.startedRefund,
    ...done,
    problems: [
      'payment_not_paid',
      'payment_disputed',
      'payment_changed',
      'too_many_refunds',
      'refund_exceeds_payment',
      'refund_not_possible',
    ],
  },
  listWebhookEndpoints: {
    method: 'GET',
    path: '/admin/v1/webhook-endpoints',
    scope: 'read',
    summary: 'webhook endpoints with their pending and dead deliveries',
    output: responses.listOf(responses.webhookEndpoint),
    ...done,
  },
  listDeadDeliveries: {
    method: 'GET',
    path: '/admin/v1/dead-deliveries',
    scope: 'read',
    summary: 'dead deliveries, newest first',
    query: z.strictObject({ endpoint: name.optional(), limit }),
    output: responses.listOf(responses.deadDelivery),
    ...done,
  },
  listRetryingDeliveries: {
    method: 'GET',
    path: '/admin/v1/retrying-deliveries',
    scope: 'read',
    summary: 'deliveries that wait for their next attempt, the soonest first',
    query: z.strictObject({ endpoint: name.optional(), limit }),
    output: responses.listOf(responses.retryingDelivery),
    ...done,
  },
  enableWebhookEndpoint: {
    method: 'POST',
    path: '/admin/v1/webhook-endpoints/enable',
    scope: 'act',
    summary: 'enable an endpoint that responded 410 or failed for 72 hours',
    body: z.strictObject({ endpoint: name, dryRun }),
    output: responses.webhookEnabled,
    ...done,
  },
  startRedelivery: {
    method: 'POST',
    path: '/admin/v1/redeliveries',
    scope: 'act',
    summary: 'start a job that retries the retrying and dead deliveries of an endpoint, and counts how they end',
    body: z.strictObject({ endpoint: name }),
    output: responses.job,
    ...done,
  },
  listApiKeys: {
    method: 'GET',
    path: '/admin/v1/api-keys',
    scope: 'read',
    summary: 'API keys of the configuration and of Redis, without the keys',
    output: responses.listOf(responses.apiKey),
    ...done,
  },
  addApiKey: {
    method: 'POST',
    path: '/admin/v1/api-keys',
    scope: 'keys',
    summary: 'add an API key of an MCP server, and return it once',
    body: z.strictObject({ mcpServerId: name, name: z.string().regex(apiKeyNamePattern), dryRun }),
    output: responses.addedApiKey,
    ...done,
  },
  revokeApiKey: {
    method: 'POST',
    path: '/admin/v1/api-keys/{apiKeyId}/revoke',
    scope: 'keys',
    summary: 'refuse an API key on all replicas',
    parameters: z.strictObject({ apiKeyId: name }),
    body: z.strictObject({ dryRun }),
    output: responses.revokedApiKey,
    ...done,
  },
  listAudit: {
    method: 'GET',
    path: '/admin/v1/audit',
    scope: 'read',
    summary: 'lines of the audit trail, newest first; persons are pseudonyms',
    query: z.strictObject({
      event: name.optional(),
      mcpServerId: name.optional(),
      apiKeyId: name.optional(),
      since: time.optional(),
      until: time.optional(),
      ...page,
    }),
    output: responses.pageOf(responses.auditLine),
    ...done,
  },
  readAudit: {
    method: 'GET',
    path: '/admin/v1/audit/lines',
    scope: 'read',
    summary: 'lines of the audit trail, oldest first, to keep a copy of it; persons are pseudonyms',
    query: z.strictObject({
      event: name.optional(),
      mcpServerId: name.optional(),
      elicitationId: name.optional(),
      apiKeyId: name.optional(),
      since: time.optional(),
      ...page,
    }),
    output: responses.auditLines,
    ...done,
  },
  find: {
    method: 'POST',
    path: '/admin/v1/find',
    scope: 'read',
    summary:
      'records and audit lines by a request id, id, match code, reference or pseudonym; the text is logged nowhere',
    body: z.strictObject({ text: z.string().min(1).max(MAX_FIND_TEXT) }),
    output: responses.found,
    ...done,
  },
  showPerson: {
    method: 'POST',
    path: '/admin/v1/people/show',
    scope: 'people',
    summary: 'what is stored about a person, without secrets',
    body: z.strictObject(person),
    output: responses.person,
    ...done,
  },
  exportPerson: {
    method: 'POST',
    path: '/admin/v1/people/export',
    scope: 'people',
    summary: 'the document that the person can download',
    body: z.strictObject(person),
    output: responses.personExport,
    ...done,
  },
  signOutPerson: {
    method: 'POST',
    path: '/admin/v1/people/sign-out',
    scope: 'act',
    summary: 'end all browser sessions of a person',
    body: z.strictObject({ ...person, dryRun }),
    output: responses.signedOut,
    ...done,
  },
  erasePerson: {
    method: 'POST',
    path: '/admin/v1/people/erase',
    scope: 'act',
    summary: 'delete what is stored about a person, and say what stays',
    body: z.strictObject({ ...person, dryRun }),
    output: responses.erasedPerson,
    ...done,
  },
  resetPasskeys: {
    method: 'POST',
    path: '/admin/v1/people/reset-passkeys',
    scope: 'act',
    summary: 'remove all passkeys of a person; the next one approves payments after 24 hours',
    body: z.strictObject({ ...person, dryRun }),
    output: responses.resetPasskeys,
    ...done,
  },
  planDisconnect: {
    method: 'POST',
    path: '/admin/v1/disconnects/plan',
    scope: 'people',
    summary: 'how many connections a disconnect would remove; changes nothing',
    body: target,
    output: responses.disconnectPlan,
    ...done,
  },
  startDisconnect: {
    method: 'POST',
    path: '/admin/v1/disconnects',
    scope: 'act',
    summary: 'start a job that removes connections and has their grants revoked',
    body: target,
    output: responses.job,
    ...done,
  },
  listJobs: {
    method: 'GET',
    path: '/admin/v1/jobs',
    scope: 'read',
    summary: 'jobs: unfinished ones first, then the last to end',
    query: z.strictObject({ limit }),
    output: responses.listOf(responses.job),
    ...done,
  },
  getJob: {
    method: 'GET',
    path: '/admin/v1/jobs/{jobId}',
    scope: 'read',
    summary: 'what a job does and how far it is',
    parameters: byJob,
    output: responses.job,
    ...done,
  },
  cancelJob: {
    method: 'POST',
    path: '/admin/v1/jobs/{jobId}/cancel',
    scope: 'act',
    summary: 'stop a job; what it has done stays done',
    parameters: byJob,
    output: responses.job,
    ...done,
  },
} as const satisfies Record<string, AdminOperation>;

export type AdminOperationId = keyof typeof adminOperations;
