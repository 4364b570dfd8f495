import type { BrowserSessionStore } from './browser-session.ts';
import type { Connection, ConnectionStore, RevocationStore } from './connection.ts';
import type { Credential, CredentialStore } from './credential.ts';
import { type Elicitation, HOUR_MS } from './elicitation.ts';
import type { ElicitationStore, IdempotencyStore } from './elicitation-store.ts';
import type { ElicitationEvent, EventFeed, EventOutbox } from './events.ts';
import type { ConnectionId, Shard, Subject } from './ids.ts';
import type { CountReader, RecordLists } from './listing.ts';
import type { StorageQuota } from './mcp-server.ts';
import type { MuteStore } from './mute.ts';
import type { OneTimeStore } from './one-time.ts';
import type { PasskeyStore } from './passkey.ts';
import type { PaymentStore } from './payment.ts';
import type { Notifier } from './waiters.ts';

const DAY_MS = 24 * HOUR_MS;

/**
 * Every port that a gateway needs, whatever its store is. The port of a record is declared beside the record; the ports that only the
 * operation of a gateway needs are declared here.
 *
 * In every store, check and write are one verb: no port offers "get" followed by "update". Every mutation takes an operation id
 * or a digest, so that repeating it after a lost response is harmless. All verbs throw StoreUnavailableError if the store does
 * not answer.
 */
export interface Stores extends AsyncDisposable {
  readonly elicitations: ElicitationStore;
  readonly connections: ConnectionStore;
  readonly credentials: CredentialStore;
  readonly passkeys: PasskeyStore;
  readonly payments: PaymentStore;
  readonly revocations: RevocationStore;
  readonly oneTime: OneTimeStore;
  readonly browserSessions: BrowserSessionStore;
  /** Of the operators' console. Apart, so that no session of a user counts as one of an operator. */
  readonly operatorSessions: BrowserSessionStore;
  readonly idempotency: IdempotencyStore;
  readonly mutes: MuteStore;
  readonly clientRegistrations: ClientRegistrationStore;
  readonly notifier: Notifier;
  readonly events: EventLog;
  readonly audits: AuditTrailStore;
  readonly feeds: EventFeed;
  /** The source of the relay, which carries events into the feeds. */
  readonly outbox: EventOutbox;
  readonly lists: RecordLists;
  readonly counts: CountReader;
  readonly refreshCounts: RefreshCountStore;
  readonly storageUse: StorageUseReader;
  readonly sealedRecords: SealedRecordStore;
  readonly leases: LeaseStore;
  readonly apiKeys: ApiKeyStore;
  readonly keyAges: KeyAgeStore;
  readonly jobs: JobStore;
  readonly replicas: ReplicaStore;
  /** Checks that the store answers, keeps its data and has lost none. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Why the store refuses writes, as codes. Empty if it accepts them. */
  refusals(): readonly string[];
  close(): Promise<void>;
}

/**
 * Leases for work that one replica does at a time. A lease expires, so another replica takes over from a killed holder. Work under a lease
 * must therefore be safe even if two replicas do it.
 */
export interface LeaseStore {
  /** Returns true if the holder now has the lease for `leaseMs`, new or extended. */
  take(p: { readonly name: string; readonly holder: string; readonly leaseMs: number }): Promise<boolean>;
  /** Does nothing if another holder has the lease. */
  release(p: { readonly name: string; readonly holder: string }): Promise<void>;
}

/**
 * Client registrations of the gateway at authorization servers, sealed before they reach the store. They are kept until they are
 * removed, because providers issue tokens to them. Methods throw DomainError `unknown_record_layout`.
 */
export interface ClientRegistrationStore {
  read(digest: string): Promise<string | undefined>;
  /** Returns the stored value: this one, or an earlier one. */
  putIfAbsent(digest: string, sealedRegistration: string): Promise<string>;
  /** Removes the registration only if it has this value. */
  remove(digest: string, sealedRegistration: string): Promise<void>;
}

export interface LoggedEvent {
  /** Position in the shard's log; pass it as `after` to continue from here. */
  readonly position: string;
  readonly event: ElicitationEvent;
  /** The provider or processor that is asked. */
  readonly provider?: string;
  /** Time since the elicitation was issued, in milliseconds. */
  readonly tookMs?: number;
}

