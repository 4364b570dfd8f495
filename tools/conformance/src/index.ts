export type { CheckStatus, ConformanceCheck } from './checks.ts';
export type { ClientTarget } from './client/observe.ts';
export { type ClientResult, type ClientScenario, clientScenarios } from './client/scenarios.ts';
export { type OpenAs, openByCommand, type Person, type Visit } from './person.ts';
export type { SpecReference } from './requirements.ts';
export { type Revision, revisions } from './revision.ts';
export type { ServerScenario, ServerTarget } from './scenario.ts';
export { serverScenarios } from './server/scenarios.ts';
export type { Endpoint } from './wire/endpoint.ts';
