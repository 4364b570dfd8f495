import type {
  BrowserSessionStore,
  ConnectionStore,
  CountReader,
  CredentialStore,
  ElicitationEvent,
  ElicitationStore,
  EventFeed,
  EventOutbox,
  IdempotencyStore,
  MuteStore,
  Notifier,
  OneTimeStore,
  PasskeyStore,
  PaymentStore,
  RecordLists,
  RevocationStore,
  Shard,
} from '@postern/elicitation';
import type { FakeClock } from '../fake-clock.ts';

/** An implementation under test. All tests of a suite share it, so each test uses a separate user. */
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
  readonly mutes: MuteStore;
  readonly notifier: Notifier;
  readonly feeds: EventFeed;
  readonly outbox: EventOutbox;
  readonly lists: RecordLists;
  readonly counts: CountReader;
  /** The clock of the stores. */
  readonly clock: FakeClock;
  /** The events of a shard, oldest first. */
  events(shard: Shard): Promise<readonly ElicitationEvent[]>;
}

/** Retention of the feeds of an implementation under test. */
export const FEED_RETENTION = { events: 50, maxAgeMs: 7 * 24 * 3_600_000 } as const;

export type MakeStores = () => Promise<ContractStores>;

/** Enough concurrent callers to reveal a race. */
export const CROWD = 50;

/** Makes the same call concurrently and returns the results in no particular order. */
export function crowd<T>(call: (nth: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: CROWD }, (_, nth) => call(nth)));
}
