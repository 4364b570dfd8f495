import {
  type PasskeyAnnouncements,
  retentionWithDefaults,
  type StoreRetention,
  type Stores,
} from '@postern/elicitation';
import { createKeys } from './keys.ts';
import { RedisAdminCredentialStore } from './redis-admin-credential-store.ts';
import { RedisApiKeyStore } from './redis-api-key-store.ts';
import { RedisAuditLog } from './redis-audit-log.ts';
import { RedisBrowserSessionStore } from './redis-browser-session-store.ts';
import { RedisClientRegistrationStore } from './redis-client-registration-store.ts';
import { RedisConnectionStore } from './redis-connection-store.ts';
import { RedisCounts, RedisRefreshCounts } from './redis-counts.ts';
import { RedisCredentialStore } from './redis-credential-store.ts';
import { RedisElicitationStore } from './redis-elicitation-store.ts';
import type { RedisEpochs } from './redis-epochs.ts';
import { RedisEventFeed, RedisEventLog, RedisEventOutbox } from './redis-events.ts';
import { RedisIdempotencyStore } from './redis-idempotency-store.ts';
import { RedisJobStore } from './redis-job-store.ts';
import { RedisKeyAges } from './redis-key-ages.ts';
import { RedisLeaseStore } from './redis-lease-store.ts';
import { RedisMuteStore } from './redis-mute-store.ts';
import { RedisOneTimeStore } from './redis-one-time-store.ts';
import { RedisPasskeyAnnouncements, RedisPasskeyStore } from './redis-passkey-store.ts';
import { RedisPaymentStore } from './redis-payment-store.ts';
import { RedisRecordLists } from './redis-record-lists.ts';
import { RedisReplicaStore } from './redis-replica-store.ts';
import { RedisRevocationStore } from './redis-revocation-store.ts';
import { RedisStorageUse } from './redis-storage-use.ts';
import { RedisWebhookEndpointStore } from './redis-webhook-endpoint-store.ts';
import { RedisSealedRecords } from './sealed-records.ts';
import { openWatchedRedis, type WatchedRedisOptions } from './watched-redis.ts';

/** Redis drops events and lines by blocks, so their numbers are approximate. */
export type RedisStoresOptions = WatchedRedisOptions & StoreRetention;

/** What only Redis serves. */
export interface NetworkStores {
  readonly passkeyAnnouncements: PasskeyAnnouncements;
  readonly adminCredentials: RedisAdminCredentialStore;
  readonly webhookEndpoints: RedisWebhookEndpointStore;
  readonly epochs: RedisEpochs;
}

export interface RedisStores extends Stores, NetworkStores {}

/**
 * Connects, checks that Redis meets the profile, and returns the ports.
 * @throws UnsafeRedisError, StoreUnavailableError
 */
export async function createRedisStores(options: RedisStoresOptions): Promise<RedisStores> {
  const keys = createKeys(options.prefix ?? 'postern');
  const { redis, link, waiters, epochs, committed, ping, refusals, close } = await openWatchedRedis(keys, options);
  const { retentionMs, paymentRetentionMs, countRetentionMs, feed, eventsPerShard, audit } =
    retentionWithDefaults(options);
  return {
    elicitations: new RedisElicitationStore({
      link,
      keys,
      retentionMs,
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
    audits: new RedisAuditLog(link, keys, audit),
    feeds: new RedisEventFeed(link, keys, { waiters, maxAgeMs: feed.maxAgeMs }),
    outbox: new RedisEventOutbox(link, keys, { waiters, retention: feed, countRetentionMs }),
    lists: new RedisRecordLists(link, keys),
    counts: new RedisCounts(link, keys),
    refreshCounts: new RedisRefreshCounts(link, keys, { retentionMs: countRetentionMs }),
    storageUse: new RedisStorageUse(link, keys),
    sealedRecords: new RedisSealedRecords(redis, link, keys),
    leases: new RedisLeaseStore(link, keys),
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
