export * from '../common.ts';
export { type Gate, type GatedContext, postern, type SharedGate } from './gate.ts';
