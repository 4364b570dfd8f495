import type { ProblemCode } from '@postern/api';
import {
  type AdminScope,
  type ElicitationId,
  kinds,
  NotFoundError,
  parseConnectionId,
  parseElicitationId,
} from '@postern/elicitation';
import { z } from 'zod';
import type { Actor, ReasonedActor } from '../admin/admin-audit.ts';
import type { AdminService } from '../admin/admin-service.ts';
import { apiKeyItem, apiKeyNamePattern } from '../admin/api-keys.ts';
import type { DisconnectTarget } from '../admin/connection-search.ts';
import { MAX_TEXT } from '../admin/find.ts';
import * as responses from './admin-responses.ts';
import * as overviewResponses from './overview-responses.ts';

/** What an operation gets: its parameters, and the service behind all doors. */
interface Call<Input> {
  readonly admin: AdminService;
  readonly actor: Actor;
  readonly input: Input;
}

export interface AdminOperation {
  readonly id: string;
  readonly method: 'GET' | 'POST';
  /** Below `/admin/v1`, with `{name}` for members of the input in the path. */
  readonly path: string;
  readonly scope: AdminScope;
  readonly about: string;
  readonly input: z.ZodObject;
  /** Of the response. */
  readonly output: z.ZodObject;
  /** Codes besides those of every operation. */
  readonly refusals?: readonly ProblemCode[];
  /** Undefined: 404. */
  readonly run: (call: Call<unknown>) => Promise<unknown>;
}

type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Immutable<T[Name]> }
    : T;

const operation = <Input extends z.ZodObject, Output extends z.ZodObject>(
  of: Omit<AdminOperation, 'input' | 'output' | 'run'> & {
    readonly input: Input;
    readonly output: Output;
    readonly run: (call: Call<z.infer<Input>>) => Promise<Immutable<z.infer<Output>> | undefined>;
  },
): AdminOperation => ({ ...of, run: call => of.run({ ...call, input: of.input.parse(call.input) }) });

const name = z.string().min(1).max(200);
const time = z.iso.datetime({ offset: true });
const page = {
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional(),
};
const phase = z.enum(['open', 'ended']).default('open');
const person = { issuer: z.string().min(1).max(2000), subject: z.string().min(1).max(500) };
const elicitationId = z.string().max(200);
const connectionId = z.string().max(200);
const jobId = z.string().max(100);
/** How much of which payment. */
const refund = {
  elicitationId,
  minorUnits: z.int().min(1).optional(),
  processorReference: name.optional(),
};
const nothing = z.strictObject({});

const elicitationIdIn = (text: string): ElicitationId => {
  const found = parseElicitationId(text);
  if (found === undefined) throw new NotFoundError('elicitation');
  return found;
};
const dateOf = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

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

function targetOf({ connectionId: id, person: subject, provider, mcpServerId, since }: z.infer<typeof target>) {
  const parsed = id === undefined ? undefined : parseConnectionId(id);
  if (id !== undefined && parsed === undefined) throw new NotFoundError('connection');
  const found: DisconnectTarget = {
    connectionId: parsed,
    subject,
    provider,
    mcpServerId,
    since: dateOf(since),
  };
  return found;
}

/** Operations of the scopes `act` and `keys` are refused without a reason. */
const reasoned = ({ reason = '', ...actor }: Actor): ReasonedActor => ({ ...actor, reason });

