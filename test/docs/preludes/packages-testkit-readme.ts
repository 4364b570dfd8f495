/** Predefined names for the examples of packages/testkit/README.md. */
import type { Provider, RefreshRequest } from '@postern/authorization';
import type { ContractStores } from '@postern/testkit/contract';
import type { EvilProvider, TestProvider } from '@postern/testkit/providers';
import type { JSONWebKeySet } from 'jose';

export { AuthorizationError } from '@postern/authorization';
export { describeStores, FEED_RETENTION } from '@postern/testkit/contract';
export { malformedTokenAnswers, startOpenIdProvider } from '@postern/testkit/providers';
export { expect } from 'vitest';
export declare const stores: Omit<ContractStores, 'clock' | 'events'>;
export declare const clock: ContractStores['clock'];
export declare const events: ContractStores['events'];
export declare const jwks: JSONWebKeySet;
export declare const callback: string;
export declare const op: TestProvider;
export declare const accessToken: string;
export declare const gateway: { kill(): Promise<void> };
export declare const evil: EvilProvider;
export declare const provider: Provider;
export declare const grant: RefreshRequest;
export declare function honestRefresh(): Record<string, unknown>;
