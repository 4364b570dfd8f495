import type { AuditEvent, PaymentEventType } from '@postern/elicitation';

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
const person = managed('person', 'subject');
const job = managed('job', 'jobId');

/** What is added to the audit trail from the domain, under a prefix. */
type DomainEventName = `elicitation.${AuditEvent['type']}` | PaymentEventType;

/** Every audit event. A line cannot be written without its entry here. */
export const auditEvents = {
  'elicitation.issued': elicitation(CREATE, byMcpServer),
  'elicitation.widened': elicitation(UPDATE, byMcpServer),
  'elicitation.accepted': elicitation(UPDATE, byPerson),
  'elicitation.approved': elicitation(UPDATE, byPerson),
  'elicitation.declined': elicitation(UPDATE, byPerson),
  'elicitation.held': elicitation(UPDATE),
  'elicitation.charged': elicitation(UPDATE),
  'elicitation.returned': elicitation(UPDATE, failed),
  'elicitation.completed': elicitation(UPDATE),
  'elicitation.failed': elicitation(UPDATE, failed),
  'elicitation.expired': elicitation(UPDATE),
  'elicitation.cancelled': elicitation(UPDATE, byMcpServer),
  'elicitation.redeemed': elicitation(READ, byMcpServer),
  'elicitation.wrong_person': elicitation(READ, { cause: 'visitor', ...failed }),
  'browser.signed_in': authentication(LOGON),
  'browser.sign_in_failed': strangers(authentication(LOGON, true)),
  'browser.signed_out': authentication(LOGOFF),
  'browser.signed_out_everywhere': authentication(LOGOFF),
  'browser.logged_out': authentication(LOGOFF),
  'browser.logout_refused': strangers(authentication(LOGOFF, true)),
  'console.signed_in': operators(authentication(LOGON)),
  'console.sign_in_failed': strangers(authentication(LOGON, true)),
  'console.refused': authentication(LOGON, true),
  'console.signed_out': operators(authentication(LOGOFF)),
  'console.logged_out': authentication(LOGOFF),
  'console.logout_refused': strangers(authentication(LOGOFF, true)),
  'caller.refused': strangers(authentication(LOGON, true)),
  'page.failed': strangers(fault),
  'account.exported': person(READ, byPerson),
  'account.disconnected': person(UPDATE, byPerson),
  'account.erased': account(USER_DELETE),
  'passkey.added': account(FACTOR_ENABLE),
  'passkey.removed': account(FACTOR_DISABLE),
  'passkey.reset': operators(account(FACTOR_DISABLE)),
  'passkey.renamed': account(OTHER),
  'passkey.refused': account(OTHER, true),
  'callback.refused': strangers(managed('connection', 'provider')(CREATE, { ...byPerson, ...failed })),
  'connection.token_read': connection(READ, byMcpServer),
  'connection.token_rejected': connection(UPDATE, byMcpServer),
  'connection.refreshed': connection(UPDATE),
  'connection.refresh_postponed': connection(UPDATE, failed),
  'connection.lost': connection(DISABLE),
  'provider.refreshes_fail': managed('provider', 'provider')(SUSPEND, failed),
  'connection.disconnected': connection(DELETE),
  'revocation.ended': revocation(DELETE),
  'revocation.postponed': revocation(DELETE, failed),
  'revocation.failed': revocation(DELETE, failed),
  'grant.left': managed('grant', 'elicitationId')(DELETE, failed),
  'client.unused': managed('oauth_client', 'clientId')(DELETE),
  'payment.refund_needed': payment(UPDATE, failed),
  'payment.refund_requested': payment(UPDATE),
  'payment.refunded': payment(UPDATE),
  'payment.refund_failed': payment(UPDATE, failed),
  'payment.disputed': payment(UPDATE),
  'payment.refused': payment(CREATE, failed),
  'payment.not_closed': payment(UPDATE, failed),
  'payment.processor_unavailable': payment(READ, failed),
  'payment.webhook_refused': strangers(managed('payment_processor', 'processor')(READ, failed)),
  'payment.daily_limit_reached': payment(CREATE, { ...byPerson, ...failed }),
  'credential.checked': managed('credential', 'elicitationId')(READ),
  'credential.read': credential(READ, byMcpServer),
  'credential.deleted': credential(DELETE),
  'mcp_server.muted': mcpServer(DISABLE),
  'mcp_server.unmuted': mcpServer(ENABLE),
  'mcp_server.reported': mcpServer(OTHER),
  'webhook.dead': webhook(UPDATE, failed),
  'webhook.gap': webhook(UPDATE, failed),
  'webhook.disabled': webhook(DISABLE),
  'webhook.enabled': operators(webhook(ENABLE)),
  'vault.rewrapped': operators(vaultKey(UPDATE)),
  'vault.key_lost': fault,
  'vault.damaged': fault,
  'vault.old_key_in_use': fault,
  'vault.keys_removable': operators(vaultKey(READ)),
  'redis.loss_accepted': operators(redis(UPDATE)),
  'redis.rolled_back': fault,
  'replica.drain_ordered': operators(managed('replica', 'replicaId')(SUSPEND)),
  'api_key.added': operators(apiKey(CREATE)),
  'api_key.revoked': operators(apiKey(DISABLE)),
  'admin.credential_added': operators(adminCredential(CREATE)),
  'admin.credential_revoked': operators(adminCredential(DELETE)),
  'admin.person_viewed': operators(person(READ)),
  'admin.person_exported': operators(person(READ)),
  'admin.person_signed_out': operators(person(UPDATE)),
  'admin.person_erased': operators(person(DELETE)),
  'admin.elicitation_cancelled': operators(elicitation(UPDATE)),
  'admin.refund_started': operators(payment(UPDATE)),
  'admin.connection_removed': operators(connection(DELETE)),
  'admin.disconnect_started': operators(job(CREATE)),
  'admin.redelivery_started': operators(job(CREATE)),
  'admin.job_cancelled': operators(job(DISABLE)),
  'admin.job_ended': operators(job(UPDATE)),
  'admin.event_redelivered': operators(managed('webhook_delivery', 'eventId')(UPDATE)),
  'admin.webhook_enabled': operators(webhook(ENABLE)),
  'admin.rewrap_started': operators(vaultKey(UPDATE)),
} as const satisfies Readonly<Record<DomainEventName, OcsfActivity> & Record<string, OcsfActivity>>;

export type AuditEventName = keyof typeof auditEvents;

/** The events that may be recorded as acts of operators. */
export type OperatorEventName = {
  [Name in AuditEventName]: (typeof auditEvents)[Name]['trail'] extends 'operators' ? Name : never;
}[AuditEventName];
