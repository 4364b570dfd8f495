export * from '../common.ts';
export { type Gate, type GatedContext, postern } from './gate.ts';
