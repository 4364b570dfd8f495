import { describeApiKeyStore } from './api-key-store-contract.ts';
import { describeAuditTrail } from './audit-trail-contract.ts';
import { describeBrowserSessionStore } from './browser-session-store-contract.ts';
import { describeCharge } from './charge-contract.ts';
import { describeClock } from './clock-contract.ts';
import { describeConnectionStore } from './connection-store-contract.ts';
import type { Suite } from './contract-stores.ts';
import { describeCreate } from './create-contract.ts';
import { describeCredentialStore } from './credential-store-contract.ts';
import { describeDailyLimit } from './daily-limit-contract.ts';
import { describeEventFeed } from './event-feed-contract.ts';
import { describeIdempotencyStore } from './idempotency-store-contract.ts';
import { describeJobStore, describeLeaseStore } from './job-store-contract.ts';
import { describeListOpen } from './list-open-contract.ts';
import { describeListing } from './listing-contract.ts';
import { describeMuteStore } from './mute-store-contract.ts';
import { describeNotifier } from './notifier-contract.ts';
import { describeOneTimeStore } from './one-time-store-contract.ts';
import { operatorNumberSuites } from './operator-numbers-contract.ts';
import { describePasskeyStore } from './passkey-store-contract.ts';
import { describePaymentStore } from './payment-store-contract.ts';
import { describeQuota } from './quota-contract.ts';
import { describeRedeem } from './redeem-contract.ts';
import { describeRefresh } from './refresh-contract.ts';
import { describeReplicaStore } from './replica-store-contract.ts';
import { describeRevocationStore } from './revocation-store-contract.ts';
import { describeSealedRecords } from './sealed-records-contract.ts';
import { describeTransition } from './transition-contract.ts';

export { connect } from './connect.ts';
export { allEvents, type ContractStores, CROWD, eventsOf, FEED_RETENTION, type MakeStores } from './contract-stores.ts';
export * as kindSamples from './kind-samples.ts';
export { Ledger } from './ledger.ts';
export * as samples from './samples.ts';
export { describeRefresh };

const elicitationSuites = [
  ...[describeCreate, describeTransition, describeCharge, describeDailyLimit, describeRedeem, describeListOpen],
  ...[describeQuota, describeMuteStore],
];
const suites = [
  ...elicitationSuites,
  ...[describeConnectionStore, describeRefresh, describeCredentialStore, describePasskeyStore, describePaymentStore],
  ...[describeRevocationStore, describeOneTimeStore, describeBrowserSessionStore, describeIdempotencyStore],
  ...[describeNotifier, describeEventFeed, describeListing, describeSealedRecords, describeApiKeyStore],
  ...[describeAuditTrail, describeJobStore, describeLeaseStore, describeReplicaStore, ...operatorNumberSuites],
  describeClock,
];

export const describeElicitationStore: Suite = (...of) => {
  for (const declare of elicitationSuites) declare(...of);
};

/** The contract of every port. Each suite makes its own stores. */
export const describeStores: Suite = (...of) => {
  for (const declare of suites) declare(...of);
};
