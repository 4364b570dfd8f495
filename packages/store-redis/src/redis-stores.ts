import type {
  BrowserSessionStore,
  ConnectionStore,
  CountReader,
  CredentialStore,
  ElicitationStore,
  EventFeed,
  EventOutbox,
  IdempotencyStore,
  MuteStore,
  Notifier,
  OneTimeStore,
  PasskeyAnnouncements,
  PasskeyStore,
  PaymentStore,
  RecordLists,
  RevocationStore,
} from '@postern/elicitation';
import { createKeys } from './keys.ts';
import { LeaseStore } from './lease-store.ts';
import { RedisAdminCredentialStore } from './redis-admin-credential-store.ts';
import { RedisApiKeyStore } from './redis-api-key-store.ts';
import { type AuditRetention, type AuditStreamName, RedisAuditLog } from './redis-audit-log.ts';
import { RedisBrowserSessionStore } from './redis-browser-session-store.ts';
import { RedisClientRegistrationStore } from './redis-client-registration-store.ts';
import { RedisConnectionStore } from './redis-connection-store.ts';
import { RedisCounts } from './redis-counts.ts';
import { RedisCredentialStore } from './redis-credential-store.ts';
import { RedisElicitationStore } from './redis-elicitation-store.ts';
import type { RedisEpochs } from './redis-epochs.ts';
import { RedisEventFeed } from './redis-event-feed.ts';
import { RedisEventLog } from './redis-event-log.ts';
import { type FeedRetention, RedisEventOutbox } from './redis-event-outbox.ts';
import { RedisIdempotencyStore } from './redis-idempotency-store.ts';
import { RedisJobStore } from './redis-job-store.ts';
import { RedisKeyAges } from './redis-key-ages.ts';
import { RedisMuteStore } from './redis-mute-store.ts';
import { RedisOneTimeStore } from './redis-one-time-store.ts';
import { RedisPasskeyAnnouncements, RedisPasskeyStore } from './redis-passkey-store.ts';
import { RedisPaymentStore } from './redis-payment-store.ts';
import { RedisRecordLists } from './redis-record-lists.ts';
import { RedisRefreshCounts } from './redis-refresh-counts.ts';
import { RedisReplicaStore } from './redis-replica-store.ts';
import { RedisRevocationStore } from './redis-revocation-store.ts';
import { RedisStorageUse } from './redis-storage-use.ts';
import { RedisWebhookEndpointStore } from './redis-webhook-endpoint-store.ts';
import { SealedRecords } from './sealed-records.ts';
import { openWatchedRedis, type WatchedRedis, type WatchedRedisOptions } from './watched-redis.ts';

export type RedisStoresOptions = WatchedRedisOptions & {
  /** Retention of ended elicitations and of their results, in ms. Default 24 hours. */
  readonly retentionMs?: number;
  /** Retention of payments, in ms. Default 400 days. */
  readonly paymentRetentionMs?: number;
  /** Approximate number of events kept per shard. Default 4096. */
  readonly eventsPerShard?: number;
  /** Retention of each MCP server's feed. Default about 10,000 events, and 7 days. */
  readonly feed?: Partial<FeedRetention>;
  /** Retention of counts, in ms. Default 90 days. */
  readonly countRetentionMs?: number;
  /** Retention of each stream of the audit trail. Default about 100,000 lines; 90 days, and 400 of what operators did. */
  readonly audit?: Readonly<Partial<Record<AuditStreamName, Partial<AuditRetention>>>>;
};

