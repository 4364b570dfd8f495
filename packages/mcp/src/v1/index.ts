export * from '../common.ts';
export { type Extra, type GatedExtra, type GateV1, posternV1 } from './gate.ts';
