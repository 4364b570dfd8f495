export { startFakeKms } from './fake-kms.ts';
export { startFakeTransit } from './fake-transit.ts';
export { KEY_SERVICE_CANARY } from './fault.ts';
