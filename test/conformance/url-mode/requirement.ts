/** `MUST` and the like as the specification uses them; `ours` where it leaves the choice and this is the one we made. */
export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'MAY' | 'ours';

export interface Requirement {
  readonly id: string;
  readonly level: Level;
  readonly text: string;
  /** The section that it comes from. */
  readonly spec: string;
}
