export * from './common.ts';
export { attachHost, type ElicitationHost } from './v2/attach-host.ts';
