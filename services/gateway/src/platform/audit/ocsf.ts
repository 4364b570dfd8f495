import { auditEvents, type OcsfActivity } from './audit-events.ts';

/** A line of the audit trail, parsed, with its place in Redis. */
interface AuditLine {
  readonly position: string;
  readonly time: string;
  readonly event: string;
  readonly line: Readonly<Record<string, unknown>>;
}

type Activity = Omit<OcsfActivity, 'trail'>;
// Maps, because the name of an event and a level come from Redis: an object also has members such as `constructor`.
const activities: ReadonlyMap<string, Activity> = new Map(Object.entries(auditEvents));
/** Base Event, for an event of a later release. */
const unknownActivity: Activity = { classUid: 0, activityId: 0, cause: 'gateway', hasFailed: false };

const [USER, ADMIN, UNKNOWN] = [1, 2, 0];
const severities: ReadonlyMap<unknown, number> = new Map([
  ['info', 1],
  ['warn', 3],
  ['error', 4],
]);
const POSTERN = { name: 'Postern', vendor_name: 'Postern' };
const [UNKNOWN_OUTCOME, SUCCESS, FAILURE] = [0, 1, 2];

/** Written when the outcome was known. All other acts of operators are recorded before they take effect. */
const ended = new Set(['admin.job_ended', 'admin.connection_removed']);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** 0 if the outcome is not known. */
function statusIdOf({ event, line }: AuditLine, { classUid, hasFailed }: Activity): number {
  const { status, outcome, operator } = line;
  if (hasFailed || status === 'failed' || outcome === 'abandoned' || outcome === 'unsupported') return FAILURE;
  const isOfOperator = operator !== undefined && !event.startsWith('console.') && !ended.has(event);
  return classUid === 0 || outcome === 'unknown' || isOfOperator ? UNKNOWN_OUTCOME : SUCCESS;
}

function actorOf(line: AuditLine['line'], { cause }: Activity) {
  const [operator, mcpServerId] = [textOf(line['operator']), textOf(line['mcpServerId'])];
  const subject = textOf(line[cause === 'visitor' ? 'visitor' : 'subject']);
  const by = textOf(line['by']) ?? cause;
  if (operator !== undefined) return { user: { name: operator, type_id: ADMIN } };
  if (by === 'mcp_server' && mcpServerId !== undefined) return { app_uid: mcpServerId };
  if ((by === 'person' || by === 'visitor') && subject !== undefined) return { user: { uid: subject, type_id: USER } };
  return { app_name: POSTERN.name };
}

/** Whom the event authenticates, or whose account it changes. The schema needs a user, also for a stranger. */
function userOf(line: AuditLine['line']) {
  const subject = textOf(line['subject']);
  if (subject !== undefined) return { uid: subject, type_id: USER };
  const operator = textOf(line['operator']);
  return operator === undefined ? { name: 'unknown', type_id: UNKNOWN } : { name: operator, type_id: ADMIN };
}

function entityOf(line: AuditLine['line'], entity: NonNullable<Activity['entity']>) {
  const [id, subject] = [textOf(line[entity.id]), textOf(line['subject'])];
  const user = subject === undefined ? undefined : { uid: subject, type_id: USER };
  const kind = entity.type === 'person' ? { type_id: 2, type: 'User' } : { type_id: 99, type: entity.type };
  return { ...kind, ...(id === undefined ? { name: entity.type } : { uid: id }), user };
}

/** What users, operators and MCP servers sign in to, by the prefix of the event. */
const services: Readonly<Record<string, string>> = { browser: 'pages', console: 'console', caller: 'API' };

/** The credential with which the request of an audit line was authenticated. */
function sessionOf(line: AuditLine['line'], { entity }: Activity) {
  const apiKeyId = entity?.id === 'apiKeyId' ? undefined : textOf(line['apiKeyId']);
  return apiKeyId === undefined ? {} : { session: { credential_uid: apiKeyId } };
}

/** The attributes of one class. */
function detailsOf({ event, line }: AuditLine, activity: Activity) {
  const { classUid, entity } = activity;
  const ip = textOf(line['source']);
  const shared = {
    actor: { ...actorOf(line, activity), ...sessionOf(line, activity) },
    src_endpoint: ip === undefined ? undefined : { ip },
  };
  switch (classUid) {
    case 3001:
      return { ...shared, user: userOf(line) };
    case 3002:
      return { ...shared, user: userOf(line), service: { name: `Postern ${services[event.split('.', 1)[0] ?? '']}` } };
    case 3004: {
      const comment = line['operator'] === undefined ? undefined : textOf(line['reason']);
      return { ...shared, ...(entity && { entity: entityOf(line, entity) }), comment };
    }
    default:
      return {};
  }
}

/** Members of a line that have attributes of their own, in every class. */
const mapped = ['audit', 'time', 'event', 'level', 'message', 'requestId'];
const codes = ['code', 'failure', 'error'];

/** Members that the class of this event has attributes for. */
function mappedIn(line: AuditLine['line'], { classUid, entity, ...activity }: Activity): ReadonlySet<string> {
  if (entity === undefined && classUid !== 3001 && classUid !== 3002) return new Set(mapped);
  const actor = actorOf(line, { classUid, ...activity });
  return new Set([
    ...[...mapped, 'source', 'operator', 'by', 'subject', 'apiKeyId', ...(entity === undefined ? [] : [entity.id])],
    ...('app_uid' in actor ? ['mcpServerId'] : []),
    ...(activity.cause === 'visitor' ? ['visitor'] : []),
    ...(entity !== undefined && line['operator'] !== undefined ? ['reason'] : []),
  ]);
}

/**
 * Returns a line of the audit trail as an event of OCSF 1.8.0, without a profile. Users are the pseudonyms of the line. Members without
 * an attribute are in `unmapped`.
 */
export function ocsfEvent(of: AuditLine) {
  const { position, time, event, line } = of;
  const activity = activities.get(event) ?? unknownActivity;
  const { classUid, activityId } = activity;
  const statusId = statusIdOf(of, activity);
  const coded = codes.find(name => textOf(line[name]) !== undefined);
  const skipped = mappedIn(line, activity);
  const rest = Object.entries(line).filter(([name]) => !skipped.has(name) && name !== coded);
  return {
    metadata: {
      version: '1.8.0',
      product: POSTERN,
      uid: position,
      event_code: event,
      log_name: 'audit',
      original_time: time,
      correlation_uid: textOf(line['requestId']),
    },
    time: Date.parse(time),
    class_uid: classUid,
    category_uid: Math.floor(classUid / 1000),
    activity_id: activityId,
    type_uid: classUid * 100 + activityId,
    ...(activityId === 99 ? { activity_name: event } : {}),
    severity_id: severities.get(line['level']) ?? UNKNOWN,
    status_id: statusId,
    status_code: coded && textOf(line[coded]),
    message: textOf(line['message']),
    ...detailsOf(of, activity),
    ...(rest.length === 0 ? {} : { unmapped: Object.fromEntries(rest) }),
  };
}
