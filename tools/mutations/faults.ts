import type { Fault } from './fault.ts';
import { completionFaults } from './faults/completion.ts';
import { consoleFaults } from './faults/console.ts';
import { dailyLimitsFaults } from './faults/daily-limits.ts';
import { dataLossFaults } from './faults/data-loss.ts';
import { endpointFaults } from './faults/endpoint.ts';
import { grantsFaults } from './faults/grants.ts';
import { keyServicesFaults } from './faults/key-services.ts';
import { lifecycleFaults } from './faults/lifecycle.ts';
import { localFaults } from './faults/local.ts';
import { oauthFaults } from './faults/oauth.ts';
import { operationFaults } from './faults/operation.ts';
import { outboundFaults } from './faults/outbound.ts';
import { pagesFaults } from './faults/pages.ts';
import { passkeysFaults } from './faults/passkeys.ts';
import { paymentsFaults } from './faults/payments.ts';
import { proxyFaults } from './faults/proxy.ts';
import { refundFaults } from './faults/refunds.ts';
import { samePersonFaults } from './faults/same-person.ts';
import { secretsFaults } from './faults/secrets.ts';
import { signInFaults } from './faults/sign-in.ts';
import { sqliteFaults } from './faults/sqlite.ts';
import { storageQuotaFaults } from './faults/storage-quota.ts';
import { storeFaults } from './faults/store.ts';
import { tenancyFaults } from './faults/tenancy.ts';

/** Every fault, by the area that it is about. A new check comes with its fault. */
export const faults: readonly Fault[] = [
  ...samePersonFaults,
  ...lifecycleFaults,
  ...storeFaults,
  ...sqliteFaults,
  ...dataLossFaults,
  ...tenancyFaults,
  ...storageQuotaFaults,
  ...oauthFaults,
  ...signInFaults,
  ...grantsFaults,
  ...outboundFaults,
  ...consoleFaults,
  ...dailyLimitsFaults,
  ...paymentsFaults,
  ...refundFaults,
  ...passkeysFaults,
  ...secretsFaults,
  ...localFaults,
  ...keyServicesFaults,
  ...pagesFaults,
  ...operationFaults,
  ...completionFaults,
  ...endpointFaults,
  ...proxyFaults,
];