/** Every operation of the admin API: the routes, the OpenAPI document and the tests follow from it. */
export const adminOperations: readonly AdminOperation[] = [
  operation({
    id: 'getHealth',
    method: 'GET',
    path: '/health',
    scope: 'read',
    about: 'Redis, numbers of records, webhooks and keys',
    input: nothing,
    output: overviewResponses.health,
    run: ({ admin }) => admin.health(),
  }),
  operation({
    id: 'getCounts',
    method: 'GET',
    path: '/counts',
    scope: 'read',
    about: 'elicitations by hour or day, MCP server, kind and step',
    input: z.strictObject({ since: time, until: time, by: z.enum(['hour', 'day']).default('day') }).refine(
      // Each day of each MCP server is a read.
      ({ since, until }) => Date.parse(until) - Date.parse(since) <= 100 * 24 * 3_600_000,
      { error: 'must be at most 100 days', path: ['since'] },
    ),
    output: overviewResponses.counts,
    run: ({ admin, input }) => admin.counts({ ...input, since: new Date(input.since), until: new Date(input.until) }),
  }),
  operation({
    id: 'listElicitations',
    method: 'GET',
    path: '/elicitations',
    scope: 'read',
    about: 'open or ended elicitations, newest first, without persons',
    input: z.strictObject({
      phase,
      kind: z.enum(kinds).optional(),
      mcpServerId: name.optional(),
      provider: name.optional(),
      ...page,
    }),
    output: responses.pageOf(responses.elicitation),
    run: ({ admin, actor, input }) => admin.elicitations(actor, input),
  }),
  operation({
    id: 'getElicitation',
    method: 'GET',
    path: '/elicitations/{elicitationId}',
    scope: 'people',
    about: 'one elicitation with its person and its timeline',
    input: z.strictObject({ elicitationId }),
    output: responses.elicitationReport,
    run: ({ admin, actor, input }) => admin.elicitation(actor, elicitationIdIn(input.elicitationId)),
  }),
  operation({
    id: 'cancelElicitation',
    method: 'POST',
    path: '/elicitations/{elicitationId}/cancel',
    scope: 'act',
    about: 'cancel an open elicitation for its MCP server',
    input: z.strictObject({ elicitationId }),
    output: responses.cancelled,
    async run({ admin, actor, input }) {
      const result = await admin.cancelElicitation(actor, elicitationIdIn(input.elicitationId));
      return result && { result };
    },
  }),
  operation({
    id: 'listConnections',
    method: 'GET',
    path: '/connections',
    scope: 'read',
    about: 'connections, newest first, without tokens and persons',
    input: z.strictObject({
      mcpServerId: name.optional(),
      provider: name.optional(),
      since: time.optional(),
      ...page,
    }),
    output: responses.pageOf(responses.connection),
    run: ({ admin, actor, input: { since, ...input } }) => admin.connections(actor, { ...input, since: dateOf(since) }),
  }),
  operation({
    id: 'listCredentials',
    method: 'GET',
    path: '/credentials',
    scope: 'read',
    about: 'credentials, newest first, without values and persons',
    input: z.strictObject({ mcpServerId: name.optional(), ...page }),
    output: responses.pageOf(responses.credential),
    run: ({ admin, actor, input }) => admin.credentials(actor, input),
  }),
  operation({
    id: 'listPayments',
    method: 'GET',
    path: '/payments',
    scope: 'read',
    about: 'payments, newest first, without persons',
    input: z.strictObject({ phase, mcpServerId: name.optional(), ...page }),
    output: responses.pageOf(responses.payment),
    run: ({ admin, actor, input }) => admin.payments(actor, input),
  }),
  operation({
    id: 'getPayment',
    method: 'GET',
    path: '/payments/{elicitationId}',
    scope: 'read',
    about: 'what was paid for an elicitation, with refunds and disputes, without the person',
    input: z.strictObject({ elicitationId }),
    output: responses.paymentDetail,
    run: ({ admin, input }) => admin.payment(elicitationIdIn(input.elicitationId)),
  }),
  operation({
    id: 'planRefund',
    method: 'POST',
    path: '/payments/{elicitationId}/refunds/plan',
    scope: 'read',
    about: 'what a refund would pay back, and why not; changes nothing',
    input: z.strictObject(refund),
    output: responses.refundPlan,
    refusals: ['payment_not_paid'],
    run: ({ admin, input: { elicitationId: id, ...ask } }) => admin.planRefund(elicitationIdIn(id), ask),
  }),
  operation({
    id: 'startRefund',
    method: 'POST',
    path: '/payments/{elicitationId}/refunds',
    scope: 'act',
    about: 'pay back a payment, or a part of it; the same amount for the same reason once',
    input: z.strictObject({ ...refund, plan: z.string().max(64).optional() }),
    output: responses.startedRefund,
    refusals: [
      ...(['payment_not_paid', 'payment_disputed', 'payment_changed', 'too_many_refunds'] as const),
      ...(['refund_exceeds_payment', 'refund_not_possible'] as const),
    ],
    run: ({ admin, actor, input: { elicitationId: id, ...ask } }) =>
      admin.startRefund(reasoned(actor), elicitationIdIn(id), ask),
  }),
  operation({
    id: 'listWebhookEndpoints',
    method: 'GET',
    path: '/webhook-endpoints',
    scope: 'read',
    about: 'webhook endpoints with their pending and dead deliveries',
    input: nothing,
    output: responses.listOf(responses.webhookEndpoint),
    run: async ({ admin }) => ({ items: await admin.webhookEndpoints() }),
  }),
  operation({
    id: 'listDeadDeliveries',
    method: 'GET',
    path: '/dead-deliveries',
    scope: 'read',
    about: 'dead deliveries, newest first',
    input: z.strictObject({ endpoint: name.optional(), limit: page.limit }),
    output: responses.listOf(responses.deadDelivery),
    run: async ({ admin, input }) => ({ items: await admin.deadDeliveries(input) }),
  }),
  operation({
    id: 'listRetryingDeliveries',
    method: 'GET',
    path: '/retrying-deliveries',
    scope: 'read',
    about: 'deliveries that wait for their next attempt, the soonest first',
    input: z.strictObject({ endpoint: name.optional(), limit: page.limit }),
    output: responses.listOf(responses.retryingDelivery),
    run: async ({ admin, input }) => ({ items: await admin.retryingDeliveries(input) }),
  }),
  operation({
    id: 'enableWebhookEndpoint',
    method: 'POST',
    path: '/webhook-endpoints/enable',
    scope: 'act',
    about: 'enable an endpoint that responded 410 or failed for 72 hours',
    input: z.strictObject({ endpoint: name, dryRun: z.boolean().default(false) }),
    output: responses.webhookEnabled,
    run: ({ admin, actor, input }) => admin.enableWebhookEndpoint(actor, input),
  }),
  operation({
    id: 'startRedelivery',
    method: 'POST',
    path: '/redeliveries',
    scope: 'act',
    about: 'start a job that retries the retrying and dead deliveries of an endpoint, and counts how they end',
    input: z.strictObject({ endpoint: name }),
    output: responses.job,
    run: ({ admin, actor, input }) => admin.startRedelivery(actor, input),
  }),
  operation({
    id: 'listApiKeys',
    method: 'GET',
    path: '/api-keys',
    scope: 'read',
    about: 'API keys of the configuration and of Redis, without the keys',
    input: nothing,
    output: responses.listOf(responses.apiKey),
    run: async ({ admin }) => ({ items: (await admin.apiKeys()).map(apiKeyItem) }),
  }),
  operation({
    id: 'addApiKey',
    method: 'POST',
    path: '/api-keys',
    scope: 'keys',
    about: 'add an API key of an MCP server, and return it once',
    input: z.strictObject({
      mcpServerId: name,
      name: z.string().regex(apiKeyNamePattern),
      dryRun: z.boolean().default(false),
    }),
    output: responses.addedApiKey,
    run: ({ admin, actor, input }) => admin.addApiKey(reasoned(actor), input),
  }),
  operation({
    id: 'revokeApiKey',
    method: 'POST',
    path: '/api-keys/{apiKeyId}/revoke',
    scope: 'keys',
    about: 'refuse an API key on all replicas',
    input: z.strictObject({ apiKeyId: name, dryRun: z.boolean().default(false) }),
    output: responses.revokedApiKey,
    async run({ admin, actor, input }) {
      const revoked = await admin.revokeApiKey(reasoned(actor), input);
      return revoked && { ...revoked, apiKey: apiKeyItem(revoked.apiKey) };
    },
  }),
  operation({
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    scope: 'read',
    about: 'lines of the audit trail, newest first; persons are pseudonyms',
    input: z.strictObject({
      event: name.optional(),
      mcpServerId: name.optional(),
      apiKeyId: name.optional(),
      since: time.optional(),
      until: time.optional(),
      ...page,
    }),
    output: responses.pageOf(responses.auditLine),
    run: ({ admin, actor, input: { since, until, ...input } }) =>
      admin.audit(actor, { ...input, since: dateOf(since), until: dateOf(until) }),
  }),
  operation({
    id: 'find',
    method: 'POST',
    path: '/find',
    scope: 'read',
    about:
      'records and audit lines by a request id, id, match code, reference or pseudonym; the text is logged nowhere',
    input: z.strictObject({ text: z.string().min(1).max(MAX_TEXT) }),
    output: responses.found,
    run: ({ admin, input }) => admin.find(input.text),
  }),
  operation({
    id: 'showPerson',
    method: 'POST',
    path: '/people/show',
    scope: 'people',
    about: 'what is stored about a person, without secrets',
    input: z.strictObject(person),
    output: responses.person,
    run: ({ admin, actor, input }) => admin.person(actor, input),
  }),
  operation({
    id: 'exportPerson',
    method: 'POST',
    path: '/people/export',
    scope: 'people',
    about: 'the document that the person can download',
    input: z.strictObject(person),
    output: responses.personExport,
    run: ({ admin, actor, input }) => admin.exportPerson(actor, input),
  }),
  operation({
    id: 'signOutPerson',
    method: 'POST',
    path: '/people/sign-out',
    scope: 'act',
    about: 'end all browser sessions of a person',
    input: z.strictObject({ ...person, dryRun: z.boolean().default(false) }),
    output: responses.signedOut,
    run: ({ admin, actor, input: { dryRun, ...subject } }) => admin.signOutPerson(actor, subject, { dryRun }),
  }),
  operation({
    id: 'planDisconnect',
    method: 'POST',
    path: '/disconnects/plan',
    scope: 'people',
    about: 'how many connections a disconnect would remove; changes nothing',
    input: target,
    output: responses.disconnectPlan,
    run: ({ admin, actor, input }) => admin.planDisconnect(actor, targetOf(input)),
  }),
  operation({
    id: 'startDisconnect',
    method: 'POST',
    path: '/disconnects',
    scope: 'act',
    about: 'start a job that removes connections and has their grants revoked',
    input: target,
    output: responses.job,
    run: ({ admin, actor, input }) => admin.startDisconnect(actor, targetOf(input)),
  }),
  operation({
    id: 'listJobs',
    method: 'GET',
    path: '/jobs',
    scope: 'read',
    about: 'jobs: unfinished ones first, then the last to end',
    input: z.strictObject({ limit: page.limit }),
    output: responses.listOf(responses.job),
    run: async ({ admin, input }) => ({ items: await admin.jobs(input) }),
  }),
  operation({
    id: 'getJob',
    method: 'GET',
    path: '/jobs/{jobId}',
    scope: 'read',
    about: 'what a job does and how far it is',
    input: z.strictObject({ jobId }),
    output: responses.job,
    run: ({ admin, input }) => admin.job(input.jobId),
  }),
  operation({
    id: 'cancelJob',
    method: 'POST',
    path: '/jobs/{jobId}/cancel',
    scope: 'act',
    about: 'stop a job; what it has done stays done',
    input: z.strictObject({ jobId }),
    output: responses.job,
    run: ({ admin, actor, input }) => admin.cancelJob(actor, input.jobId),
  }),
];
