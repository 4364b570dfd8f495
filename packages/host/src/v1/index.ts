export * from '../common.ts';
export { attachHostV1, type ElicitationHostV1 } from './attach-host.ts';