/** The events of a shard in commit order. Old ones are dropped by count, so the log is not an archive. */
export interface EventLog {
  /** @param after a position returned earlier; without it, reads from the oldest event kept. */
  read(shard: Shard, p: { readonly after?: string; readonly limit: number }): Promise<readonly LoggedEvent[]>;
}

/** The streams of the audit trail, in the order of lines that have the same time and number. */
export const auditStreams = ['people', 'operators'] as const;
export type AuditStreamName = (typeof auditStreams)[number];

/** Retention of each feed. A store may keep some more. */
export interface FeedRetention {
  /** Number of events per MCP server. */
  readonly events: number;
  readonly maxAgeMs: number;
}

/** How long a store keeps what it could keep for ever. Times are in milliseconds. */
export interface StoreRetention {
  /** Of ended elicitations and of their results. Default 24 hours. */
  readonly retentionMs?: number;
  /** Of payments. Default 400 days. */
  readonly paymentRetentionMs?: number;
  /** Of counts. Default 90 days. */
  readonly countRetentionMs?: number;
  /** Of each MCP server's feed. Default 10,000 events, and 7 days. */
  readonly feed?: Partial<FeedRetention>;
  /** Number of events per shard. Default 4096. */
  readonly eventsPerShard?: number;
  /** Of each stream of the audit trail. Default 100,000 lines; 90 days, and 400 of what operators did. */
  readonly audit?: Readonly<Partial<Record<AuditStreamName, Partial<AuditRetention>>>>;
}

/** The retention with its defaults. */
export function retentionWithDefaults(given: StoreRetention) {
  return {
    retentionMs: given.retentionMs ?? DAY_MS,
    paymentRetentionMs: given.paymentRetentionMs ?? 400 * DAY_MS,
    countRetentionMs: given.countRetentionMs ?? 90 * DAY_MS,
    feed: { events: 10_000, maxAgeMs: 7 * DAY_MS, ...given.feed },
    eventsPerShard: given.eventsPerShard ?? 4_096,
    audit: {
      people: { lines: 100_000, maxAgeMs: 90 * DAY_MS, ...given.audit?.people },
      operators: { lines: 100_000, maxAgeMs: 400 * DAY_MS, ...given.audit?.operators },
    },
  };
}

/** Minimum time for which a taken one-time record is remembered. */
export const SPENT_MS = 10 * 60_000;
/** Maximum number of used values of one kind that a shard remembers. */
export const MAX_USED_VALUES = 512;
/** Maximum number of browser sessions of one user, and of those that one application vouched for. */
export const MAX_BROWSER_SESSIONS = 20;
/**
 * Maximum age of an unfinished revocation. Retries give up earlier. This is the backstop, because the record contains tokens
 * that no caller can use any more.
 */
export const REVOCATION_LIFETIME_MS = 8 * DAY_MS;

/** How long lines stay: until either limit. */
export interface AuditRetention {
  /** Approximate number of lines. */
  readonly lines: number;
  readonly maxAgeMs: number;
}

export interface AuditLine {
  readonly stream: AuditStreamName;
  /** Place in the trail, of which `isAuditPosition`. It orders the lines of both streams. */
  readonly position: string;
  /** The line as appended. */
  readonly line: string;
}

/**
 * The audit trail of all gateway processes, in the order of their writes. The lines that only operators can cause have a stream and a
 * retention of their own. The trail complements the log and does not replace it.
 */
export interface AuditTrailStore {
  /** @throws StoreUnavailableError if the line may or may not have been appended */
  append(stream: AuditStreamName, line: string): Promise<void>;
  /**
   * Oldest first.
   * @param p.after the last position read of each stream; without one, from the oldest line kept. One position for both would miss lines:
   * a stream may get one, after it was read, that is older than the newest of the other.
   */
  read(p: {
    readonly after?: Readonly<Partial<Record<AuditStreamName, string>>>;
    readonly since?: Date;
    readonly limit: number;
  }): Promise<readonly AuditLine[]>;
  /** Newest first. @param p.before a position returned earlier */
  readBack(p: {
    readonly before?: string;
    readonly since?: Date;
    readonly until?: Date;
    readonly limit: number;
  }): Promise<readonly AuditLine[]>;
}

/** `<time>-<number>`, followed by `o` in the stream of operators. */
export const AUDIT_POSITION = /^(\d{1,15})-(\d{1,15})(o?)$/;

/** Whether a text is a position in the audit trail. */
export const isAuditPosition = (text: string): boolean => AUDIT_POSITION.test(text);

