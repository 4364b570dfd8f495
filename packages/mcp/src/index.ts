export * from './common.ts';
export { type Gate, type GatedContext, postern, type SharedGate } from './v2/gate.ts';
