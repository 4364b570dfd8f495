import { z } from 'zod/v4';
import { kindSchema } from '../elicitations.ts';

/**
 * What the operations of `/admin/v1` return. The OpenAPI document derives from these schemas, what a handler returns must fit their types,
 * and the tests check each response. Members may be added: callers ignore the ones that they do not know.
 */

const text = z.string();
const time = z.iso.datetime();
const count = z.int().nonnegative();
/** Without the name that it has in `/v1`. */
const kind = z.enum(kindSchema.options);
const pseudonym = text.meta({ description: 'The pseudonym of a person in the audit trail.' });
const status = z.enum(['pending', 'active', 'verifying', 'completed', 'declined', 'failed', 'cancelled', 'expired']);
const lastUse = z.object({ mcpServerId: text, tool: text.optional(), at: time });
const named = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) => z.object(shape).meta({ id });

export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item) });
const next = text.optional().meta({ description: 'Absent at the end of the list. Pass it as `cursor`.' });
export const pageOf = <Item extends z.ZodType>(item: Item) => listOf(item).extend({ next });

const elicitationMembers = {
  elicitationId: text,
  kind,
  status,
  mcpServerId: text,
  subject: pseudonym,
  createdAt: time,
  expiresAt: time,
  endedAt: time.optional(),
  provider: text.optional(),
  tool: text.optional(),
  failure: text.optional(),
  retryReason: text.optional(),
};
export const elicitation = named('Elicitation', elicitationMembers);

