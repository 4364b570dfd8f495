import { type AuditEvent, digestOf, type LossReason, type PaymentEventType, type Subject } from '@postern/elicitation';
import type { VaultErrorCode } from '@postern/vault';
import type { Instruments } from '../metrics/instruments.ts';

/** Returns the pseudonym of a user in the audit log, always the same for the same subject. */
export type Pseudonyms = (subject: Subject) => string;

/** Who caused an event whose line does not say so with `operator` or `by`. */
type Cause = 'person' | 'visitor' | 'mcp_server' | 'gateway';

/**
 * Who can cause an event, which decides where Redis keeps its lines. `operators`: only operators and the gateway itself; their lines have
 * a stream of their own, so that no other lines push them out (S205). `people`: users and MCP servers. `strangers`: requests without a
 * credential, a browser session or a valid signature, so the stream takes few of their lines (S124).
 */
type Trail = 'operators' | 'people' | 'strangers';

/** What an audit event is in the Open Cybersecurity Schema Framework 1.8.0, and who can cause it. */
export interface OcsfActivity {
  readonly classUid: number;
  readonly activityId: number;
  readonly cause: Cause;
  readonly hasFailed: boolean;
  readonly trail: Trail;
  /** Of Entity Management: what the event is about, and the member of the line with its id. */
  readonly entity?: { readonly type: string; readonly id: string };
}

/** How a member of an audit line is written. */
interface Field<Value> {
  write(value: Value, pseudonym: Pseudonyms): unknown;
}

interface OptionalField<Value> extends Field<Value> {
  readonly isOptional: true;
}

/** In the order of the line. Nothing else of what is recorded is in it. */
type Fields = Readonly<Record<string, Field<unknown>>>;

type ValueOf<F> = F extends Field<infer Value> ? Value : never;
type OptionalNames<F> = { [Name in keyof F]: F[Name] extends { isOptional: true } ? Name : never }[keyof F];

