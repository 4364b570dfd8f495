import { doors, kinds, refundStatuses } from '@postern/elicitation';
import { z } from 'zod';

/**
 * What the operations of `/admin/v1` return. The OpenAPI document derives from these schemas, what an operation runs must fit their types,
 * and the tests check each response. Members may be added: callers ignore the ones that they do not know.
 */

export const text = z.string();
export const time = z.iso.datetime();
export const count = z.int().nonnegative();
const pseudonym = text.meta({ description: 'The pseudonym of a person in the audit trail.' });
const status = z.enum(['pending', 'active', 'verifying', 'completed', 'declined', 'failed', 'cancelled', 'expired']);
const lastUse = z.object({ mcpServerId: text, tool: text.exactOptional(), at: time });
export const named = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) => z.object(shape).meta({ id });

export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item) });
const next = text.exactOptional().meta({ description: 'Absent at the end of the list. Pass it as `cursor`.' });
export const pageOf = <Item extends z.ZodType>(item: Item) => listOf(item).extend({ next });

const elicitationMembers = {
  elicitationId: text,
  kind: z.enum(kinds),
  status,
  mcpServerId: text,
  subject: pseudonym,
  createdAt: time,
  expiresAt: time,
  endedAt: time.exactOptional(),
  provider: text.exactOptional(),
  tool: text.exactOptional(),
  failure: text.exactOptional(),
  retryReason: text.exactOptional(),
};
export const elicitation = named('Elicitation', elicitationMembers);

const mode = z.enum(['live', 'test']);
const refund = {
  refundId: text,
  minorUnits: count,
  status: z.enum(['pending', 'succeeded', 'failed']),
  createdAt: time,
  requestedBy: z.enum(['mcp_server', 'processor', 'gateway', 'operator']),
  processorReference: text.exactOptional(),
  failure: text.exactOptional(),
};
const taken = named('TakenPayment', {
  processor: text,
  processorReference: text,
  currency: text,
  minorUnits: count,
  mode: mode.exactOptional(),
  payeeAccount: text.exactOptional(),
  paidAt: time.exactOptional(),
  completesElicitation: z.boolean(),
  refundedMinorUnits: count,
  refundableMinorUnits: count,
  refunds: z.array(z.object(refund)),
  disputes: z.array(
    z.object({
      processorReference: text,
      currency: text,
      minorUnits: count,
      createdAt: time,
      status: z.enum(['inquiry', 'open', 'won', 'lost']),
    }),
  ),
});
/** Absent after the elicitation has expired. */
const requested = {
  status: status.exactOptional(),
  subject: pseudonym.exactOptional(),
  payee: text.exactOptional(),
  requested: z.object({ currency: text, minorUnits: count, processor: text }).exactOptional(),
};

export const paymentDetail = named('PaymentDetail', {
  elicitationId: text,
  mcpServerId: text.exactOptional(),
  ...requested,
  payments: z.array(taken),
});

export const refundPlan = named('RefundPlan', {
  elicitationId: text,
  mcpServerId: text,
  ...requested,
  payment: taken,
  minorUnits: count,
  leftMinorUnits: count.meta({ description: 'What can be paid back afterwards.' }),
  plan: text.meta({
    description: 'Pass it as `plan`: another refund is refused, and any if the payment has changed since.',
  }),
  refusal: z
    .enum(['payment_disputed', 'refund_exceeds_payment', 'refund_not_possible', 'too_many_refunds'])
    .exactOptional()
    .meta({ description: 'Why the refund is not possible now.' }),
});

export const startedRefund = named('StartedRefund', { elicitationId: text, currency: text, ...refund });

export const payment = named('Payment', {
  ...elicitationMembers,
  payments: z.array(taken).meta({ description: 'What processors have taken.' }),
  processor: text.optional(),
  payee: text,
  currency: text,
  minorUnits: count,
  approvedAt: time.exactOptional(),
  processorReference: text.exactOptional(),
  mode: mode.exactOptional(),
});

export const connection = named('Connection', {
  connectionId: text,
  owner: text.meta({ description: 'An MCP server, or `group:` and the name of a group.' }),
  provider: text,
  subject: pseudonym,
  scopes: z.array(text),
  isRefreshable: z.boolean(),
  elicitationId: text,
  connectedAt: time,
  renewedAt: time,
  resource: text.exactOptional(),
  accessTokenExpiresAt: time.exactOptional(),
  lost: z.object({ reason: text, at: time }).exactOptional(),
  lastUse: lastUse.exactOptional(),
});

export const credential = named('Credential', {
  credentialId: text,
  owner: text,
  name: text,
  fields: z.array(text),
  subject: pseudonym,
  elicitationId: text,
  firstSavedAt: time,
  savedAt: time,
  lastUse: lastUse.exactOptional(),
});

const approval = z.object({ method: text, identity: text, at: time });

