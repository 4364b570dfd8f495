import {
  type Clock,
  retentionWithDefaults,
  type StoreRetention,
  type Stores,
  type Waiters,
} from '@postern/elicitation';
import { type Database, openDatabase } from './database.ts';
import { LeasesInMemory, ReplicasInMemory } from './in-memory.ts';
import { Ledger } from './ledger.ts';
import { SqliteRecordLists } from './records.ts';
import { SqliteApiKeyStore, SqliteKeyAges } from './sqlite-api-key-store.ts';
import { SqliteAuditLog } from './sqlite-audit-log.ts';
import { SqliteBrowserSessionStore } from './sqlite-browser-session-store.ts';
import { SqliteConnectionStore } from './sqlite-connection-store.ts';
import { SqliteCredentialStore } from './sqlite-credential-store.ts';
import { SqliteElicitationStore } from './sqlite-elicitation-store.ts';
import { SqliteCounts, SqliteEventFeed, SqliteEventOutbox } from './sqlite-events.ts';
import { SqliteIdempotencyStore } from './sqlite-idempotency-store.ts';
import { SqliteJobStore } from './sqlite-job-store.ts';
import { SqliteMuteStore } from './sqlite-mute-store.ts';
import { SqliteOneTimeStore } from './sqlite-one-time-store.ts';
import { SqlitePasskeyStore } from './sqlite-passkey-store.ts';
import { SqlitePaymentStore } from './sqlite-payment-store.ts';
import { SqliteRefreshCounts } from './sqlite-refresh-counts.ts';
import { SqliteRevocationStore } from './sqlite-revocation-store.ts';
import { SqliteClientRegistrationStore, SqliteSealedRecords } from './sqlite-sealed-records.ts';

/** Numbers of events and lines are exact. An event that is not carried yet stays, whatever their number. */
export interface SqliteStoresOptions extends StoreRetention {
  /** A file, whose folder exists, or `:memory:`. */
  readonly path: string;
  readonly now: Clock;
  /** Called when the file begins to refuse writes, with the reason, and when it accepts them again. */
  readonly onRefusals?: (refusals: readonly string[]) => void;
}

/** All ports. The rest is for tests. */
export interface SqliteStores extends Stores {
  readonly connections: SqliteConnectionStore;
  readonly notifier: Waiters;
  /** @internal */
  readonly database: Database;
}

/**
 * All ports over one SQLite file, for the one process that opens it. Every verb is one commit, and durable when it returns.
 * @throws UnusableFileError
 */
export function createSqliteStores({ path, now, onRefusals, ...retention }: SqliteStoresOptions): SqliteStores {
  const { retentionMs, paymentRetentionMs, countRetentionMs, feed, eventsPerShard, audit } =
    retentionWithDefaults(retention);
  const database = openDatabase(path, now);
  database.onRefusals = onRefusals;
  const oneTime = new SqliteOneTimeStore(database);
  const ledger = new Ledger(database);
  const revocations = new SqliteRevocationStore(database, ledger);
  const connections = new SqliteConnectionStore({ database, revocations, ledger });
  const credentials = new SqliteCredentialStore(database, ledger);
  const counts = new SqliteCounts({ database, retentionMs: countRetentionMs });
  const feeds = new SqliteEventFeed({ database, retention: feed, counts });
  const idempotency = new SqliteIdempotencyStore(database, ledger);
  const mutes = new SqliteMuteStore(database);
  const outbox = new SqliteEventOutbox({ database, feed: feeds, perShard: eventsPerShard });
  const payments = new SqlitePaymentStore({ database, retentionMs: paymentRetentionMs, outbox });
  const elicitations = new SqliteElicitationStore({
    database,
    retentionMs,
    paymentRetentionMs,
    connections,
    credentials,
    oneTime,
    payments,
    outbox,
    ledger,
    idempotency,
    mutes,
  });
  const close = async (): Promise<void> => database[Symbol.dispose]();
  return {
    elicitations,
    connections,
    credentials,
    passkeys: new SqlitePasskeyStore(database, ledger),
    payments,
    revocations,
    oneTime,
    browserSessions: new SqliteBrowserSessionStore(database, ledger, 'session'),
    operatorSessions: new SqliteBrowserSessionStore(database, ledger, 'operator session'),
    idempotency,
    mutes,
    clientRegistrations: new SqliteClientRegistrationStore(database),
    notifier: database.waiters,
    events: outbox.events,
    audits: new SqliteAuditLog(database, audit),
    feeds,
    outbox,
    counts,
    lists: new SqliteRecordLists(database),
    refreshCounts: new SqliteRefreshCounts(database, { retentionMs: countRetentionMs }),
    storageUse: ledger,
    sealedRecords: new SqliteSealedRecords(database),
    leases: new LeasesInMemory(now),
    apiKeys: new SqliteApiKeyStore(database),
    keyAges: new SqliteKeyAges(database),
    jobs: new SqliteJobStore(database),
    replicas: new ReplicasInMemory(now),
    database,
    ping: async () => database.ping(),
    refusals: () => database.refusals,
    close,
    [Symbol.asyncDispose]: close,
  };
}
