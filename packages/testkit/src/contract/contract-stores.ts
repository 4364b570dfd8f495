import type {
  BrowserSessionStore,
  ConnectionStore,
  CredentialStore,
  ElicitationEvent,
  ElicitationStore,
  EventFeed,
  EventOutbox,
  IdempotencyStore,
  Notifier,
  OneTimeStore,
  PasskeyStore,
  PaymentStore,
  RecordLayout,
  RevocationStore,
  Shard,
} from '@postern/elicitation';
import type { FakeClock } from '../fake-clock.ts';

/** An implementation under test. One is shared by all tests of a suite, so each test takes a person of its own. */
export interface ContractStores extends AsyncDisposable {
  readonly elicitations: ElicitationStore;
  readonly connections: ConnectionStore;
  readonly credentials: CredentialStore;
  readonly passkeys: PasskeyStore;
  readonly payments: PaymentStore;
  readonly revocations: RevocationStore;
  readonly oneTime: OneTimeStore;
  readonly browserSessions: BrowserSessionStore;
  readonly idempotency: IdempotencyStore;
  readonly notifier: Notifier;
  readonly feeds: EventFeed;
  readonly outbox: EventOutbox;
  /** Of the elicitations they write. Default `RECORD_LAYOUT`. */
  readonly recordLayout?: RecordLayout;
  /** The clock the stores measure on. */
  readonly clock: FakeClock;
  /** What was announced about a shard, oldest first. */
  events(shard: Shard): Promise<readonly ElicitationEvent[]>;
}

/** What the feeds of an implementation under test keep. */
export const FEED_RETENTION = { events: 50, maxAgeMs: 7 * 24 * 3_600_000 } as const;

export type MakeStores = () => Promise<ContractStores>;

/** Enough callers at once for a race to show. */
export const CROWD = 50;

/** The same call by many at once; the answers in no particular order. */
export function crowd<T>(call: (nth: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: CROWD }, (_, nth) => call(nth)));
}
