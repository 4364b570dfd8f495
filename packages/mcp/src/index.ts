export * from './common.ts';
export { type Gate, type GatedContext, postern } from './v2/gate.ts';
