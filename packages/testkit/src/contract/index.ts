import { describeBrowserSessionStore } from './browser-session-store-contract.ts';
import { describeCharge } from './charge-contract.ts';
import { describeConnectionStore } from './connection-store-contract.ts';
import type { MakeStores } from './contract-stores.ts';
import { describeCreate } from './create-contract.ts';
import { describeCredentialStore } from './credential-store-contract.ts';
import { describeDailyLimit } from './daily-limit-contract.ts';
import { describeEventFeed } from './event-feed-contract.ts';
import { describeIdempotencyStore } from './idempotency-store-contract.ts';
import { describeListOpen } from './list-open-contract.ts';
import { describeListing } from './listing-contract.ts';
import { describeMuteStore } from './mute-store-contract.ts';
import { describeNotifier } from './notifier-contract.ts';
import { describeOneTimeStore } from './one-time-store-contract.ts';
import { describePasskeyStore } from './passkey-store-contract.ts';
import { describePaymentStore } from './payment-store-contract.ts';
import { describeQuota } from './quota-contract.ts';
import { describeRedeem } from './redeem-contract.ts';
import { describeRefresh } from './refresh-contract.ts';
import { describeRevocationStore } from './revocation-store-contract.ts';
import { describeTransition } from './transition-contract.ts';

export { connect } from './connect.ts';
export { type ContractStores, CROWD, FEED_RETENTION, type MakeStores } from './contract-stores.ts';
export * as kindSamples from './kind-samples.ts';
export { Ledger } from './ledger.ts';
export * as samples from './samples.ts';
export { describeRefresh };

export function describeElicitationStore(name: string, makeStores: MakeStores): void {
  describeCreate(name, makeStores);
  describeTransition(name, makeStores);
  describeCharge(name, makeStores);
  describeDailyLimit(name, makeStores);
  describeRedeem(name, makeStores);
  describeListOpen(name, makeStores);
  describeQuota(name, makeStores);
  describeMuteStore(name, makeStores);
}

/** The contract of every port. Each suite makes its own stores. */
export function describeStores(name: string, makeStores: MakeStores): void {
  describeElicitationStore(name, makeStores);
  describeConnectionStore(name, makeStores);
  describeRefresh(name, makeStores);
  describeCredentialStore(name, makeStores);
  describePasskeyStore(name, makeStores);
  describePaymentStore(name, makeStores);
  describeRevocationStore(name, makeStores);
  describeOneTimeStore(name, makeStores);
  describeBrowserSessionStore(name, makeStores);
  describeIdempotencyStore(name, makeStores);
  describeNotifier(name, makeStores);
  describeEventFeed(name, makeStores);
  describeListing(name, makeStores);
}
