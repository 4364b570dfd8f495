import type { Clock, ElicitationEvent } from '@postern/elicitation';
import { openDatabase } from './database.ts';
import { Ledger } from './ledger.ts';
import { SqliteRecordLists } from './records.ts';
import { SqliteBrowserSessionStore } from './sqlite-browser-session-store.ts';
import { SqliteConnectionStore } from './sqlite-connection-store.ts';
import { SqliteCredentialStore } from './sqlite-credential-store.ts';
import { SqliteElicitationStore } from './sqlite-elicitation-store.ts';
import { type FeedRetention, SqliteCounts, SqliteEventFeed, SqliteEventOutbox } from './sqlite-events.ts';
import { SqliteIdempotencyStore } from './sqlite-idempotency-store.ts';
import { SqliteMuteStore } from './sqlite-mute-store.ts';
import { SqliteOneTimeStore } from './sqlite-one-time-store.ts';
import { SqlitePasskeyStore } from './sqlite-passkey-store.ts';
import { SqlitePaymentStore } from './sqlite-payment-store.ts';
import { SqliteRevocationStore } from './sqlite-revocation-store.ts';

interface SqliteStoresOptions {
  /** A file, whose folder exists, or `:memory:`. */
  readonly path: string;
  readonly now: Clock;
  /** Default 24 hours, as in Redis. */
  readonly retentionMs?: number;
  /** Default 400 days, as in Redis. */
  readonly paymentRetentionMs?: number;
  /** Default 90 days, as in Redis. */
  readonly countRetentionMs?: number;
  /** As in Redis, except that the number of kept events is exact. */
  readonly feed?: Partial<FeedRetention>;
}

export type SqliteStores = ReturnType<typeof createSqliteStores>;

const DAY_MS = 24 * 3_600_000;

/**
 * All ports over one SQLite file, for the one process that opens it. Every verb is one commit, and durable when it returns.
 * @throws UnusableFileError
 * @internal
 */
export function createSqliteStores({
  path,
  now,
  retentionMs = DAY_MS,
  paymentRetentionMs = 400 * DAY_MS,
  countRetentionMs = 90 * DAY_MS,
  feed,
}: SqliteStoresOptions) {
  const database = openDatabase(path, now);
  const oneTime = new SqliteOneTimeStore(database);
  const ledger = new Ledger(database);
  const revocations = new SqliteRevocationStore(database, ledger);
  const connections = new SqliteConnectionStore({ database, revocations, ledger });
  const credentials = new SqliteCredentialStore(database, ledger);
  const counts = new SqliteCounts({ database, retentionMs: countRetentionMs });
  const retention = { events: 10_000, maxAgeMs: 7 * DAY_MS, ...feed };
  const feeds = new SqliteEventFeed({ database, retention, counts });
  const idempotency = new SqliteIdempotencyStore(database, ledger);
  const mutes = new SqliteMuteStore(database);
  const outbox = new SqliteEventOutbox({ database, feed: feeds });
  const payments = new SqlitePaymentStore({ database, retentionMs: paymentRetentionMs, outbox });
  const elicitations = new SqliteElicitationStore({
    ...{ database, retentionMs, paymentRetentionMs, connections, credentials, oneTime, payments, outbox },
    ...{ ledger, idempotency, mutes },
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
    browserSessions: new SqliteBrowserSessionStore(database, ledger),
    idempotency,
    mutes,
    notifier: database.waiters,
    feeds,
    outbox,
    counts,
    lists: new SqliteRecordLists(database),
    database,
    /** Events that are not carried yet, oldest first. @internal */
    events: (): readonly ElicitationEvent[] => outbox.events(),
    async ping(): Promise<void> {
      database.all('SELECT 1');
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