/** `postponed`: failed, and tried again. `lost`: the provider refused, so the user must connect again. */
export const refreshOutcomes = ['refreshed', 'postponed', 'lost'] as const;
export type RefreshOutcome = (typeof refreshOutcomes)[number];

/** How many refreshes at a provider ended like this within an hour, on all replicas. */
export interface RefreshCount {
  /** Start of the hour, epoch milliseconds. */
  readonly at: number;
  readonly outcome: RefreshOutcome;
  /** Why it failed. */
  readonly code?: string;
  readonly count: number;
}

/** Refreshes at one provider on one day that a process has not counted yet. */
export interface RefreshBatch {
  readonly provider: string;
  /** UTC, `2026-11-23` */
  readonly day: string;
  /** Names the batch when it is sent again. */
  readonly operationId: string;
  readonly counts: readonly RefreshCount[];
}

/** Counts of refreshes, by provider and day. */
export interface RefreshCountStore {
  /** @param writer one process, which sends a batch of a provider and day again until it is counted, before it sends the next */
  add(writer: string, batch: RefreshBatch): Promise<void>;
  read(provider: string, day: string): Promise<readonly RefreshCount[]>;
}

/** What an MCP server stores, as its quota counts it, or what the MCP servers of a group share (`group:<name>`). */
export interface StorageUse extends StorageQuota {
  readonly owner: string;
  /** Per shard, in the order of `SHARDS`: the gateway decides on each shard by itself. */
  readonly shards: readonly (StorageQuota & {
    /** The part of it that stays until it is removed. */
    readonly lasting: StorageQuota;
  })[];
}

export interface StorageUseReader {
  read(owners: readonly string[]): Promise<readonly StorageUse[]>;
}

/** Every kind of lasting value that the vault seals. */
export const sealedKinds = ['connection', 'revocation', 'credential', 'result', 'registration', 'apiKey'] as const;
export type SealedKind = (typeof sealedKinds)[number];

/** A lasting value that the vault has sealed, with the owner it is bound to. */
export type SealedRecord = SealedTokens | SealedCredential | SealedResult | SealedRegistration | SealedApiKey;

interface SealedTokens extends Pick<Connection, 'owner' | 'subject' | 'provider' | 'resource' | 'elicitationId'> {
  readonly kind: 'connection' | 'revocation';
  /** Connection id or revocation id. */
  readonly id: string;
  readonly sealed: string;
}

/** The values of a lasting credential. */
interface SealedCredential extends Pick<Credential, 'owner' | 'subject' | 'name' | 'elicitationId'> {
  readonly kind: 'credential';
  /** Credential id. */
  readonly id: string;
  readonly sealed: string;
}

/**
 * Values that a user typed, until they are redeemed. The record lives only for the retention, but an operator can retire a key on
 * any day.
 */
interface SealedResult extends Pick<Elicitation, 'elicitationId' | 'mcpServerId' | 'subject'> {
  readonly kind: 'result';
  /** Elicitation id. */
  readonly id: string;
  readonly request: Pick<Elicitation['request'], 'kind'>;
  readonly sealed: string;
}

/** The gateway's own client registration at an authorization server. */
interface SealedRegistration {
  readonly kind: 'registration';
  /** The digest it is stored under. The seal is bound to nothing else. */
  readonly id: string;
  readonly sealed: string;
}

/** The digest of an API key that an operator added. */
interface SealedApiKey {
  readonly kind: 'apiKey';
  readonly id: string;
  readonly mcpServerId: string;
  readonly sealed: string;
}

export interface SealedRecordName {
  readonly kind: SealedKind;
  readonly id: string;
}

/** The records of one step of a walk; often none. */
export interface SealedRecordsStep {
  readonly records: readonly SealedRecord[];
  /** Records of a layout that this release cannot read. The key of their sealed values is unknown. */
  readonly unreadable: readonly SealedRecordName[];
}

/** All lasting sealed values, for key rotation. */
export interface SealedRecordStore {
  /**
   * Walks through all records in small steps. It finds a record that exists the whole time at least once. It may miss a record that
   * appears, vanishes or moves meanwhile, and may return one twice.
   */
  walk(): AsyncGenerator<SealedRecordsStep, void, undefined>;
  /**
   * Replaces this sealed value, unless the record is gone or holds another value. The rest of the record does not change. Also returns
   * true if an earlier attempt did it.
   */
  replace(record: SealedRecordName & { readonly sealed: string }, nextSealed: string): Promise<boolean>;
}

