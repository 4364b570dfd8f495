/**
 * The invariants that hold under every fault.
 * I1 an acknowledged elicitation ends once; I2 a terminal status never changes; I3 every end is announced, under one event id;
 * I4 one approval, one charge, one token set; I5 no secret leaves; I6 no party sees or changes records of others.
 * `contract`: a response that must not occur under any fault.
 */
export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'contract';

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
  readonly elicitationId?: string;
  /** A documented loss of this run: reported, but no failure. */
  readonly tolerated: boolean;
}

export type Found = Omit<Violation, 'tolerated'>;