/** What is recorded of an event with these fields. */
type Recorded<F> = {
  readonly [Name in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[Name]>;
} & { readonly [Name in OptionalNames<F>]?: ValueOf<F[Name]> | undefined };

/** A line as it is counted. */
type Line = Readonly<Record<string, unknown>>;

/** Limits the values of a label: `own` for our codes, `foreign` for those of third parties, who may invent new ones. */
export interface Labels {
  readonly own: (value: unknown) => string;
  readonly foreign: (value: unknown) => string;
}

/** What an audit event is. */
export interface AuditEventEntry<F extends Fields = Fields> extends OcsfActivity {
  readonly level: 'info' | 'warn' | 'error';
  readonly text: string;
  readonly fields: F;
  /** Counts it in the metrics. */
  readonly count?: (to: Instruments, line: Line, labels: Labels) => void;
  /** How many lines a minute of this process are in the audit trail. Further ones are in the log only. Default: all. */
  readonly perMinute?: number;
  /** How a token refresh ended with it. */
  readonly refresh?: 'refreshed' | 'postponed' | 'lost';
}

type More = Pick<AuditEventEntry, 'count' | 'perMinute' | 'refresh'>;

const at =
  (level: AuditEventEntry['level']) =>
  <F extends Fields, A extends OcsfActivity>(text: string, fields: F, activity: A, more: More = {}) => ({
    level,
    text,
    fields,
    ...activity,
    ...more,
  });
const [info, warn, error] = [at('info'), at('warn'), at('error')];

const plain = <Value>(): Field<Value> => ({ write: value => value });
const [text, texts, number, flag] = [plain<string>(), plain<readonly string[]>(), plain<number>(), plain<boolean>()];
const optional = <Value>({ write }: Field<Value>): OptionalField<Value> => ({ write, isOptional: true });
/** A user, written as a pseudonym. */
const person: Field<Subject> = { write: (subject, pseudonym) => pseudonym(subject) };
/** The id of a passkey, written as a digest. */
const passkey: Field<string> = { write: id => digestOf(id).slice(0, 16) };
/** Any error. Log and stream write its name, code and stack positions (`safeError`). */
const thrown = plain<unknown>();

const people = { trail: 'people' } as const;
const operators = (activity: OcsfActivity) => ({ ...activity, trail: 'operators' }) as const;
const strangers = (activity: OcsfActivity) => ({ ...activity, trail: 'strangers' }) as const;

/** Class 3002. */
const authentication = (activityId: number, hasFailed = false) =>
  ({ classUid: 3002, activityId, cause: 'person', hasFailed, ...people }) as const;
const [LOGON, LOGOFF] = [1, 2];

/** Class 3001. */
const account = (activityId: number, hasFailed = false) =>
  ({ classUid: 3001, activityId, cause: 'person', hasFailed, ...people }) as const;
const [USER_DELETE, FACTOR_ENABLE, FACTOR_DISABLE, OTHER] = [6, 10, 11, 99];

/** Class 3004, for one type of entity. */
const managed =
  (type: string, id: string, usual: Cause = 'gateway') =>
  (activityId: number, { cause = usual, hasFailed = false }: { cause?: Cause; hasFailed?: boolean } = {}) => ({
    classUid: 3004,
    activityId,
    cause,
    hasFailed,
    entity: { type, id },
    ...people,
  });
const [CREATE, READ, UPDATE, DELETE, ENABLE, DISABLE, SUSPEND] = [1, 2, 3, 4, 8, 9, 12];

/** Class 6008, of the gateway itself. */
const fault = { classUid: 6008, activityId: 1, cause: 'gateway', hasFailed: true, trail: 'operators' } as const;

const failed = { hasFailed: true } as const;
const byMcpServer = { cause: 'mcp_server' } as const;
const byPerson = { cause: 'person' } as const;

const elicitation = managed('elicitation', 'elicitationId');
const connection = managed('connection', 'connectionId');
const revocation = managed('revocation', 'revocationId');
const payment = managed('payment', 'elicitationId');
const credential = managed('credential', 'credentialId');
const mcpServer = managed('mcp_server', 'mcpServerId', 'person');
const webhook = managed('webhook_endpoint', 'endpoint');
const vaultKey = managed('vault_key', 'kid');
const redis = managed('redis_deployment', 'deployment');
const apiKey = managed('api_key', 'apiKeyId');
const adminCredential = managed('admin_credential', 'credentialId');
const user = managed('person', 'subject');
const job = managed('job', 'jobId');

/** An act of an operator, which its recorder completes: who, through which door, and why. */
const act = <F extends Fields>(fields: F, activity: OcsfActivity) => info('operator act', fields, operators(activity));

const seconds = (value: unknown) => (typeof value === 'number' && value >= 0 ? value / 1000 : 0);

const about = { elicitationId: text, mcpServerId: text, subject: person };
/** An event of the domain: what the elicitation became, and how long that took. */
const change = (name: string, activity: ReturnType<typeof elicitation>, count?: AuditEventEntry['count']) =>
  info(
    `elicitation ${name}`,
    {
      ...about,
      kind: text,
      ended: optional(text),
      afterMs: optional(number),
      lateMs: optional(number),
      failure: optional(text),
      method: optional(text),
      language: optional(text),
      trouble: optional(text),
      visitor: optional(person),
    },
    activity,
    {
      count(to, line, labels) {
        if (line['ended'] !== undefined) countEnd(to, line, labels);
        count?.(to, line, labels);
      },
    },
  );

function countEnd(to: Instruments, line: Line, { own }: Labels): void {
  const kind = own(line['kind']);
  // An approval without a processor completes the elicitation: `ended` has the status.
  const outcome = own(line['ended']);
  to.ended.inc({ kind, outcome, reason: own(line['failure']) });
  to.decisionSeconds.observe({ kind, outcome }, seconds(line['afterMs']));
  if (typeof line['lateMs'] === 'number') to.expiryLagSeconds.observe(seconds(line['lateMs']));
}

/** Who removed something: the user, or this MCP server. */
const by = { by: plain<'person' | 'mcp_server'>(), mcpServerId: optional(text) };
const ofConnection = { connectionId: text, provider: text, subject: person, generation: number };
const ofRevocation = { revocationId: text, provider: text, subject: person, attempts: number };
const ofPayment = { elicitationId: text, mcpServerId: text, processor: text, processorReference: text, currency: text };
const reported = { ...ofPayment, refundedMinorUnits: number, dispute: optional(text) };
const ofProcessor = {
  processorCode: optional(text),
  processorStatus: optional(number),
  processorRequestId: optional(text),
};
const muting = { mcpServerId: text, subject: person, outcome: optional(plain<'unknown'>()) };
const logout = { of: plain<'session' | 'user'>() };
const refusedLogout = { code: text, claim: optional(text) };

const signIns = (result: 'signed_in' | 'failed'): More => ({
  count: (to, { code }, { own }) => to.signIns.inc({ result: result === 'failed' ? `failed_${own(code)}` : result }),
});
const trouble = (what: string): More => ({ count: to => to.webhookTrouble.inc({ what }) });
const reads = (what: string): More => ({ count: to => to.tokenReads.inc({ what }) });

/** What is added to the audit trail from the domain, under a prefix. */
type DomainEventName = `elicitation.${AuditEvent['type']}` | PaymentEventType;

/**
 * Every audit event: its line in log and stream, what it is in OCSF, and what it counts. A line cannot be written without its entry here,
 * and has no members but those of its entry.
 */
export const auditEvents = {
  'elicitation.issued': change('issued', elicitation(CREATE, byMcpServer)),
  'elicitation.widened': change('widened', elicitation(UPDATE, byMcpServer)),
  'elicitation.accepted': change('accepted', elicitation(UPDATE, byPerson)),
  'elicitation.approved': change('approved', elicitation(UPDATE, byPerson)),
  'elicitation.declined': change('declined', elicitation(UPDATE, byPerson)),
  'elicitation.held': change('held', elicitation(UPDATE)),
  'elicitation.charged': change('charged', elicitation(UPDATE), to =>
    to.charges.inc({ result: 'opened', code: 'none' }),
  ),
  'elicitation.returned': change('returned', elicitation(UPDATE, failed), (to, { kind, trouble }, { own }) =>
    to.returned.inc({ kind: own(kind), trouble: own(trouble) }),
  ),
  'elicitation.completed': change('completed', elicitation(UPDATE)),
  'elicitation.failed': change('failed', elicitation(UPDATE, failed)),
  'elicitation.expired': change('expired', elicitation(UPDATE)),
  'elicitation.cancelled': change('cancelled', elicitation(UPDATE, byMcpServer)),
  'elicitation.redeemed': change('redeemed', elicitation(READ, byMcpServer)),
  'elicitation.wrong_person': change(
    'wrong_person',
    elicitation(READ, { cause: 'visitor', ...failed }),
    (to, { kind }, { own }) => to.wrongPerson.inc({ kind: own(kind) }),
  ),

  'browser.signed_in': info(
    'signed in',
    { subject: person, origin: text },
    authentication(LOGON),
    signIns('signed_in'),
  ),
  'browser.sign_in_failed': warn(
    'sign-in failed',
    { code: text },
    strangers(authentication(LOGON, true)),
    signIns('failed'),
  ),
  'browser.signed_out': info('signed out', { subject: person }, authentication(LOGOFF)),
  'browser.signed_out_everywhere': info('signed out everywhere', { subject: person }, authentication(LOGOFF)),
  /** An identity provider ended a session, or all sessions of a user. */
  'browser.logged_out': info(
    'signed out by the identity provider',
    { identityProvider: text, ...logout, subject: optional(person) },
    authentication(LOGOFF),
  ),
  'browser.logout_refused': warn(
    'logout refused',
    { identityProvider: text, ...refusedLogout },
    strangers(authentication(LOGOFF, true)),
  ),
  // Operators are named by their subject at the identity provider, not by a pseudonym: they answer for what they do.
  'console.signed_in': info('operator signed in', { operator: text, role: text }, operators(authentication(LOGON))),
  'console.sign_in_failed': warn('sign-in failed', { code: text }, strangers(authentication(LOGON, true))),
  /** Signed in at the identity provider, but without a role. */
  'console.refused': warn('operator without a role', { operator: text }, authentication(LOGON, true)),
  'console.signed_out': info('operator signed out', { operator: text }, operators(authentication(LOGOFF))),
  /** The identity provider ended a session of an operator, or all of them. */
  'console.logged_out': info(
    'operator signed out by the identity provider',
    { ...logout, operator: optional(text) },
    authentication(LOGOFF),
  ),
  'console.logout_refused': warn('logout refused', refusedLogout, strangers(authentication(LOGOFF, true))),
  'caller.refused': warn('credential refused', {}, strangers(authentication(LOGON, true)), {
    count: to => to.callersRefused.inc(),
  }),
  /** So that the number on the page can be looked up. Anyone can cause it, so it must not fill the audit trail. */
  'page.failed': warn('error page', { requestId: text, route: optional(text), status: number }, strangers(fault), {
    perMinute: 30,
  }),

  'account.exported': info('data exported', { subject: person }, user(READ, byPerson)),
  'account.disconnected': info(
    'all accounts disconnected',
    { subject: person, connections: number },
    user(UPDATE, byPerson),
  ),
  /** Each part has an event of its own as well, so that an interrupted deletion is visible. */
  'account.erased': info(
    'data of a user deleted',
    { subject: person, declined: number, connections: number, credentials: number },
    account(USER_DELETE),
  ),
  'passkey.added': info('passkey added', { subject: person, passkey }, account(FACTOR_ENABLE)),
  'passkey.removed': info('passkey removed', { subject: person, passkey }, account(FACTOR_DISABLE)),
  'passkey.reset': act({ passkeys: number, subject: person }, account(FACTOR_DISABLE)),
  'passkey.renamed': info('passkey renamed', { subject: person, passkey }, account(OTHER)),
  'passkey.refused': warn(
    'passkey refused',
    { subject: person, elicitationId: optional(text), code: text, reason: optional(text) },
    account(OTHER, true),
    { count: (to, { reason, code }, { own }) => to.passkeyRefusals.inc({ code: own(reason ?? code) }) },
  ),

  'callback.refused': warn(
    'callback refused',
    { reason: text, mcpServerId: text, provider: text, elicitationId: optional(text) },
    strangers(managed('connection', 'provider')(CREATE, { ...byPerson, ...failed })),
    { count: (to, { reason }, { own }) => to.callbacksRefused.inc({ reason: own(reason) }) },
  ),
  'connection.token_read': info(
    'access token read',
    { connectionId: text, mcpServerId: text, subject: person },
    connection(READ, byMcpServer),
    reads('access_token'),
  ),
  'connection.token_rejected': info(
    'access token reported as rejected',
    { ...ofConnection, mcpServerId: text },
    connection(UPDATE, byMcpServer),
  ),
  'connection.refreshed': info('tokens refreshed', { ...ofConnection, tookMs: number }, connection(UPDATE), {
    refresh: 'refreshed',
    count: (to, { tookMs }) => to.refreshSeconds.observe({ result: 'refreshed', code: 'none' }, seconds(tookMs)),
  }),
  'connection.refresh_postponed': warn(
    'refresh failed; retrying',
    { ...ofConnection, code: text, delayMs: number, tookMs: number },
    connection(UPDATE, failed),
    {
      refresh: 'postponed',
      count: (to, { code, tookMs }, { own }) =>
        to.refreshSeconds.observe({ result: 'postponed', code: own(code) }, seconds(tookMs)),
    },
  ),
  'connection.lost': warn(
    'connection lost; its user must reconnect',
    { ...ofConnection, reason: plain<LossReason>(), tookMs: optional(number) },
    connection(DISABLE),
    {
      refresh: 'lost',
      count(to, { reason, tookMs }, { own }) {
        to.connectionsEnded.inc({ by: 'provider', reason: own(reason) });
        if (tookMs !== undefined) to.refreshSeconds.observe({ result: 'refused', code: 'none' }, seconds(tookMs));
      },
    },
  ),
  /** At most once an hour for each provider, fault and process. Every grant is kept. */
  'provider.refreshes_fail': error(
    'provider refuses refreshes; every grant is kept',
    { provider: text, fault: plain<'operator' | 'provider'>(), code: text },
    managed('provider', 'provider')(SUSPEND, failed),
    { count: (to, { fault }, { own }) => to.refreshAlarms.inc({ fault: own(fault) }) },
  ),
  'connection.disconnected': info(
    'disconnected',
    { connectionId: text, provider: text, subject: person, ...by },
    connection(DELETE),
    { count: (to, line, { own }) => to.connectionsEnded.inc({ by: own(line['by']), reason: 'none' }) },
  ),
  'revocation.ended': info(
    'revocation ended',
    { ...ofRevocation, outcome: text, reason: optional(text), confirmed: optional(text) },
    revocation(DELETE),
    {
      count: (to, { outcome, reason }, { own }) => to.revocations.inc({ result: own(outcome), reason: own(reason) }),
    },
  ),
  'revocation.postponed': warn(
    'revocation failed; retrying',
    { ...ofRevocation, reason: text, confirmed: optional(text), delayMs: number },
    revocation(DELETE, failed),
    { count: (to, { reason }, { own }) => to.revocations.inc({ result: 'postponed', reason: own(reason) }) },
  ),
  /** The revocation is stored; the sweeper retries it. */
  'revocation.failed': warn(
    'revocation not attempted; retrying',
    { revocationId: text, error: thrown },
    revocation(DELETE, failed),
    { count: to => to.revocations.inc({ result: 'postponed', reason: 'store_unavailable' }) },
  ),
  /**
   * A grant without a connection that was not revoked: another connection of the user may depend on it, or its revocation was not
   * stored.
   */
  'grant.left': warn(
    'grant not revoked',
    {
      elicitationId: text,
      mcpServerId: text,
      provider: text,
      subject: person,
      reason: plain<'in_use' | 'store_unavailable' | VaultErrorCode>(),
    },
    managed('grant', 'elicitationId')(DELETE, failed),
    { count: (to, { reason }, { own }) => to.grantsLeft.inc({ reason: own(reason) }) },
  ),
  /** Two replicas registered concurrently: one registration is unused, and deleted if possible. */
  'client.unused': warn(
    'unused client registration',
    { issuer: text, clientId: text, deleted: flag },
    managed('oauth_client', 'clientId')(DELETE),
  ),

  /** Money moved, or will move, but no MCP server learns of the payment. The operator must refund it. */
  'payment.refund_needed': error(
    'payment needs a refund',
    { elicitationId: text, mcpServerId: optional(text), processor: text, processorReference: text, reason: text },
    payment(UPDATE, failed),
    { count: (to, { reason }, { own }) => to.refundsNeeded.inc({ reason: own(reason) }) },
  ),
  'payment.refund_requested': info(
    'refund requested',
    { ...ofPayment, refundId: text, minorUnits: number, requestedBy: text },
    payment(UPDATE),
  ),
  'payment.refunded': info('payment changed at the processor', reported, payment(UPDATE)),
  'payment.refund_failed': info('payment changed at the processor', reported, payment(UPDATE, failed)),
  'payment.disputed': info('payment changed at the processor', reported, payment(UPDATE)),
  'payment.refused': warn(
    'payment refused by the processor',
    { elicitationId: text, mcpServerId: text, processor: text, ...ofProcessor },
    payment(CREATE, failed),
    {
      count: (to, { processorCode }, { foreign }) =>
        to.charges.inc({ result: 'refused', code: foreign(processorCode) }),
    },
  ),
  /** Usually resolved when the processor has finished. The operator checks the charges that stay open. */
  'payment.not_closed': info(
    'payment not closed by the processor; retrying',
    { elicitationId: text, mcpServerId: text, processor: text, ...ofProcessor },
    payment(UPDATE, failed),
    {
      count: (to, { processorCode }, { foreign }) =>
        to.charges.inc({ result: 'not_closed', code: foreign(processorCode) }),
    },
  ),
  'payment.processor_unavailable': warn(
    'no response from the processor; retrying',
    { elicitationId: optional(text), mcpServerId: optional(text), processor: text, code: text, ...ofProcessor },
    payment(READ, failed),
    { count: (to, { code }, { own }) => to.charges.inc({ result: 'unavailable', code: own(code) }) },
  ),
  'payment.webhook_refused': warn(
    'webhook refused',
    { processor: text, code: text },
    strangers(managed('payment_processor', 'processor')(READ, failed)),
    { count: (to, { code }, { own }) => to.processorWebhooksRefused.inc({ code: own(code) }) },
  ),
  'payment.daily_limit_reached': warn(
    'approval refused: above the daily limit of the user',
    about,
    payment(CREATE, { ...byPerson, ...failed }),
  ),

  'credential.checked': info(
    'credential checked',
    { elicitationId: text, mcpServerId: text, result: text },
    managed('credential', 'elicitationId')(READ),
    { count: (to, { result }, { own }) => to.liveChecks.inc({ result: own(result) }) },
  ),
  'credential.read': info(
    'credential read',
    { credentialId: text, mcpServerId: text, subject: person },
    credential(READ, byMcpServer),
    reads('credential'),
  ),
  'credential.deleted': info('credential deleted', { credentialId: text, subject: person, ...by }, credential(DELETE)),
  'mcp_server.muted': info('MCP server muted by a user', muting, mcpServer(DISABLE)),
  'mcp_server.unmuted': info('mute undone', muting, mcpServer(ENABLE)),
  'mcp_server.reported': warn(
    'MCP server reported by a user',
    { mcpServerId: text, subject: person, reason: text },
    mcpServer(OTHER),
  ),

  // Webhooks name endpoints, never URLs, and contain nothing of requests or responses.
  'webhook.dead': error(
    'webhook not delivered; giving up',
    { endpoint: text, eventId: text, reason: text },
    webhook(UPDATE, failed),
    trouble('dead'),
  ),
  /** The feed dropped events before they were queued: the endpoint was disabled or its queue was full for too long. */
  'webhook.gap': error(
    'events dropped before they were queued for an endpoint',
    { endpoint: text },
    webhook(UPDATE, failed),
    trouble('gap'),
  ),
  'webhook.disabled': error(
    'webhook endpoint disabled until an operator enables it',
    { endpoint: text, reason: text },
    webhook(DISABLE),
    trouble('disabled'),
  ),
  'webhook.enabled': info('webhook endpoint enabled', { endpoint: text }, operators(webhook(ENABLE))),

  'vault.rewrapped': info(
    're-wrapped',
    { kid: optional(text), rewrapped: number, overtaken: number, result: text },
    operators(vaultKey(UPDATE)),
  ),
  'vault.key_lost': error('sealed values name a key that is missing', { kid: text, values: number }, fault),
  'vault.damaged': error('sealed values do not open', { values: number }, fault),
  'vault.old_key_in_use': warn('another replica still seals with an old key', { old: texts }, fault),
  'vault.keys_removable': info('old keys are no longer needed', { old: texts }, operators(vaultKey(READ))),
  /** Recorded as an act by `postern redis accept-loss`, and by each process when it serves again. */
  'redis.loss_accepted': warn(
    'operator accepted the data loss of Redis',
    { deployment: text, shards: number },
    operators(redis(UPDATE)),
  ),
  /** Acknowledged events are lost, together with what was committed at the same time. */
  'redis.rolled_back': error(
    'Redis rolled back to an earlier state',
    { shards: number, backMs: number, first: texts },
    fault,
    { count: to => to.redisRolledBack.inc() },
  ),

  'replica.drain_ordered': act({ replicaId: text, replica: text }, managed('replica', 'replicaId')(SUSPEND)),
  'api_key.added': act({ apiKeyId: text, mcpServerId: text, name: text }, apiKey(CREATE)),
  'api_key.revoked': act({ apiKeyId: text, mcpServerId: text, source: text }, apiKey(DISABLE)),
  'admin.credential_added': act({ name: text, scopes: texts }, adminCredential(CREATE)),
  'admin.credential_revoked': act({ credentialId: text, name: text }, adminCredential(DELETE)),
  'admin.person_viewed': act(
    { what: text, elicitationId: optional(text), mcpServerId: optional(text), subject: person },
    user(READ),
  ),
  'admin.person_exported': act({ subject: person }, user(READ)),
  'admin.person_signed_out': act({ browserSessions: number, subject: person }, user(UPDATE)),
  'admin.person_erased': act(
    { open: number, connections: number, credentials: number, mutedMcpServers: number, subject: person },
    user(DELETE),
  ),
  'admin.elicitation_cancelled': act(about, elicitation(UPDATE)),
  'admin.refund_started': act(
    {
      elicitationId: text,
      mcpServerId: text,
      processor: text,
      processorReference: text,
      refundId: text,
      currency: text,
      minorUnits: number,
      subject: optional(person),
    },
    payment(UPDATE),
  ),
  /** Recorded as an act by a command, and to log and stream by a replica. */
  'admin.connection_removed': info(
    'connection removed by an operator',
    { jobId: text, connectionId: text, owner: text, provider: text, subject: person },
    operators(connection(DELETE)),
  ),
  'admin.disconnect_started': act(
    {
      jobId: text,
      connectionId: optional(text),
      provider: optional(text),
      mcpServerId: optional(text),
      since: optional(text),
      subject: optional(person),
    },
    job(CREATE),
  ),
  'admin.redelivery_started': act({ jobId: text, endpoint: text }, job(CREATE)),
  'admin.job_cancelled': act({ jobId: text, verb: text }, job(DISABLE)),
  'admin.job_ended': act(
    {
      jobId: text,
      verb: text,
      status: text,
      found: number,
      done: number,
      unreadable: number,
      error: optional(text),
      delivered: optional(number),
      failedAgain: optional(number),
    },
    job(UPDATE),
  ),
  'admin.event_redelivered': act(
    { eventId: text, endpoint: optional(text) },
    managed('webhook_delivery', 'eventId')(UPDATE),
  ),
  'admin.webhook_enabled': act({ endpoint: text }, webhook(ENABLE)),
  'admin.rewrap_started': act({ kid: optional(text), values: number }, vaultKey(UPDATE)),
} as const satisfies Readonly<Record<DomainEventName, AuditEventEntry> & Record<string, AuditEventEntry>>;

export type AuditEventName = keyof typeof auditEvents;

/** What is recorded of an event. Its other members are left out of the line. */
export type AuditFields<Name extends AuditEventName> = Name extends AuditEventName
  ? Recorded<(typeof auditEvents)[Name]['fields']>
  : never;

/** The events that may be recorded as acts of operators. */
export type OperatorEventName = {
  [Name in AuditEventName]: (typeof auditEvents)[Name]['trail'] extends 'operators' ? Name : never;
}[AuditEventName];

/** An audit event as it is logged. */
export interface AuditRecord {
  readonly event: AuditEventName;
  readonly [field: string]: unknown;
}

/** Records audit events in the log and in every sink. */
export interface AuditLog {
  /** @param fields may have further members: only those of the table of events are in the line */
  record<Name extends AuditEventName>(event: Name, fields: AuditFields<Name>): void;
}

/** Receives every audit event in addition to the log. Must neither throw nor block. */
export type AuditSink = (record: AuditRecord, as: { readonly level: string; readonly text: string }) => void;

/** Returns the line of an event: the members of its entry in their order, without those that are undefined. */
export function auditRecordOf(event: AuditEventName, recorded: object, pseudonym: Pseudonyms): AuditRecord {
  const members: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<Field<unknown>>(auditEvents[event].fields)) {
    const value: unknown = Reflect.get(recorded, name);
    if (value !== undefined) members[name] = field.write(value, pseudonym);
  }
  return { event, ...members };
}