/** Who changed an API key, and why. */
export interface ApiKeyChange {
  readonly by: string;
  readonly reason: string;
}

export interface NewApiKey extends ApiKeyChange {
  /** Begins with `ak_`. */
  readonly apiKeyId: string;
  readonly mcpServerId: string;
  /** Name for operators. */
  readonly name: string;
  readonly lastFour: string;
  /** SHA-256 of the key, sealed: who can only write to the store must not be able to add a key. */
  readonly sealedDigest: string;
}

/** A key of the configuration that was revoked here. */
export interface RevokedConfigKey {
  readonly apiKeyId: string;
  readonly mcpServerId: string;
  /** SHA-256 of the key, in hex. */
  readonly digest: string;
}

export interface StoredApiKey {
  readonly apiKeyId: string;
  readonly mcpServerId: string;
  readonly createdAt: number;
  readonly added?: ApiKeyChange & { readonly name: string; readonly lastFour: string };
  /** Present while the key is valid. */
  readonly sealedDigest?: string;
  /** Only of a revoked key of the configuration. */
  readonly digest?: string;
  readonly revoked?: ApiKeyChange & { readonly at: number };
}

/** Valid API keys: all replicas read the list as a whole. */
export const MAX_API_KEYS = 10_000;
/** Revoked API keys that operators still see in the list, and for how long. The audit trail has them as well. */
export const MAX_REVOKED_API_KEYS = 1_000;
export const REVOKED_API_KEYS_MS = 90 * DAY_MS;

/** API keys of MCP servers that operators added, and those of the configuration that they revoked. */
export interface ApiKeyStore {
  add(key: NewApiKey): Promise<'added' | 'exists' | 'full'>;
  /** Revokes a key of the store, or one of the configuration, which is given as a whole. */
  revoke(key: string | RevokedConfigKey, change: ApiKeyChange): Promise<'revoked' | 'already' | 'unknown'>;
  /** Returns undefined if the list still has this version. @throws DomainError `unknown_record_layout` */
  read(
    knownVersion?: string,
  ): Promise<{ readonly version: string; readonly apiKeys: readonly StoredApiKey[] } | undefined>;
}

/** When a key of the configuration was first seen. */
export interface KeyAge {
  /** Epoch milliseconds. */
  readonly since: number;
  /** The key was there when the deployment began to note the ages of keys. */
  readonly isOrEarlier: boolean;
}

/** Since when the deployment has its keys, and when it last used API keys. No key is in it. */
export interface KeyAgeStore {
  /** Notes keys of a configuration by their names. Keeps the times of those that are noted. */
  note(names: readonly string[]): Promise<void>;
  /** @param at epoch milliseconds, truncated by the caller: each new value is a write */
  noteUse(name: string, at: number): Promise<void>;
  read(): Promise<{ readonly ages: ReadonlyMap<string, KeyAge>; readonly uses: ReadonlyMap<string, number> }>;
}

/** How far a job is. Only the replica that holds the job reads `cursor` and `pending`. */
export interface JobProgress {
  /** Records that the job concerns, as far as it has looked. */
  readonly found: number;
  /** Of those, the ones that are done. */
  readonly done: number;
  /** Of a redelivery: how many of those the receiver has accepted since, and how many have failed again. */
  readonly delivered?: number;
  readonly failedAgain?: number;
  /** Records that this release cannot read. */
  readonly unreadable: number;
  /** Share of the search that is done, 0 to 1. */
  readonly share: number;
  /** Where the search continues. */
  readonly cursor: string;
  /** Ids that are found but not known to be done: after a crash, some of them may be. */
  readonly pending: readonly string[];
  /** Failed attempts since the last progress. */
  readonly failures: number;
  /** Code of the last failure. */
  readonly error?: string;
}

export const jobVerbs = ['disconnect', 'redeliver'] as const;
export const jobEnds = ['done', 'failed', 'cancelled'] as const;
export type JobEnd = (typeof jobEnds)[number];

/** Ways in which an operator reaches the gateway. */
export const doors = ['console', 'admin_api', 'command_line'] as const;