const mode = z.enum(['live', 'test']);
const refund = {
  refundId: text,
  minorUnits: count,
  status: z.enum(['pending', 'succeeded', 'failed']),
  createdAt: time,
  requestedBy: z.enum(['mcp_server', 'processor', 'gateway', 'operator']),
  processorReference: text.optional(),
  failure: text.optional(),
};
const taken = named('TakenPayment', {
  processor: text,
  processorReference: text,
  currency: text,
  minorUnits: count,
  mode: mode.optional(),
  payeeAccount: text.optional(),
  paidAt: time.optional(),
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
  status: status.optional(),
  subject: pseudonym.optional(),
  payee: text.optional(),
  requested: z.object({ currency: text, minorUnits: count, processor: text }).optional(),
};

export const paymentDetail = named('PaymentDetail', {
  elicitationId: text,
  mcpServerId: text.optional(),
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
    .optional()
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
  approvedAt: time.optional(),
  processorReference: text.optional(),
  mode: mode.optional(),
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
  resource: text.optional(),
  accessTokenExpiresAt: time.optional(),
  lost: z.object({ reason: text, at: time }).optional(),
  lastUse: lastUse.optional(),
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
  lastUse: lastUse.optional(),
});

const approval = z.object({ method: text, identity: text, at: time });

export const elicitationReport = named('ElicitationReport', {
  elicitationId: text,
  matchCode: text,
  kind,
  status,
  mcpServerId: text,
  version: count,
  subject: pseudonym,
  person: z.object({ issuer: text, subject: text }),
  identityMode: text,
  createdAt: time,
  expiresAt: time,
  endedAt: time.optional(),
  claimedToBeAskedBy: z.object({ mcpClient: text.optional(), tool: text.optional() }).optional(),
  retryReason: text.optional(),
  missingScopes: z.array(text).optional(),
  failure: text.optional(),
  approval: approval.optional(),
  chargeReference: text.optional(),
  redeemedAt: time.optional(),
  outcome: z
    .object({
      connectionId: text.optional(),
      scopes: z.array(text).optional(),
      approval: approval.optional(),
      processor: text.optional(),
      processorReference: text.optional(),
      mode: text.optional(),
      credentialId: text.optional(),
    })
    .optional(),
  asked: z
    .object({
      provider: text.optional(),
      scopes: z.array(text).optional(),
      resource: text.optional(),
      insistsOnAccount: z.boolean().optional(),
      payee: text.optional(),
      currency: text.optional(),
      minorUnits: count.optional(),
      items: count.optional(),
      reference: text.optional(),
      processor: text.optional(),
      title: text.optional(),
      action: text.optional(),
      danger: text.optional(),
      facts: z.array(text).optional(),
      name: text.optional(),
      retention: text.optional(),
      fields: z.array(text).optional(),
      secretFields: z.array(text).optional(),
    })
    .meta({ description: 'What the MCP server asked for, without its message; the members depend on the kind.' }),
  timeline: z.array(
    z.object({
      at: time,
      source: z.enum(['event', 'audit']),
      name: text,
      requestId: text.optional(),
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
  reason: text.optional(),
  disabledAt: time.optional(),
  failingSince: time.optional(),
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
  elicitationId: text.optional(),
  mcpServerId: text.optional(),
  httpStatus: count.optional().meta({ description: 'Of the last response. Absent if there was none.' }),
};
export const deadDelivery = named('DeadDelivery', { ...delivery, reason: text, failedAt: time });
export const retryingDelivery = named('RetryingDelivery', { ...delivery, reason: text.optional(), nextAt: time });

export const webhookEnabled = z.object({ endpoint: text, wasDisabled: z.boolean() });

export const auditLine = named('AuditLine', {
  position: text.meta({ description: 'Place in the audit trail.' }),
  time,
  event: text,
  line: z.record(text, z.unknown()).meta({ description: 'The whole line, as it was logged.' }),
});

export const auditLines = named('AuditLines', {
  items: z.array(auditLine),
  next: text.meta({ description: 'Pass it as `cursor`, also later: it has no end.' }),
  isAtEnd: z
    .boolean()
    .meta({ description: 'There are no further lines yet. Otherwise a page may be short, even empty.' }),
  hasUsers: z
    .boolean()
    .meta({ description: 'False without `audit.stream`: the trail has the acts of operators only.' }),
});

export const replica = named('Replica', {
  replicaId: text,
  instance: text.meta({ description: 'Host name and process id, as in the log.' }),
  version: text,
  startedAt: time,
  status: z.enum(['serving', 'draining', 'drained']),
  requests: count.meta({ description: 'Requests in flight, waiting reads and event streams included.' }),
  isOrderedToDrain: z.boolean(),
});

export const found = named('Found', {
  asked: z.enum(['request_id', 'match_code', 'id', 'reference', 'secret']).meta({
    description: 'What the text is by its form. A secret is not searched, but an API key leads to its id.',
  }),
  hits: z.array(
    z.object({
      what: z.enum(['elicitation', 'payment', 'connection', 'credential', 'job', 'api_key']),
      id: text,
      elicitationId: text.optional(),
      mcpServerId: text.optional(),
      status: text.optional(),
      at: time.optional(),
    }),
  ),
  lines: z.array(auditLine).meta({ description: 'Lines of the audit trail that have the text, newest first.' }),
  isComplete: z.boolean().meta({ description: 'False if there are older records or lines that were not searched.' }),
});

const signedInThrough = z
  .object({ identityProvider: text.optional(), vouchedBy: text.optional() })
  .meta({ description: 'The identity provider, or the MCP server whose application vouched for the person.' });

export const person = named('Person', {
  person: z.object({ issuer: text, subject: text, pseudonym }),
  connections: z.array(connection),
  credentials: z.array(credential),
  open: z.array(elicitation),
  ended: z.array(elicitation),
  passkeys: z.array(z.object({ name: text, addedAt: time, lastUsedAt: time.optional() })),
  browserSessions: z.array(z.object({ signedInThrough, signedInAt: time, endsAt: time, browser: text.optional() })),
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
  endedAt: time.optional(),
  request: z.unknown().meta({ description: 'As the MCP server sent it.' }),
  message: localText.optional(),
  returnUrl: text.optional(),
  failure: text.optional(),
  requestedBy: z.object({ mcpClient: text.optional(), tool: text.optional() }).optional(),
  outcome: z.unknown().optional().meta({ description: 'Of a completed one.' }),
  collectedAt: time.optional(),
});

export const personExport = named('PersonExport', {
  exportedAt: time,
  person: z.object({ issuer: text, subject: text, displayName: text, detail: text.optional() }),
  connections: z.array(
    z.object({
      connectionId: text,
      provider: text,
      resource: text.optional(),
      scopes: z.array(text),
      account: z.object({ id: text, name: text.optional() }).optional(),
      usableBy: z.array(mcpServerName),
      connectedAt: time,
      renewedAt: time,
      lastUse: lastUse.optional(),
      unusable: z.object({ reason: text, since: time }).optional(),
    }),
  ),
  credentials: z.array(
    z.object({
      credentialId: text,
      name: text,
      title: localText,
      fields: z.array(text),
      readableBy: z.array(mcpServerName),
      fingerprint: text.optional(),
      firstSavedAt: time,
      savedAt: time,
      lastUse: lastUse.optional(),
    }),
  ),
  passkeys: z.array(
    z.object({
      name: text,
      backedUp: z.boolean(),
      transports: z.array(text),
      addedAt: time,
      lastUsedAt: time.optional(),
    }),
  ),
  browsers: z.array(
    z.object({
      signedInThrough,
      displayName: text,
      browser: text.optional(),
      authenticatedAt: time.optional(),
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
      mode: z.enum(['live', 'test']).optional(),
      refunds: z.array(
        z.object({ minorUnits: count, status: z.enum(['pending', 'succeeded', 'failed']), requestedAt: time }),
      ),
    }),
  ),
});

export const signedOut = z.object({ found: count.meta({ description: 'Listed browser sessions.' }) });

export const erasedPerson = named('ErasedPerson', {
  open: count.meta({ description: 'Open elicitations.' }),
  connections: count,
  credentials: count,
  mutedMcpServers: count,
  passkeys: count.optional().meta({ description: 'Absent after a dry run.' }),
  stillDeciding: count.optional().meta({
    description:
      'Elicitations that are being paid or verified: repeat the call when they have ended. Absent after a dry run.',
  }),
  left: z.object({ endedElicitations: count, payments: count }).meta({
    description: 'Ended elicitations, and the payments among them, which stay as long as the retention says.',
  }),
});

export const resetPasskeys = z.object({ subject: pseudonym, passkeys: count });

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
  reason: text.optional(),
  door: z.enum(['console', 'admin_api', 'command_line']),
  target: z.object({
    connectionId: text.optional(),
    subject: pseudonym.optional(),
    provider: text.optional(),
    mcpServerId: text.optional(),
    endpoint: text.optional(),
    since: time.optional(),
  }),
  status: z.enum(['waiting', 'running', 'done', 'failed', 'cancelled']),
  createdAt: time,
  updatedAt: time,
  endedAt: time.optional(),
  error: text.optional(),
  found: count,
  done: count,
  unreadable: count,
  share: z.number().min(0).max(1),
  deliveries: z
    .object({ delivered: count, failedAgain: count, waiting: count })
    .optional()
    .meta({ description: 'How the deliveries ended that a redelivery has retried. `waiting`: not attempted yet.' }),
});

const change = z.object({ at: time, by: text, reason: text });
export const apiKey = named('ApiKey', {
  apiKeyId: text,
  source: z.enum(['file', 'store']),
  mcpServerId: text,
  isConfigured: z.boolean(),
  name: text.optional(),
  lastFour: text.optional(),
  hash: text.optional(),
  expires: text.optional(),
  since: time.optional(),
  isOrEarlier: z.boolean().optional(),
  lastUsedAt: time.optional(),
  revoked: change.optional(),
  added: change.optional(),
});
export const addedApiKey = named('AddedApiKey', {
  apiKeyId: text.optional().meta({ description: 'Absent after a dry run.' }),
  key: text.optional().meta({ description: 'The only copy of the key. Absent after a dry run.' }),
});
export const revokedApiKey = named('RevokedApiKey', {
  result: z.enum(['revoked', 'already']).optional().meta({ description: 'Absent after a dry run.' }),
  apiKey,
});

const countedStep = z.enum(['issued', 'opened', 'completed', 'declined', 'failed', 'cancelled', 'expired']);
const counted = { at: time, mcpServerId: text, kind, count };
export const counts = named('Counts', {
  by: z.enum(['hour', 'day']),
  order: z.array(countedStep),
  steps: z.array(z.object({ ...counted, step: countedStep, provider: text.optional() })),
  decisions: z.array(z.object({ ...counted, withinSeconds: count })),
  refreshes: z
    .array(
      z.object({
        at: time,
        provider: text,
        outcome: z.enum(['refreshed', 'postponed', 'lost']),
        code: text.optional(),
        count,
      }),
    )
    .meta({ description: 'How refreshes of tokens ended, on all replicas.' }),
});

const age = {
  since: time.optional().meta({ description: 'When the deployment first had the key. Absent if not known.' }),
  isOrEarlier: z
    .boolean()
    .optional()
    .meta({ description: 'The key was there when the deployment began to note ages.' }),
};

export const health = named('Health', {
  version: text,
  redis: z.object({ isReachable: z.boolean(), refusals: z.array(text) }),
  records: z
    .object({ open: count, ended: count, connections: count, credentials: count, revocations: count })
    .optional(),
  webhooks: z.array(webhookEndpoint).optional(),
  providers: z
    .array(
      z.object({
        provider: text,
        pausedMs: z
          .number()
          .optional()
          .meta({ description: 'How long this replica sends the provider no requests, after repeated timeouts.' }),
      }),
    )
    .optional(),
  storage: z
    .array(
      z.object({
        mcpServerId: text,
        records: count,
        recordsQuota: count,
        bytes: count,
        bytesQuota: count,
        fullestShard: z.number().meta({ description: 'Used part of the fullest shard, 1 at its limit.' }),
        isRefusing: z.boolean(),
      }),
    )
    .optional()
    .meta({ description: 'Storage quotas, without events. The fullest shard decides for the people in it.' }),
  vaultKeys: z.array(z.object({ kid: text, seals: z.boolean(), ...age })).optional(),
  receiptKeys: z.array(z.object({ kid: text, signs: z.boolean(), ...age })).optional(),
  apiKeys: z
    .object({
      valid: count,
      oldest: z.array(
        z.object({
          apiKeyId: text,
          mcpServerId: text,
          source: z.enum(['file', 'store']),
          name: text.optional(),
          expires: text.optional(),
          lastUsedAt: time.optional(),
          ...age,
        }),
      ),
    })
    .optional(),
});