export const elicitationReport = named('ElicitationReport', {
  elicitationId: text,
  matchCode: text,
  kind: z.enum(kinds),
  status,
  mcpServerId: text,
  version: count,
  subject: pseudonym,
  person: z.object({ issuer: text, subject: text }),
  identityMode: text,
  createdAt: time,
  expiresAt: time,
  endedAt: time.exactOptional(),
  claimedToBeAskedBy: z.object({ mcpClient: text.exactOptional(), tool: text.exactOptional() }).exactOptional(),
  retryReason: text.exactOptional(),
  missingScopes: z.array(text).exactOptional(),
  failure: text.exactOptional(),
  approval: approval.optional(),
  chargeReference: text.optional(),
  redeemedAt: time.optional(),
  outcome: z
    .object({
      connectionId: text.exactOptional(),
      scopes: z.array(text).exactOptional(),
      approval: approval.exactOptional(),
      processor: text.optional(),
      processorReference: text.exactOptional(),
      mode: text.exactOptional(),
      credentialId: text.exactOptional(),
    })
    .exactOptional(),
  asked: z
    .object({
      provider: text.exactOptional(),
      scopes: z.array(text).exactOptional(),
      resource: text.exactOptional(),
      insistsOnAccount: z.boolean().exactOptional(),
      payee: text.exactOptional(),
      currency: text.exactOptional(),
      minorUnits: count.exactOptional(),
      items: count.exactOptional(),
      reference: text.exactOptional(),
      processor: text.optional(),
      title: text.exactOptional(),
      action: text.exactOptional(),
      danger: text.exactOptional(),
      facts: z.array(text).exactOptional(),
      name: text.exactOptional(),
      retention: text.exactOptional(),
      fields: z.array(text).exactOptional(),
      secretFields: z.array(text).exactOptional(),
    })
    .meta({ description: 'What the MCP server asked for, without its message; the members depend on the kind.' }),
  timeline: z.array(
    z.object({
      at: time,
      source: z.enum(['event', 'audit']),
      name: text,
      requestId: text.exactOptional(),
      detail: z.record(text, z.unknown()),
    }),
  ),
  isTimelineComplete: z.boolean(),
});

export const cancelled = z.object({ result: z.enum(['cancelled', 'already_ended', 'being_decided']) });

export const webhookEndpoint = named('WebhookEndpoint', {
  endpoint: text,
  host: text,
  status: z.enum(['enabled', 'disabled']),
  reason: text.exactOptional(),
  disabledAt: time.exactOptional(),
  failingSince: time.exactOptional(),
  waiting: count,
  underWay: count,
  delayed: count,
  dead: count,
});

const delivery = {
  endpoint: text,
  eventId: text,
  type: text,
  attempts: count,
  elicitationId: text.exactOptional(),
  mcpServerId: text.exactOptional(),
  httpStatus: count.exactOptional().meta({ description: 'Of the last response. Absent if there was none.' }),
};
export const deadDelivery = named('DeadDelivery', { ...delivery, reason: text, failedAt: time });
export const retryingDelivery = named('RetryingDelivery', { ...delivery, reason: text.exactOptional(), nextAt: time });

export const webhookEnabled = z.object({ endpoint: text, wasDisabled: z.boolean() });

export const auditLine = named('AuditLine', {
  position: text.meta({ description: 'Place in the audit trail.' }),
  time,
  event: text,
  line: z.record(text, z.unknown()).meta({ description: 'The whole line, as it was logged.' }),
});

export const found = named('Found', {
  asked: z.enum(['request_id', 'match_code', 'id', 'reference', 'secret']).meta({
    description: 'What the text is by its form. A secret is not searched, but an API key leads to its id.',
  }),
  hits: z.array(
    z.object({
      what: z.enum(['elicitation', 'payment', 'connection', 'credential', 'job', 'api_key']),
      id: text,
      elicitationId: text.exactOptional(),
      mcpServerId: text.exactOptional(),
      status: text.exactOptional(),
      at: time.exactOptional(),
    }),
  ),
  lines: z.array(auditLine).meta({ description: 'Lines of the audit trail that have the text, newest first.' }),
  isComplete: z.boolean().meta({ description: 'False if there are older records or lines that were not searched.' }),
});

const signedInThrough = z
  .object({ identityProvider: text.exactOptional(), vouchedBy: text.exactOptional() })
  .meta({ description: 'The identity provider, or the MCP server whose application vouched for the person.' });

export const person = named('Person', {
  person: z.object({ issuer: text, subject: text, pseudonym }),
  connections: z.array(connection),
  credentials: z.array(credential),
  open: z.array(elicitation),
  ended: z.array(elicitation),
  passkeys: z.array(z.object({ name: text, addedAt: time, lastUsedAt: time.exactOptional() })),
  browserSessions: z.array(
    z.object({ signedInThrough, signedInAt: time, endsAt: time, browser: text.exactOptional() }),
  ),
  mutedMcpServers: z.array(z.object({ mcpServerId: text, mutedAt: time })),
});