/** What an operator started, without the data of a person. */
export interface JobAbout {
  readonly verb: (typeof jobVerbs)[number];
  readonly target: {
    readonly connectionId?: ConnectionId;
    /** Pseudonym. */
    readonly subject?: string;
    readonly provider?: string;
    readonly mcpServerId?: string;
    readonly endpoint?: string;
    /** Epoch milliseconds. */
    readonly since?: number;
  };
  /** Name of the operator. */
  readonly by: string;
  readonly door: (typeof doors)[number];
  readonly reason?: string;
}

/** @throws TypeError */
export function assertJobId(text: string): void {
  if (!/^jb_[A-Za-z0-9_-]{1,64}$/.test(text)) throw new TypeError('Not the id of a job.');
}

export interface StoredJob {
  readonly jobId: string;
  readonly about: JobAbout;
  /** Until the job ends. */
  readonly person?: Subject;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Whether a replica has the lease, or had it when it was killed. */
  readonly isHeld: boolean;
  readonly progress?: JobProgress;
  readonly ended?: { readonly status: JobEnd; readonly at: number };
}

export const MAX_UNFINISHED_JOBS = 100;
/** Ended jobs stay this long. Their audit lines stay as long as the audit trail. */
export const ENDED_JOBS_MS = 30 * DAY_MS;

/** Jobs that operators start and replicas work on. Work under a lease must be safe even if two replicas do it. */
export interface JobStore {
  /** Returns the time of the start, or undefined if too many jobs are unfinished. */
  start(p: {
    readonly jobId: string;
    readonly about: JobAbout;
    readonly person?: Subject;
  }): Promise<number | undefined>;
  /** Returns the job if the holder now has its lease, new or extended. */
  claim(p: {
    readonly jobId: string;
    readonly holder: string;
    readonly leaseMs: number;
  }): Promise<StoredJob | undefined>;
  /** Returns false if the job has ended or another replica has it: the caller must stop. @param p.leaseMs 0 releases the job */
  move(p: {
    readonly jobId: string;
    readonly holder: string;
    readonly leaseMs: number;
    readonly progress: JobProgress;
  }): Promise<boolean>;
  /** Returns false if the job had ended before, or another replica has it. @param p.holder absent if an operator ends it */
  end(p: {
    readonly jobId: string;
    readonly holder?: string;
    readonly status: JobEnd;
    readonly progress?: JobProgress;
  }): Promise<boolean>;
  /** Oldest first. */
  unfinished(): Promise<readonly string[]>;
  /** The last to end first. */
  ended(limit: number): Promise<readonly string[]>;
  /** @throws TypeError for text that is no job id, DomainError `unknown_record_layout` */
  read(jobId: string): Promise<StoredJob | undefined>;
}

/** What a replica says about itself. */
export interface ReplicaRecord {
  /** Host name and process id, as in the log. */
  readonly instance: string;
  readonly version: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly status: 'serving' | 'draining' | 'drained';
  /** Requests in flight, waiting reads and event streams included. */
  readonly requests: number;
}

export interface ListedReplica extends ReplicaRecord {
  readonly replicaId: string;
  readonly isOrderedToDrain: boolean;
}

/** The replicas of a deployment, each for a limited time after its last announcement. */
export interface ReplicaStore {
  /** Returns whether an operator has ordered this replica to drain. */
  announce(replicaId: string, record: ReplicaRecord, lifeMs: number): Promise<{ readonly mustDrain: boolean }>;
  /** @param p.evenLast also the last replica that was not ordered to drain */
  drain(replicaId: string, p: { readonly evenLast: boolean }): Promise<'ordered' | 'already' | 'last' | 'unknown'>;
  /** Oldest first. */
  list(): Promise<readonly ListedReplica[]>;
  /** Returns how long the last announcement of a replica still lasts, in milliseconds: 0 if it has ended, or there was none. */
  remainingMs(replicaId: string): Promise<number>;
  /** Removes a replica that stops. */
  withdraw(replicaId: string): Promise<void>;
}

/** What a credential of the admin API may do: look at lists, change something, look at one person, add and revoke API keys. */
export const adminScopes = ['read', 'act', 'people', 'keys'] as const;
export type AdminScope = (typeof adminScopes)[number];

/** A credential of the admin API. The token itself is not stored. */
export interface StoredAdminCredential {
  readonly credentialId: string;
  readonly name: string;
  readonly scopes: readonly AdminScope[];
  /** Keyed digest of the token, the id, the name and the scopes: who can only write to the store must not be able to add or widen one. */
  readonly mac: string;
  readonly createdAt: number;
  readonly by: string;
  readonly reason: string;
}