export interface RedisStores extends AsyncDisposable, Pick<WatchedRedis, 'ping' | 'refusals' | 'close'> {
  readonly elicitations: ElicitationStore;
  readonly connections: ConnectionStore;
  readonly credentials: CredentialStore;
  readonly passkeys: PasskeyStore;
  readonly passkeyAnnouncements: PasskeyAnnouncements;
  readonly payments: PaymentStore;
  readonly revocations: RevocationStore;
  readonly oneTime: OneTimeStore;
  readonly browserSessions: BrowserSessionStore;
  /** Of the operators' console. Under keys of their own, so that no session of a user counts as one of an operator. */
  readonly operatorSessions: BrowserSessionStore;
  readonly idempotency: IdempotencyStore;
  readonly mutes: MuteStore;
  readonly clientRegistrations: RedisClientRegistrationStore;
  readonly notifier: Notifier;
  readonly events: RedisEventLog;
  readonly audits: RedisAuditLog;
  readonly feeds: EventFeed;
  /** The source of the relay, which carries events into the feeds. */
  readonly outbox: EventOutbox;
  readonly lists: RecordLists;
  readonly counts: CountReader;
  readonly refreshCounts: RedisRefreshCounts;
  readonly storageUse: RedisStorageUse;
  readonly sealedRecords: SealedRecords;
  readonly leases: LeaseStore;
  readonly apiKeys: RedisApiKeyStore;
  readonly keyAges: RedisKeyAges;
  readonly adminCredentials: RedisAdminCredentialStore;
  readonly jobs: RedisJobStore;
  readonly replicas: RedisReplicaStore;
  readonly webhookEndpoints: RedisWebhookEndpointStore;
  readonly epochs: RedisEpochs;
}

const DAY_MS = 24 * 3_600_000;

/**
 * Connects, checks that Redis meets the profile, and returns the ports.
 * @throws UnsafeRedisError, StoreUnavailableError
 */
export async function createRedisStores(options: RedisStoresOptions): Promise<RedisStores> {
  const keys = createKeys(options.prefix ?? 'postern');
  const { redis, link, waiters, epochs, committed, ping, refusals, close } = await openWatchedRedis(keys, options);
  const paymentRetentionMs = options.paymentRetentionMs ?? 400 * DAY_MS;
  const eventsPerShard = options.eventsPerShard ?? 4_096;
  const countRetentionMs = options.countRetentionMs ?? 90 * DAY_MS;
  const retention = { events: 10_000, maxAgeMs: 7 * DAY_MS, ...options.feed };
  return {
    elicitations: new RedisElicitationStore({
      link,
      keys,
      retentionMs: options.retentionMs ?? DAY_MS,
      paymentRetentionMs,
      eventsPerShard,
      committed,
    }),
    connections: new RedisConnectionStore(link, keys),
    credentials: new RedisCredentialStore(link, keys),
    passkeys: new RedisPasskeyStore(link, keys),
    passkeyAnnouncements: new RedisPasskeyAnnouncements(link, keys),
    payments: new RedisPaymentStore(link, keys, { retentionMs: paymentRetentionMs, eventsPerShard, committed }),
    revocations: new RedisRevocationStore(link, keys),
    oneTime: new RedisOneTimeStore(link, keys),
    browserSessions: new RedisBrowserSessionStore(link, keys),
    operatorSessions: new RedisBrowserSessionStore(link, keys.ofOperators),
    idempotency: new RedisIdempotencyStore(link, keys),
    mutes: new RedisMuteStore(link, keys),
    clientRegistrations: new RedisClientRegistrationStore(link, keys),
    notifier: waiters,
    events: new RedisEventLog(link, keys),
    audits: new RedisAuditLog(link, keys, {
      people: { lines: 100_000, maxAgeMs: 90 * DAY_MS, ...options.audit?.people },
      operators: { lines: 100_000, maxAgeMs: 400 * DAY_MS, ...options.audit?.operators },
    }),
    feeds: new RedisEventFeed(link, keys, { waiters, maxAgeMs: retention.maxAgeMs }),
    outbox: new RedisEventOutbox(link, keys, { waiters, retention, countRetentionMs }),
    lists: new RedisRecordLists(link, keys),
    counts: new RedisCounts(link, keys),
    refreshCounts: new RedisRefreshCounts(link, keys, { retentionMs: countRetentionMs }),
    storageUse: new RedisStorageUse(link, keys),
    sealedRecords: new SealedRecords(redis, link, keys),
    leases: new LeaseStore(link, keys),
    apiKeys: new RedisApiKeyStore(link, keys),
    keyAges: new RedisKeyAges(link, keys),
    adminCredentials: new RedisAdminCredentialStore(link, keys),
    jobs: new RedisJobStore(link, keys),
    replicas: new RedisReplicaStore(link, keys),
    webhookEndpoints: new RedisWebhookEndpointStore(link, keys),
    epochs,
    ping,
    refusals,
    close,
    [Symbol.asyncDispose]: close,
  };
}