/** The words of an MCP server. */
const localText = z.union([text, z.record(text, text)]).meta({ description: 'A text, or texts by language.' });
const mcpServerName = z.unknown().meta({ description: 'A text, or texts by language.' });
const answer = named('ExportedElicitation', {
  elicitationId: text,
  mcpServer: mcpServerName,
  status,
  askedAt: time,
  expiresAt: time,
  endedAt: time.exactOptional(),
  request: z.unknown().meta({ description: 'As the MCP server sent it.' }),
  message: localText.exactOptional(),
  returnUrl: text.exactOptional(),
  failure: text.exactOptional(),
  requestedBy: z.object({ mcpClient: text.exactOptional(), tool: text.exactOptional() }).exactOptional(),
  outcome: z.unknown().optional().meta({ description: 'Of a completed one.' }),
  collectedAt: time.exactOptional(),
});

export const personExport = named('PersonExport', {
  exportedAt: time,
  person: z.object({ issuer: text, subject: text, displayName: text, detail: text.exactOptional() }),
  connections: z.array(
    z.object({
      connectionId: text,
      provider: text,
      resource: text.exactOptional(),
      scopes: z.array(text),
      account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
      usableBy: z.array(mcpServerName),
      connectedAt: time,
      renewedAt: time,
      lastUse: lastUse.exactOptional(),
      unusable: z.object({ reason: text, since: time }).exactOptional(),
    }),
  ),
  credentials: z.array(
    z.object({
      credentialId: text,
      name: text,
      title: localText,
      fields: z.array(text),
      readableBy: z.array(mcpServerName),
      fingerprint: text.exactOptional(),
      firstSavedAt: time,
      savedAt: time,
      lastUse: lastUse.exactOptional(),
    }),
  ),
  passkeys: z.array(
    z.object({
      name: text,
      backedUp: z.boolean(),
      transports: z.array(text),
      addedAt: time,
      lastUsedAt: time.exactOptional(),
    }),
  ),
  browsers: z.array(
    z.object({
      signedInThrough,
      displayName: text,
      browser: text.exactOptional(),
      authenticatedAt: time.exactOptional(),
      signedInAt: time,
      endsAt: time,
    }),
  ),
  mutedMcpServers: z.array(z.object({ mcpServer: mcpServerName, mutedAt: time })),
  openRequests: z.array(answer),
  answers: z.array(answer),
  payments: z.array(
    z.object({
      mcpServer: mcpServerName,
      elicitationId: text,
      processor: text,
      processorReference: text,
      paidAt: time,
      amount: z.object({ currency: text, minorUnits: count }),
      mode: z.enum(['live', 'test']).exactOptional(),
      refunds: z.array(z.object({ minorUnits: count, status: z.enum(refundStatuses), requestedAt: time })),
    }),
  ),
});

export const signedOut = z.object({ found: count.meta({ description: 'Listed browser sessions.' }) });

export const disconnectPlan = named('DisconnectPlan', {
  connections: count,
  people: count,
  notRevocable: count.meta({ description: 'Connections whose provider is not configured any more.' }),
  providers: z.array(z.object({ provider: text, connections: count })),
  owners: z.array(z.object({ owner: text, connections: count })),
  isComplete: z.boolean(),
});

export const job = named('Job', {
  jobId: text,
  verb: z.enum(['disconnect', 'redeliver']),
  by: text,
  reason: text.exactOptional(),
  door: z.enum(doors),
  target: z.object({
    connectionId: text.exactOptional(),
    subject: pseudonym.exactOptional(),
    provider: text.exactOptional(),
    mcpServerId: text.exactOptional(),
    endpoint: text.exactOptional(),
    since: time.exactOptional(),
  }),
  status: z.enum(['waiting', 'running', 'done', 'failed', 'cancelled']),
  createdAt: time,
  updatedAt: time,
  endedAt: time.exactOptional(),
  error: text.exactOptional(),
  found: count,
  done: count,
  unreadable: count,
  share: z.number().min(0).max(1),
  deliveries: z
    .object({ delivered: count, failedAgain: count, waiting: count })
    .exactOptional()
    .meta({ description: 'How the deliveries ended that a redelivery has retried. `waiting`: not attempted yet.' }),
});

const change = z.object({ at: time, by: text, reason: text });
export const apiKey = named('ApiKey', {
  apiKeyId: text,
  source: z.enum(['file', 'store']),
  mcpServerId: text,
  isConfigured: z.boolean(),
  name: text.exactOptional(),
  lastFour: text.exactOptional(),
  hash: text.exactOptional(),
  expires: text.exactOptional(),
  since: time.exactOptional(),
  isOrEarlier: z.boolean().exactOptional(),
  lastUsedAt: time.exactOptional(),
  revoked: change.exactOptional(),
  added: change.exactOptional(),
});
export const addedApiKey = named('AddedApiKey', {
  apiKeyId: text.exactOptional().meta({ description: 'Absent after a dry run.' }),
  key: text.exactOptional().meta({ description: 'The only copy of the key. Absent after a dry run.' }),
});
export const revokedApiKey = named('RevokedApiKey', {
  result: z.enum(['revoked', 'already']).exactOptional().meta({ description: 'Absent after a dry run.' }),
  apiKey,
});
